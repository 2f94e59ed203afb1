package processes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestSettle: of those that were ending while they were read, one has ended since, the number of another is a new process's, and two live on without
// their first thread. Only what those refused counts.
func TestSettle(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	stat := func(pid, start string) {
		files.Write(t, filepath.Join(root, pid, "stat"), pid+" (x) R 1 1 1 0 -1 4 0 0 0 0 0 0 0 0 20 0 2 0 "+start+" 0 0\n")
	}
	stat("11", "50")
	stat("12", "5")
	stat("13", "5")
	r := must.Get(host.Open(root))(t)
	t.Cleanup(r.Close)
	s := newScan(r, Options{})
	var all []*record
	for pid := range 5 {
		d := &record{}
		d.PID, d.StartTicks, d.State = 10+pid, 5, "R"
		if pid == 4 { // its first thread was a zombie, and its second one has ended since
			d.State, d.Threads = "Z", new(2)
		}
		all = append(all, d)
		s.doubts = append(s.doubts, doubt{d, pid != 3})
	}
	if err := os.Mkdir(filepath.Join(root, "10"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.settle(t.Context())
	var states string
	for _, d := range all {
		states += d.State
	}
	if states != "XXRRX" || s.unreadable != 1 || len(s.doubts) != 0 {
		t.Errorf("states %s, %d unreadable, %d in doubt: want XXRRX, 1 and none", states, s.unreadable, len(s.doubts))
	}
}

// TestEnding: who may be ending although it does not look so is in doubt, or is asked once more; who shows what it was started from, or is a plain zombie, is neither.
func TestEnding(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, now string // state and threads as they were read, and as they are
		hides      bool
		state      string
		doubts     int
	}{
		"a zombie whose other threads still end":  {"Z 2", "Z 2", true, "Z", 1},
		"a zombie whose other threads have ended": {"Z 2", "Z 1", true, "X", 0},
		"a plain zombie":                {"Z 1", "R 1", true, "Z", 0},
		"one that gave back its memory": {"R 2", "R 2", true, "R", 1},
		"one that shows itself":         {"R 2", "R 2", false, "R", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			stat := func(text string) proc.Stat {
				state, threads, _ := strings.Cut(text, " ")
				files.Write(t, filepath.Join(root, "7", "stat"), "7 (x) "+state+" 1 1 1 0 -1 4 0 0 0 0 0 0 0 0 20 0 "+threads+" 0 5 0 0\n")
				return must.Get(proc.StatOf(root, 7))(t)
			}
			st := stat(c.first)
			stat(c.now)
			r := must.Get(host.Open(root))(t)
			t.Cleanup(r.Close)
			s := newScan(r, Options{})
			dir := must.Get(r.Pin(7))(t)
			defer unix.Close(dir)
			d := &record{}
			d.PID, d.State, d.Threads = 7, string([]byte{st.State}), new(st.Threads)
			s.ending(dir, st, d, c.hides, false)
			if d.State != c.state || len(s.doubts) != c.doubts {
				t.Errorf("state %s, %d in doubt: want %s and %d", d.State, len(s.doubts), c.state, c.doubts)
			}
		})
	}
}
