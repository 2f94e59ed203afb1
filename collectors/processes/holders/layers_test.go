package holders

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestLayers(t *testing.T) {
	t.Parallel()
	for options, want := range map[string][]string{
		"rw": nil,
		"rw,lowerdir=/a:/b::/data,upperdir=/u,workdir=/w,index=on": {"/a", "/b", "/data", "/u", "/w"},
		"rw,lowerdir+=/a,datadir+=/d":                              {"/a", "/d"},
		`ro,lowerdir=/with\040blank:/comma\054x`:                   {"/with blank", "/comma,x"},
		`ro,lowerdir=/colon\072x:l/ABC`:                            {"/colon:x", "l/ABC"},
		// Before 6.5 the backslash stands that mount(8) was given.
		`ro,lowerdir=/colon\134:x:/b`: {`/colon\`, "x", "/b", "/colon:x", "/b"},
	} {
		if d := cmp.Diff(want, layers(options)); d != "" {
			t.Errorf("%s (-want +got):\n%s", options, d)
		}
	}
}

func FuzzLayers(f *testing.F) {
	f.Add(`/a b:c,d\e`)
	f.Fuzz(func(t *testing.T, name string) {
		name = "/" + strings.ReplaceAll(name, "\x00", "")
		// As seq_escape does it since 6.5.
		var b strings.Builder
		for _, c := range []byte(name) {
			if strings.IndexByte(":, \t\n\\", c) >= 0 {
				b.WriteString(`\` + string([]byte{'0' + c>>6, '0' + c>>3&7, '0' + c&7}))
			} else {
				b.WriteByte(c)
			}
		}
		if got := layers("rw,lowerdir=/x:" + b.String() + ":/y,upperdir=/z"); !slices.Contains(got, name) {
			t.Errorf("%q is not among %q", name, got)
		}
	})
}

func TestWatchedNode(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]node{
		"inotify wd:3 ino:9e7e sdev:800013 mask:800afce ignored_mask:0 fhandle-bytes:8": {unix.Mkdev(8, 0x13), 0x9e7e},
		"fanotify ino:4f969 sdev:2b00001 mflags:0 mask:3b ignored_mask:40000000":        {unix.Mkdev(0x2b, 1), 0x4f969},
		"fanotify mnt_id:12 mflags:40 mask:38 ignored_mask:40000000":                    {},
		"fanotify sdev:800013 mflags:0 mask:3b":                                         {},
		"pos:\t0":                                                                       {}, "inotify": {}, "inotify ino:x sdev:1": {}, "": {},
	} {
		got, ok := watchedNode([]byte(line))
		if !ok {
			got = node{}
		}
		if got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

func FuzzWatchedNode(f *testing.F) {
	f.Add("inotify wd:3 ino:9e7e sdev:800013 mask:800afce")
	f.Fuzz(func(t *testing.T, line string) {
		if _, ok := watchedNode([]byte(line)); ok && !strings.Contains(line, "ino:") {
			t.Errorf("%q names an inode", line)
		}
	})
}

func FuzzLocks(f *testing.F) {
	f.Add("08:01:1234")
	f.Fuzz(func(t *testing.T, text string) {
		if _, ok := lockedNode(text); ok && strings.Count(text, ":") != 2 {
			t.Errorf("%q is a lock's file", text)
		}
	})
}

func FuzzSockets(f *testing.F) {
	f.Add("0000000000000000: 00000002 00000000 00010000 0001 01 20 /w/tree/s")
	f.Add("x: 1 2 3 4 5 20  /w/tree/ s")
	f.Fuzz(func(t *testing.T, line string) {
		m := machine{sockets: map[uint64][]int{}, relative: map[uint64]string{}}
		v := newPlaces(1)
		v.add("/w/tree", 0)
		m.addSockets([]byte(line+"\n"), v)
		if len(m.sockets) > 0 && !strings.Contains(line, "/") {
			t.Errorf("%q is bound in a folder", line)
		}
	})
}

// TestGeneralFolders tells the folders that services and packaged programs see as a matter of course from those that a user chose.
func TestGeneralFolders(t *testing.T) {
	t.Parallel()
	onRoot := spot{path: "/home/ann/src/app/wt", inside: "/home/ann/src/app/wt"}
	onHome := spot{path: "/home/ann/src/app/wt", inside: "/@home/ann/src/app/wt"}
	for _, c := range []struct {
		s            spot
		around, home string
		want         bool
	}{
		{onRoot, "/", "", true}, {onRoot, "/home", "", true}, {onRoot, "/home/ann", "", true}, {onRoot, "/home/ann/src", "", false},
		{onRoot, "/home/ann/src", "/home/ann/src", true}, {onRoot, "/home/ann/src/app", "/home/ann", false},
		{onHome, "/", "", true}, {onHome, "/@home", "", true}, {onHome, "/@home/ann", "", true}, {onHome, "/@home/ann/src", "", false},
	} {
		if got := c.s.general(c.around, c.home); got != c.want {
			t.Errorf("%s in %s, home %q: %v, want %v", c.around, c.s.inside, c.home, got, c.want)
		}
	}
}
