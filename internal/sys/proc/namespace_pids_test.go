package proc_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// TestInner reads a tree in which a process has numbers in two namespaces below, and one that does not tell its numbers.
func TestInner(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put := func(pid, numbers string) {
		files.Write(t, filepath.Join(root, pid, "stat"), pid+" (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n")
		files.Write(t, filepath.Join(root, pid, "status"), "Name:\tx\nTgid:\t"+pid+"\nNSpid:\t"+numbers+"\nThreads:\t1\n")
	}
	put("10", "10")
	put("11", "11\t7\t1")
	put("12", "12\t7")
	inner, err := proc.Inner(root)
	if err != nil || len(inner) != 2 || len(inner[7]) != 2 || len(inner[1]) != 1 || inner[1][0].PID != 11 {
		t.Errorf("%v, %v", inner, err)
	}
	files.Write(t, filepath.Join(root, "13/status"), "Name:\tx\n")
	if _, err := proc.Inner(root); err == nil {
		t.Error("a process does not tell its numbers, and nothing is said")
	}
}

// TestInnerOfNamespaces has a process in a pid namespace below this one.
func TestInnerOfNamespaces(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "sh", "-c", "sleep 60 & echo $!; wait")
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var number int
	if _, err := fmt.Fscan(out, &number); err != nil {
		t.Skipf("no pid namespace can be made here (%v)", err)
	}
	var inner map[int][]proc.Stat
	wait.Eventually(t, "the sleeping process is known by its number there", func() bool { // the shell says it before its child has become sleep
		inner = must.Get(proc.Inner("/proc"))(t)
		return slices.ContainsFunc(inner[number], func(s proc.Stat) bool { return s.PID != number && s.Comm == "sleep" })
	})
	for _, all := range inner {
		for _, s := range all {
			if s.PID == os.Getpid() {
				t.Error("this process is said to be in a namespace below its own")
			}
		}
	}
}

// TestLeads tells a process from a thread of one.
func TestLeads(t *testing.T) {
	t.Parallel()
	pid := os.Getpid()
	if is, err := proc.Leads("/proc", pid); !is || err != nil {
		t.Errorf("this process: %v, %v", is, err)
	}
	for _, task := range must.Get(os.ReadDir("/proc/self/task"))(t) {
		if tid := must.Get(strconv.Atoi(task.Name()))(t); tid != pid {
			if is, err := proc.Leads("/proc", tid); is || err != nil && !proc.Ended(err) {
				t.Errorf("its thread %d: %v, %v", tid, is, err)
			}
			return
		}
	}
}
