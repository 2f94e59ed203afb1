package sandbox_test

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/rules"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/worlds"
)

// TestDeadlineIsOfWork: an evaluation that the machine gives no time to has not passed its deadline, however late it is.
func TestDeadlineIsOfWork(t *testing.T) {
	stage.NeedSecond(t, "it attacks for a long time")
	t.Parallel()
	if attack.Raced {
		t.Skip("with the race detector the work alone takes longer than its time")
	}
	const timeout = 3 * time.Second
	e := apart(t, eval.Limits{Timeout: timeout}, policy.Tree{Name: "embedded", FS: rules.Small(nil), Prefix: "p"}, policy.Tree{Name: "mine", FS: rules.Tree(rules.Finding(
		rules.Digits + "count([1 | some a in xs; some b in xs; some c in xs; some d in xs; some e in xs; a + b + c + d + e > 100]) != 1",
	)), Prefix: "my"})
	pid, stopped := sandbox.PID(e), make(chan error, 1)
	go func() {
		time.Sleep(30 * time.Millisecond)
		err := syscall.Kill(pid, syscall.SIGSTOP)
		time.Sleep(timeout + time.Second)
		stopped <- errors.Join(err, syscall.Kill(pid, syscall.SIGCONT))
	}()
	begin := time.Now()
	r, err := e.Decide(t.Context(), worlds.Three(), worlds.Config())
	if stop := <-stopped; stop != nil {
		t.Fatal(stop)
	}
	if err != nil || len(r.Errors) > 0 {
		t.Errorf("%v, %v", err, r.Errors)
	}
	if took := time.Since(begin); took < timeout {
		t.Skipf("the machine was too quick to be stopped in between: %s", took)
	}
}
