package holders

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestRefusingIsAskedAgain: what refuses its links is asked again after a moment, all such together, and only the last refusal counts.
func TestRefusingIsAskedAgain(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for pid := range 3 {
		n := strconv.Itoa(60 + pid)
		files.Write(t, filepath.Join(root, n, "stat"), n+" (shy) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n")
	}
	r := must.Get(host.Open(root))(t)
	t.Cleanup(r.Close)
	h := newScan(r, Options{Root: root, Opaque: []string{"none"}}, []string{"/w/a"})
	h.left = attempts
	pids := []int{60, 61, 62}
	must.Do(t, h.pass(t.Context(), pids))
	if len(h.refusing) != 3 || h.unread != 0 {
		t.Fatalf("%v refuse, %d count: want three that are asked again", h.refusing, h.unread)
	}
	for name, to := range map[string]string{"cwd": "/w/a", "exe": "/bin/x", "root": "/"} {
		files.Link(t, filepath.Join(root, "61", name), to)
	}
	files.Write(t, filepath.Join(root, "61/fd/none"), "")
	must.Do(t, os.RemoveAll(filepath.Join(root, "62")))
	h.left, h.refusing = 0, nil
	must.Do(t, h.pass(t.Context(), pids))
	if len(h.refusing) != 0 || h.unread != 1 || len(h.held[0]) != 1 || h.held[0][0].PID != 61 {
		t.Errorf("%v refuse, %d count, held by %v: want 60 to count and 61 as the holder", h.refusing, h.unread, h.held)
	}
}
