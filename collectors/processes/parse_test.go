package processes

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
