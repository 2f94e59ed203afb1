package processes

import (
	"fmt"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/judge"
	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func newJudge(t *testing.T) *judge.Judge {
	return judge.New(t, snapshot.KindProcess, judge.Shipped, func([]string) ([]collectors.Source, error) { return nil, nil },
		func(d decision.Decision) string { return strconv.Itoa(d.Identity.Process.PID) })
}

// looser takes every process, also one at work.
func looser(c *child) map[string]string {
	return map[string]string{"reap/processes/mine/mine.rego": `package policies.reap.processes.mine

in_scope if input.process.pid == ` + strconv.Itoa(c.Process.Pid) + `

findings contains {"rule": "reap.processes.mine", "message": "it may go", "evidence": {}} if in_scope
`}
}

func idOf(t *testing.T, c *child) string {
	return fmt.Sprintf("process:%d@%d", c.Process.Pid, identify(t, c.Process.Pid).StartTicks)
}

// TestWindow has a process become another program in the last moments of an act.
func TestWindow(t *testing.T) {
	t.Parallel()
	judge.Window(t, func(t *testing.T) judge.Trial {
		c := start(t, "changes", true)
		j := newJudge(t)
		j.Without(nil, looser(c))
		return judge.Trial{Judge: j, Actuator: New(options()), Decision: j.Until(decision.Reap, idOf(t, c), strconv.Itoa(c.Process.Pid)), There: c.alive,
			Change: func() {
				if err := c.Process.Signal(unix.SIGUSR1); err != nil {
					t.Error(err)
				}
				wait.Eventually(t, "another program", func() bool { return procs.Name(c.Process.Pid) == "sleep" })
			}}
	})
}

// TestOnlyThePoliciesJudge has a process that the shipped rules keep end by an operator's, and a stricter rule keep what a looser one gave
// away, at each time that it is asked.
func TestOnlyThePoliciesJudge(t *testing.T) {
	t.Parallel()
	c := start(t, "listen", true)
	native := strconv.Itoa(c.Process.Pid)
	id := idOf(t, c)
	mine := looser(c)
	stricter := map[string]string{"protect/mine/mine.rego": `package policies.protect.mine

objections contains {"rule": "protect.mine", "message": "mine keeps it", "evidence": {}} if input.kind == "process"
`}
	for path, text := range mine {
		stricter[path] = text
	}
	j := newJudge(t)
	j.Without(nil, mine)
	var without []string
	for _, o := range j.Until(decision.Spare, id, native).Objections {
		t.Log(o)
		if o.Rule == "protect.live" {
			without = []string{"protect/live"}
		}
	}
	if without == nil {
		t.Fatal("a process that listens is not kept for that")
	}
	j.Without(without, mine)
	d := j.Until(decision.Reap, id, native)
	a := New(options())
	for times := range 2 {
		j.Before = func(n int) {
			if n == times {
				j.Without(without, stricter)
			}
		}
		if out := j.Carry(t.Context(), a, d); out.Outcome != decision.Changed || !c.alive() {
			t.Fatalf("asked %d times before: %+v", times, out)
		}
		j.Before = nil
		j.Without(without, mine)
	}
	if out := j.Carry(t.Context(), a, d); out.Outcome != decision.Done || c.alive() {
		t.Fatalf("%+v", out)
	}
}
