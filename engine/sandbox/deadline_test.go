package sandbox_test

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/rules"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
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

// TestApartLoadsALotThatIsHonest: what a whole company writes fits into the limits that hold by default, beside the shipped ones.
func TestApartLoadsALotThatIsHonest(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 400 {
		files[fmt.Sprintf("protect/n%d/n%d.rego", i, i)] = fmt.Sprintf(`package policies.protect.n%[1]d

import data.policies.lib.mine

objections contains {"rule": "protect.n%[1]d", "message": $"{input.label} is kept by rule %[1]d", "evidence": {"names": [n | some n in mine.names]}} if {
	input.kind == "dir"
	not _named
}

_named if startswith(input.dir.name, "x") == false

_named if {
	mine.old
	regex.match("^n%[1]d-[0-9a-f]{8}$", input.dir.name) == false
}
`, i)
	}
	files["lib/mine/mine.rego"] = "package policies.lib.mine\n\nnames := {n | some e in input.entries; n := e.id}\n\nold if input.age > input.config.grace.dir\n\nold if input.idle > 86400\n"
	limits := eval.Limits{Timeout: wait.Patience} // the second that it has by default passes on a busy machine although nothing is evaluated
	if attack.Raced {
		limits.HeapBytes = 4 << 30 // the race detector's own memory counts too
	}
	begin := time.Now()
	e, p, err := sandbox.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{embedded, {Name: "mine", FS: rules.Tree(files), Prefix: "my"}}}, limits, sandbox.Self())
	must.Do(t, err)
	r, err := e.Decide(t.Context(), worlds.New(1, 0).World(300), worlds.Config())
	_ = e.Close()
	t.Logf("%d rules, %s, %d MiB", len(p.Rules()), time.Since(begin).Round(time.Millisecond), sandbox.Peak(e)>>20)
	if err != nil || len(r.Errors) > 0 || len(r.Decisions) == 0 {
		t.Errorf("%v, %v", err, r.Errors)
	}
}
