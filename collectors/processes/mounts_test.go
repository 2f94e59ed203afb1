package processes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const procLine = "24 30 0:22 / /proc rw,nosuid shared:12 - proc proc rw,gid=27,hidepid=invisible\n"

func TestParseMounts(t *testing.T) {
	t.Parallel()
	text := procLine + `36 35 98:0 /a\040b /mnt/x\134y rw,noatime master:1 shared:2 - ext4 /dev/root rw,errors=continue` + "\n"
	got, ok := parseMounts([]byte(text))
	want := []mount{
		{id: 24, device: "0:22", root: "/", point: "/proc", kind: "proc", options: "rw,gid=27,hidepid=invisible"},
		{id: 36, device: "98:0", root: "/a b", point: `/mnt/x\y`, kind: "ext4", options: "rw,errors=continue"},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(mount{})); d != "" || !ok {
		t.Errorf("ok %v (-want +got):\n%s", ok, d)
	}
	for _, text := range []string{"", "24 30 0:22 / /proc rw proc proc rw", "x 30 0:22 / /proc rw - proc proc rw", "24 30 - proc proc rw"} {
		if got, ok := parseMounts([]byte(text)); ok {
			t.Errorf("%q read as %+v", text, got)
		}
	}
}

func TestHidepid(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]struct {
		mode  string
		group int
	}{
		"rw": {"", 0}, "rw,hidepid=0": {"", 0}, "rw,hidepid=off": {"", 0}, "rw,hidepid=1": {"noaccess", 0}, "rw,hidepid=2,gid=5": {"invisible", 5},
		"rw,gid=27,hidepid=invisible": {"invisible", 27}, "rw,hidepid=4": {"ptraceable", 0}, "rw,hidepid=7": {"7", 0}, "": {"", 0},
	} {
		if mode, group := hidepid(options); mode != want.mode || group != want.group {
			t.Errorf("%q: %q %d, want %q %d", options, mode, group, want.mode, want.group)
		}
	}
}

func FuzzParseMounts(f *testing.F) {
	f.Add([]byte(procLine))
	f.Add([]byte("1 2 3:4 \\04 /x rw - a b c\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, ok := parseMounts(text)
		if ok == (len(all) == 0) {
			t.Fatalf("ok %v with %d mounts", ok, len(all))
		}
		if lines := strings.Count(strings.TrimSuffix(string(text), "\n"), "\n") + 1; ok && len(all) != lines {
			t.Errorf("%d mounts in %d lines", len(all), lines)
		}
	})
}

func FuzzHidepid(f *testing.F) {
	f.Add("rw,gid=5", "invisible")
	f.Add("", "0")
	f.Fuzz(func(t *testing.T, before, mode string) {
		if strings.ContainsAny(mode, ",=") {
			return
		}
		got, _ := hidepid(before + ",hidepid=" + mode)
		if shown := mode == "" || mode == "0" || mode == "off"; shown != (got == "") {
			t.Errorf("hidepid=%q: %q", mode, got)
		}
	})
}

// TestView names folders as another mount namespace does.
func TestView(t *testing.T) {
	t.Parallel()
	here := []mount{{device: "8:1", root: "/", point: "/"}, {device: "8:2", root: "/@home", point: "/home"}}
	spots := []spot{}
	for _, p := range []string{"/srv/tree", "/home/u/tree"} {
		m, _ := mountOf(here, p)
		inside := strings.TrimPrefix(p, m.point)
		if m.point == "/" {
			inside = p
		} else {
			inside = m.root + inside
		}
		spots = append(spots, spot{path: p, device: m.device, inside: inside})
	}
	there := []mount{
		{device: "0:50", root: "/", point: "/"},
		{device: "8:1", root: "/srv/tree/src", point: "/app"},
		{device: "8:2", root: "/@home/u", point: "/mnt"},
	}
	v := view(spots, there, false)
	for path, want := range map[string][]int{
		"/app": {0}, "/app/deep/down": {0}, "/mnt/tree/x": {1}, "/mnt": nil, "/srv/tree": nil, "/home/u/tree": nil, "/application": nil,
	} {
		var got []int
		v.visit(path, func(numbers []int) { got = append(got, numbers...) })
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", path, d)
		}
	}
}
