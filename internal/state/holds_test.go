package state

import (
	"fmt"
	"os/exec"
	"slices"
	"testing"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// TestLineOf: a process has a line as long as it runs. One that ended and was not waited for has none: it cannot be held any more.
func TestLineOf(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("cat")
	input := must.Get(cmd.StdinPipe())(t)
	must.Do(t, cmd.Start())
	pid := cmd.Process.Pid
	h := must.Get(proc.Hold("/proc", pid))(t)
	t.Cleanup(h.Close)
	id := func(ticks uint64) string { return fmt.Sprintf("process:%d@%d", pid, ticks) }
	if line := must.Get(LineOf("/proc", id(h.Was.Start)))(t); !slices.Contains(line, pid) || len(line) < 2 {
		t.Errorf("the line of a process that runs is %v", line)
	}
	if line := must.Get(LineOf("/proc", id(h.Was.Start+1)))(t); len(line) > 0 {
		t.Errorf("the line of another process with that PID is %v", line)
	}
	must.Do(t, input.Close())
	wait.Eventually(t, "it has ended", func() bool { return procs.State(pid) == 'Z' })
	if line := must.Get(LineOf("/proc", id(h.Was.Start)))(t); len(line) > 0 {
		t.Errorf("the line of a process that has ended is %v", line)
	}
	must.Do(t, cmd.Wait())
	if line := must.Get(LineOf("/proc", id(h.Was.Start)))(t); len(line) > 0 {
		t.Errorf("the line of a process that is not there is %v", line)
	}
}
