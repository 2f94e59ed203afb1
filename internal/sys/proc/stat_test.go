package proc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

// statText is a stat line of a process with this name, as the kernel writes it.
func statText(comm string) string {
	return fmt.Sprintf("812 (%s) S 811 810 809 34817 814 4194560 500 600 1 2 150 50 30 20 20 0 3 0 93211 12345678 25 18446744073709551615 1 1 0 0 0\n", comm)
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	want := Stat{
		PID: 812, State: 'S', Parent: 811, Group: 810, Session: 809, TTY: 34817, Foreground: 814, CPU: 250,
		Threads: 3, Start: 93211, RSS: 25 * pageSize,
	}
	for _, comm := range []string{"zsh", "", "tmux: server", ") R 1 (x\n y", "((", "a) b", "\xff\xfe"} {
		got, err := ParseStat([]byte(statText(comm)))
		if err != nil {
			t.Errorf("name %q: %v", comm, err)
		}
		want.Comm = comm
		must.Equal(t, want, got, "name %q", comm)
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
		if got, err := ParseStat([]byte(text)); err == nil || got != (Stat{}) {
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
		s, err := ParseStat(text)
		if err != nil {
			return
		}
		if s.PID <= 0 || !strings.Contains(string(text), "("+s.Comm+")") {
			t.Errorf("%q read as %+v", text, s)
		}
		// A name may be anything: with another one all other facts stay.
		end := strings.LastIndexByte(string(text), ')')
		again, err := ParseStat([]byte(fmt.Sprintf("%d (x) y)%s", s.PID, text[end+1:])))
		s.Comm = "x) y"
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
		if got := Terminal(nr); got != want {
			t.Errorf("Terminal(%d) = %q, want %q", nr, got, want)
		}
	}
}
