package processes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// together holds processes and acts on all of them as one. Each may have some below it.
func together(t *testing.T, ctx context.Context, o Options, begin func(int) error, ps []decision.Process, below ...[]decision.Member) []*decision.Outcome {
	t.Helper()
	a := New(o)
	var held []actuators.Held
	var ins []decision.Intent
	for i, p := range ps {
		d, in := decide(p), intent(p)
		if i < len(below) {
			d.Identity.Below, in.Identity.Below = below[i], below[i]
		}
		g := must.Get(a.Hold(ctx, "A1", d))(t)
		defer g.Close()
		held, ins = append(held, g), append(ins, in)
	}
	return a.ActTogether(ctx, held, ins, begin)
}

func always(int) error { return nil }

// TestBatch asks all to end before it kills any, so that they have the grace at the same time. What has become another program is spared, and
// the others end.
func TestBatch(t *testing.T) {
	t.Parallel()
	var children []*child
	var ps []decision.Process
	for _, role := range []string{"deaf", "wait", "turncoat", "deaf", "wait"} {
		c := start(t, role, true)
		children, ps = append(children, c), append(ps, identify(t, c.Process.Pid))
	}
	o := options()
	o.TermGrace = 500 * time.Millisecond
	var steps []string
	o.Step = func(step string) { steps = append(steps, step) }
	var got []string
	for _, out := range together(t, t.Context(), o, always, ps) {
		got = append(got, out.Outcome)
	}
	if diff := cmp.Diff([]string{decision.Done, decision.Done, decision.Changed, decision.Done, decision.Done}, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	for i, c := range children {
		if c.alive() != (i == 2) {
			t.Errorf("child %d: alive %v", i, c.alive())
		}
	}
	last := func(step string) (at int) {
		for i, s := range steps {
			if s == step {
				at = i
			}
		}
		return at
	}
	if n := slices.Index(steps, "process.kill"); n < last("process.term") || n < 0 {
		t.Errorf("one was killed before all were asked: %v", steps)
	}
}

// TestBatchSparesWhatChangedBefore signals the others.
func TestBatchSparesWhatChangedBefore(t *testing.T) {
	t.Parallel()
	one, two := start(t, "wait", true), start(t, "wait", true)
	p, q := identify(t, one.Process.Pid), identify(t, two.Process.Pid)
	a := New(options())
	var held []actuators.Held
	for _, p := range []decision.Process{p, q} {
		g := must.Get(a.Hold(t.Context(), "A1", decide(p)))(t)
		defer g.Close()
		held = append(held, g)
	}
	p.Cwd += "/else"
	outs := a.ActTogether(t.Context(), held, []decision.Intent{intent(p), intent(q)}, always)
	if outs[0].Outcome != decision.Changed || outs[1].Outcome != decision.Done || !one.alive() || two.alive() {
		t.Errorf("%+v %v, %+v %v", outs[0], one.alive(), outs[1], two.alive())
	}
}

// TestBatchThatGrowsOld signals nothing that it has not begun with.
func TestBatchThatGrowsOld(t *testing.T) {
	t.Parallel()
	one, two := start(t, "wait", true), start(t, "wait", true)
	outs := together(t, t.Context(), options(), func(i int) error {
		if i > 0 {
			return actuators.ErrStale
		}
		return nil
	}, []decision.Process{identify(t, one.Process.Pid), identify(t, two.Process.Pid)})
	if outs[0] == nil || outs[0].Outcome != decision.Done || outs[1] != nil || one.alive() || !two.alive() {
		t.Errorf("%+v %v, %+v %v", outs[0], one.alive(), outs[1], two.alive())
	}
}

// TestBatchStopsWaitingWhenInterrupted kills nothing then.
func TestBatchStopsWaitingWhenInterrupted(t *testing.T) {
	t.Parallel()
	one, two := start(t, "deaf", true), start(t, "deaf", true)
	ctx, cancel := context.WithCancelCause(t.Context())
	o := options()
	o.TermGrace = time.Hour
	asked := 0
	o.Step = func(step string) {
		if step == "process.grace" {
			if asked++; asked == 2 {
				cancel(errors.New("a key was pressed"))
			}
		}
	}
	for i, out := range together(t, ctx, o, always, []decision.Process{identify(t, one.Process.Pid), identify(t, two.Process.Pid)}) {
		if out == nil || out.Outcome != decision.Failed || !strings.Contains(out.Detail, "a key was pressed") || !strings.Contains(out.Detail, "was not killed") {
			t.Errorf("%d: %+v", i, out)
		}
	}
	if !one.alive() || !two.alive() {
		t.Error("one of them was killed")
	}
}

// TestBatchOfTrees ends what is below each, and leaves what was not judged with it.
func TestBatchOfTrees(t *testing.T) {
	t.Parallel()
	p, below := tree(t, "sleep 411 & wait", 1)
	q, other := tree(t, "sleep 412 & wait", 1)
	outs := together(t, t.Context(), options(), always, []decision.Process{p, q}, judged(below), nil)
	for i, words := range []string{", with 1 process below it: ", "started since it was judged stayed"} {
		if out := outs[i]; out.Outcome != decision.Done || !strings.Contains(out.Detail, words) {
			t.Errorf("%d: %+v", i, out)
		}
	}
	if living(below) != 0 || living(other) != 1 {
		t.Errorf("%d below the first still run, and %d below the second", living(below), living(other))
	}
}

// TestBatchOf keeps a process and what ends with it apart.
func TestBatchOf(t *testing.T) {
	t.Parallel()
	of := func(pid int, below ...int) decision.Decision {
		d := decide(decision.Process{PID: pid})
		for _, b := range below {
			d.Identity.Below = append(d.Identity.Below, decision.Member{PID: b})
		}
		return d
	}
	for _, c := range []struct {
		ds   []decision.Decision
		want int
	}{
		{[]decision.Decision{of(10, 11), of(20, 21), of(30)}, 3},
		{[]decision.Decision{of(10, 11), of(20), of(11), of(30)}, 2},
		{[]decision.Decision{of(11), of(10, 11)}, 1},
		{[]decision.Decision{of(10, 12), of(11, 12)}, 1},
		{[]decision.Decision{{ID: "process:1"}, of(10)}, 1},
		{[]decision.Decision{of(10), {ID: "process:1"}}, 1},
	} {
		if got := New(options()).Batch(c.ds); got != c.want {
			t.Errorf("%d of %+v, want %d", got, c.ds, c.want)
		}
	}
}
