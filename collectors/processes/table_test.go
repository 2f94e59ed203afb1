package processes

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

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
		if s, ok := table.Lookup(pid, inode, exe); ok != want || ok && (s.Comm != "sleep" || s.PID != pid) {
			t.Errorf("%s: %+v, %v", why, s, ok)
		}
	}
	is(true, "the same", st.Ino, &exe)
	is(false, "another process of that number", st.Ino+1, &exe)
	is(false, "another program", st.Ino, new("/bin/another"))
	is(false, "it does not show its program", st.Ino, nil)
	if _, ok := (*Table)(nil).Lookup(pid, st.Ino, &exe); ok {
		t.Error("no table knows a process")
	}
	for name, change := range map[string]func(*record){
		"another inode": func(r *record) { r.inode++ }, "no inode": func(r *record) { r.inode = 0 }, "it was ending": func(r *record) { r.State = "X" },
		"another program": func(r *record) { r.Exe = new("/bin/another") },
	} {
		changed := &Table{}
		for _, r := range table.found {
			c := *r
			if c.PID == pid {
				change(&c)
			}
			changed.found = append(changed.found, &c)
		}
		if s, ok := changed.Lookup(pid, st.Ino, &exe); ok {
			t.Errorf("%s: it was taken for %+v", name, s)
		}
	}
}
