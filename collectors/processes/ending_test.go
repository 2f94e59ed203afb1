package processes

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/winnow-reaper/winnow/testkit/files"
	"github.com/winnow-reaper/winnow/testkit/must"
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
	r := must.Get(openRoot(root))(t)
	t.Cleanup(r.close)
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
