package processes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// statText is a stat line of a process with this name, as the kernel writes it.
func statText(comm string) string {
	return fmt.Sprintf("812 (%s) S 811 810 809 34817 814 4194560 500 600 1 2 150 50 30 20 20 0 3 0 93211 12345678 25 18446744073709551615 1 1 0 0 0\n", comm)
}

func copied(text []byte) string { return string(text) }

func TestParseStat(t *testing.T) {
	t.Parallel()
	want := stat{
		pid: 812, state: 'S', ppid: 811, pgid: 810, session: 809, tty: 34817, foreground: 814, flags: 4194560, cpu: 250,
		threads: 3, start: 93211, rss: 25,
	}
	for _, comm := range []string{"zsh", "", "tmux: server", ") R 1 (x\n y", "((", "a) b", "\xff\xfe"} {
		got, err := parseStat([]byte(statText(comm)), copied)
		if err != nil {
			t.Errorf("name %q: %v", comm, err)
		}
		want.comm = comm
		if d := cmp.Diff(want, got, cmp.AllowUnexported(stat{})); d != "" {
			t.Errorf("name %q (-want +got):\n%s", comm, d)
		}
	}
}

func TestParseStatRefusesWhatIsNone(t *testing.T) {
	t.Parallel()
	whole := statText("x")
	for name, text := range map[string]string{
		"empty": "", "no name": "812 S 1 2 3", "cut after the name": "812 (x)", "cut in the name": "812 (x",
		"cut before the last field": whole[:strings.Index(whole, " 25 ")], "a word for a number": strings.Replace(whole, " 811 ", " abc ", 1),
		"no id": strings.Replace(whole, "812", "", 1), "id 0": strings.Replace(whole, "812", "0", 1),
		"a number of 19 digits": strings.Replace(whole, "93211", "9321193211932119321", 1), "brackets the wrong way round": "812 )x( S 1",
	} {
		if got, err := parseStat([]byte(text), copied); err == nil {
			t.Errorf("%s: read as %+v", name, got)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	for _, comm := range []string{"zsh", ") R 1 (x\n y", ""} {
		f.Add([]byte(statText(comm)))
	}
	f.Add([]byte("1 (a) Z 0 0 0 0 -1 -5"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parseStat(text, copied)
		if err != nil {
			return
		}
		if s.pid <= 0 || !strings.Contains(string(text), "("+s.comm+")") {
			t.Errorf("%q read as %+v", text, s)
		}
		// A name may be anything: with another one all other facts stay.
		end := strings.LastIndexByte(string(text), ')')
		again, err := parseStat([]byte(fmt.Sprintf("%d (x) y)%s", s.pid, text[end+1:])), copied)
		s.comm = "x) y"
		if err != nil || again != s {
			t.Errorf("%q with another name: %+v and not %+v (%v)", text, again, s, err)
		}
	})
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	for nr, want := range map[int]string{
		0: "", 34816: "pts/0", 34817: "pts/1", 136<<8 | 255: "pts/255", 136<<8 | 1<<20: "pts/256", 4<<8 | 1: "tty1", 4<<8 | 64: "ttyS0",
		5<<8 | 1: "console", 204<<8 | 64: "204:64",
	} {
		if got := terminal(nr); got != want {
			t.Errorf("terminal(%d) = %q, want %q", nr, got, want)
		}
	}
}

func TestKeepMarkers(t *testing.T) {
	t.Parallel()
	names := []string{"AGENT", "TMUX"}
	for name, c := range map[string]struct {
		text string
		want map[string]string
		ok   bool
	}{
		"markers and others":              {"HOME=/h\x00AGENT=1\x00SECRET=s\x00TMUX=/t,1,2\x00", map[string]string{"AGENT": "1", "TMUX": "/t,1,2"}, true},
		"none of them is known and empty": {"HOME=/h\x00", map[string]string{}, true},
		"no bytes prove nothing":          {"", nil, false},
		"a cut text proves nothing":       {"AGENT=1\x00HOM", nil, false},
		"the first of two counts":         {"AGENT=1\x00AGENT=2\x00", map[string]string{"AGENT": "1"}, true},
		"a longer name is another":        {"AGENTS=1\x00XAGENT=1\x00AGEN=1\x00", map[string]string{}, true},
		"empty value":                     {"AGENT=\x00", map[string]string{"AGENT": ""}, true},
		"value with = and newline":        {"AGENT=a=b\nTMUX=c\x00", map[string]string{"AGENT": "a=b\nTMUX=c"}, true},
		"no = and nothing at all":         {"AGENT\x00\x00=x\x00", map[string]string{}, true},
	} {
		got, ok := keepMarkers([]byte(c.text), names)
		if d := cmp.Diff(c.want, got); d != "" || ok != c.ok {
			t.Errorf("%s: ok %v (-want +got):\n%s", name, ok, d)
		}
	}
}

func FuzzKeepMarkers(f *testing.F) {
	f.Add([]byte("HOME=/h\x00AGENT=1\x00"), "AGENT")
	f.Add([]byte("=\x00\x00A"), "")
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		kept, ok := keepMarkers(text, []string{name})
		if !ok {
			return
		}
		// The same by splitting, which keeps everything and so serves as oracle only.
		want := map[string]string{}
		for entry := range strings.SplitSeq(strings.TrimSuffix(string(text), "\x00"), "\x00") {
			key, value, found := strings.Cut(entry, "=")
			if _, twice := want[key]; found && key == name && key != "" && !twice {
				want[key] = value
			}
		}
		if !maps.Equal(want, kept) {
			t.Errorf("%q of %q: kept %q, want %q", name, text, kept, want)
		}
	})
}

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

func TestAddTable(t *testing.T) {
	t.Parallel()
	const text = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1435 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 100 0 0 10 0
   1: 0100007F:1436 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0 100 0 0 10 0
   2: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4713 1
`
	got := map[uint64]int{}
	if err := addTable(got, []byte(text)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[uint64]int{4711: 5173, 4713: 80}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, bad := range []string{"head\n 0: 1:2", strings.Replace(text, ":1435", ":14351", 1), strings.Replace(text, "4711", "x", 1)} {
		if err := addTable(map[uint64]int{}, []byte(bad)); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

// TestDiagnose asks the kernel both ways.
func TestDiagnose(t *testing.T) {
	t.Parallel()
	fd, port := listener(t)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		t.Fatal(err)
	}
	asked, err := diagnose()
	if err != nil {
		t.Skip("this machine has no socket diagnosis: ", err)
	}
	r, err := openRoot("/proc")
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	read, err := tables(r)
	if err != nil {
		t.Fatal(err)
	}
	for how, got := range map[string]map[uint64]int{"diagnosis": asked, "tables": read} {
		if got[st.Ino] != port {
			t.Errorf("%s: socket %d listens on %d, want %d", how, st.Ino, got[st.Ino], port)
		}
	}
}

func TestAddDiagRefusesWhatIsCut(t *testing.T) {
	t.Parallel()
	message := diagQuestion(unix.AF_INET)
	message[4], message[5] = unix.NLMSG_ERROR, 0
	for name, data := range map[string][]byte{"longer than its datagram": message[:40], "an error of 0 length": slices.Concat(message[:16])} {
		if done, err := addDiag(map[uint64]int{}, data); done || err == nil {
			t.Errorf("%s: done %v, error %v", name, done, err)
		}
	}
}

func listener(t *testing.T) (fd, port int) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 1); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fd, at.(*unix.SockaddrInet4).Port
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
