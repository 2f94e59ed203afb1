package floor_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/floor"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// TestFloor counts what a look at this machine counts, and sees the processes that it started itself: they are there while the test runs, and end
// with it.
func TestFloor(t *testing.T) {
	t.Parallel()
	p := floor.Build(t)
	var started []int
	t.Run("idle", func(t *testing.T) {
		p.Idle(t, 20, 2, []string{"AGENT=1"})
		base := filepath.Dir(t.TempDir()) // where the folders of this test are
		var found []int
		wait.Eventually(t, "20 idle processes, each in its folder", func() bool {
			found = idle(t, base)
			return len(found) == 20
		})
		started = found
		fds, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(found[0]), "fd"))
		env, errEnv := os.ReadFile(filepath.Join("/proc", strconv.Itoa(found[0]), "environ"))
		if err != nil || errEnv != nil || len(fds) < 5 || string(env) != "AGENT=1\x00" {
			t.Errorf("%d descriptors (%v), environment %q (%v)", len(fds), err, env, errEnv)
		}
		for _, mode := range []string{floor.Paths, floor.Dirfd, floor.Markers, floor.Look} {
			if n, took := p.Read(t, mode, "/proc"); n < 21 || took < 0 {
				t.Errorf("%s: %d processes in %v, want 21 at least", mode, n, took)
			}
		}
	})
	for _, pid := range started {
		if _, err := os.Lstat(filepath.Join("/proc", strconv.Itoa(pid))); err == nil {
			t.Errorf("process %d outlived its test", pid)
		}
	}
}

// idle are the processes that work below a folder.
func idle(t *testing.T, base string) (found []int) {
	t.Helper()
	base, err := filepath.EvalSymlinks(base)
	if err != nil {
		t.Fatal(err)
	}
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		at, err := os.Readlink(link)
		if err != nil {
			continue
		}
		if below, err := filepath.Rel(base, at); err == nil && filepath.IsLocal(below) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(link)))
			found = append(found, pid)
		}
	}
	return found
}
