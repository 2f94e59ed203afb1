package processes

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestTable: what the look has read of a process is used while that is positively the same one and runs the same file, and else it is read again.
func TestTable(t *testing.T) {
	t.Parallel()
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	cmd := exec.Command("sleep", "600")
	cmd.Dir = dir
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	pid := cmd.Process.Pid
	table := &Table{}
	must.Get(New(Options{Root: "/proc", Markers: []string{"X"}, Table: table}).Read(t.Context()))(t)
	var st unix.Stat_t
	must.Do(t, unix.Stat("/proc/"+strconv.Itoa(pid), &st))
	exe := must.Get(os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe"))(t)
	is := func(want bool, why string, inode uint64, exe *string) {
		t.Helper()
		if s, ok := table.lookup(pid, inode, exe); ok != want || ok && (s.Comm != "sleep" || s.PID != pid) {
			t.Errorf("%s: %+v, %v", why, s, ok)
		}
	}
	is(true, "the same", st.Ino, &exe)
	is(false, "another process of that number", st.Ino+1, &exe)
	is(false, "another program", st.Ino, new("/bin/another"))
	is(false, "it does not show its program", st.Ino, nil)
	if _, ok := (*Table)(nil).lookup(pid, st.Ino, &exe); ok {
		t.Error("no table knows a process")
	}
	holder := func(change func(*record)) string {
		t.Helper()
		changed := &Table{}
		for _, r := range table.found {
			c := *r
			if c.PID == pid {
				c.Name = "by the table"
				change(&c)
			}
			changed.found = append(changed.found, &c)
		}
		held, _, err := Holders(t.Context(), HolderOptions{Root: "/proc", Table: changed}, []string{dir})
		if err != nil || len(held[dir]) != 1 {
			t.Fatalf("%v, %v", held, err)
		}
		return held[dir][0].Name
	}
	if name := holder(func(*record) {}); name != "by the table" {
		t.Errorf("it is called %q: the table was not asked", name)
	}
	for name, change := range map[string]func(*record){
		"another inode": func(r *record) { r.inode++ }, "no inode": func(r *record) { r.inode = 0 }, "it was ending": func(r *record) { r.State = "X" },
		"another program": func(r *record) { r.Exe = new("/bin/another") },
	} {
		if got := holder(change); got != "sleep" {
			t.Errorf("%s: it is called %q, want what it is", name, got)
		}
	}
}

// TestRefusingIsAskedAgain: what refuses its links is asked again after a moment, all such together, and only the last refusal counts.
func TestRefusingIsAskedAgain(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for pid := range 3 {
		n := strconv.Itoa(60 + pid)
		files.Write(t, filepath.Join(root, n, "stat"), n+" (shy) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n")
	}
	r := must.Get(openRoot(root))(t)
	t.Cleanup(r.close)
	h := newHolderScan(r, HolderOptions{Root: root, Opaque: []string{"none"}}, []string{"/w/a"})
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
