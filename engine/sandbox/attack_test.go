package sandbox_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/rules"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
	"github.com/winnow-reaper/winnow/test/kit/worlds"
)

// aloneVar is set for a test that runs in a process of its own.
const aloneVar = "TEST_RUNS_ALONE"

// alone runs the test in a process of its own and reports true, and false in that process. A process begins with the peak of the one
// that started it (getrusage(2) of a child that was made with vfork), so that only a small one can measure others.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(aloneVar) != "" {
		return false
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), aloneVar+"=1")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
	return true
}

// TestAttackMemoryAndTime: with any rule the process that evaluates it stays within twice the memory limit and what it had
// before, the answer comes, its candidate is spared, and the others are decided.
func TestAttackMemoryAndTime(t *testing.T) {
	stage.NeedSecond(t, "it attacks for a long time")
	if attack.Raced {
		t.Skip("it measures memory and time, and the race detector takes several times of both; .ci/run does it without")
	}
	if alone(t) {
		return
	}
	a := attack.New(t, "a policy takes memory or time in one step of a built-in function, or with its answer")
	const limit, timeout = 80 << 20, 100 * time.Millisecond
	idle := apart(t, eval.Limits{}, policy.Tree{Name: "p", FS: rules.Small(nil), Prefix: "p"})
	must.Get(idle.Decide(t.Context(), worlds.Three(), worlds.Config()))(t)
	_ = idle.Close()
	base := sandbox.Peak(idle)
	for name := range rules.Violent {
		t.Run(name, func(t *testing.T) {
			files := rules.ViolentRule(name)
			begin := time.Now()
			e, _, err := sandbox.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{
				{Name: "embedded", FS: rules.Small(nil), Prefix: "p"}, {Name: "mine", FS: rules.Tree(files), Prefix: "my"},
			}}, eval.Limits{Timeout: timeout, HeapBytes: limit, Load: 5 * time.Second}, sandbox.Self())
			must.Do(t, err)
			defer e.Close()
			r, err := e.Decide(t.Context(), worlds.Three(), worlds.Config())
			_ = e.Close()
			took, peak := time.Since(begin), sandbox.Peak(e)
			t.Logf("%s: peak %d MiB (idle %d), %s, %v", name, peak>>20, base>>20, took.Round(time.Millisecond), r.Errors)
			verdicts := map[string]string{}
			for _, d := range r.Decisions {
				verdicts[d.Label] = d.Verdict
			}
			switch {
			case err != nil:
				a.Lost("%s: %v", name, err)
			case peak > base+2*limit:
				a.Lost("%s: %d MiB, %d when idle", name, peak>>20, base>>20)
			case took > wait.Patience:
				a.Lost("%s: %s", name, took)
			case len(r.Errors) > 1 || len(r.Errors) == 1 && verdicts["/w/bad-review-0000000b"] != decision.Spare:
				a.Lost("%s: %v %v", name, r.Errors, verdicts)
			case verdicts["/w/x-review-0000000a"] != decision.Reap || verdicts["/w/y-review-0000000c"] != decision.Reap:
				a.Lost("%s: the others: %v %v", name, verdicts, r.Errors)
			default:
				a.Held()
			}
		})
	}
}

// TestAttackExplaining: an explanation comes to an end as a decision does, and says that it stays.
func TestAttackExplaining(t *testing.T) {
	stage.NeedSecond(t, "it attacks for a long time")
	attack.WithoutRaces(t)
	t.Parallel()
	a := attack.New(t, "a policy takes memory or time while it is explained")
	j := subject.Join(worlds.Three(), worlds.Config())
	sub, _ := j.Subject("dir:/w/bad-review-0000000b")
	for _, name := range []string{"every of every without an end", "sprintf wide", "shared lists in a message", "long evidence"} {
		e, err := loadApart(t, rules.ViolentRule(name), eval.Limits{Timeout: 100 * time.Millisecond, HeapBytes: 64 << 20})
		must.Do(t, err)
		for range 2 { // the second one asks a fresh process
			x, err := e.Explain(t.Context(), sub)
			if err != nil || x.Error == "" || x.Verdict != decision.Spare || len(x.Objections) != 1 || x.Objections[0].Rule != decision.PolicyError {
				a.Lost("%s: %v, %+v", name, err, x)
				continue
			}
			a.Held()
		}
	}
}

// TestAttackSearching: the search for what would turn a verdict comes to an end as a decision does, and finds nothing.
func TestAttackSearching(t *testing.T) {
	attack.WithoutRaces(t)
	t.Parallel()
	a := attack.New(t, "a policy takes memory or time while it is searched what would turn its verdict")
	j := subject.Join(worlds.Three(), worlds.Config())
	sub, _ := j.Subject("dir:/w/bad-review-0000000b")
	for _, name := range []string{"every of every without an end", "sprintf wide"} {
		e, err := loadApart(t, rules.ViolentRule(name), eval.Limits{Timeout: 100 * time.Millisecond, HeapBytes: 64 << 20})
		must.Do(t, err)
		for range 2 { // the second one may ask a fresh process
			if o, err := e.Counterfactual(t.Context(), sub, eval.Search{Within: time.Second}); err == nil && (len(o.Ways) > 0 || o.Limit == "") {
				a.Lost("%s: %+v", name, o)
				continue
			}
			a.Held()
		}
	}
}

// TestSmallMemoryLoads: a limit that is small for one evaluation leaves room to load.
func TestSmallMemoryLoads(t *testing.T) {
	t.Parallel()
	if attack.Raced {
		t.Skip("the race detector takes more memory than there is")
	}
	// One worker: the heap that is watched is the process's, and two evaluations at a time share it.
	e := apart(t, eval.Limits{HeapBytes: 1 << 20, Workers: 1}, embedded)
	if r, err := e.Decide(t.Context(), worlds.New(1, 0).World(300), worlds.Config()); err != nil || len(r.Errors) > 0 {
		t.Errorf("%v %v", err, r.Errors)
	}
}
