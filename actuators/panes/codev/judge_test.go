package codev

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/winnow-reaper/winnow/collectors"
	see "github.com/winnow-reaper/winnow/collectors/panes/codev"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/judge"
	kit "github.com/winnow-reaper/winnow/test/kit/tower"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// The moments of an act: before it is held, before and after it is judged again, before and after it is judged for the last time.
var moments = []string{"decided", "held", "judged", "saved", "last"}

// judging gives the world a real judge.
func (w *world) judging() {
	w.t.Helper()
	w.judge = judge.New(w.t, "terminal", judge.Shipped,
		func(only []string) ([]collectors.Source, error) {
			return see.Sources(see.Options{Homes: []string{w.Home()}, Tower: w.URL(), Env: w.o.Env, Home: w.env["HOME"], Only: only, Known: w.known, Timeout: wait.Patience})
		},
		func(d decision.Decision) string { return d.Identity.Terminal.ID })
	w.judge.Rules.TerminalIdle = 0
}

// judged looks at a terminal and decides. The decision has no id where the terminal does not exist.
func (w *world) judged(ctx context.Context, native string) (decision.Decision, error) {
	return w.judge.One(ctx, see.ID("codev/home", native), native)
}

// decide is what a sweep decides; it must be to reap.
func (w *world) decide(native string) decision.Decision {
	w.t.Helper()
	w.decided[native] = w.judge.Until(decision.Reap, see.ID("codev/home", native), native)
	return w.decided[native]
}

// carry carries a decision out as a sweep does, with everything that is between the decision and the act. at, when set, is called at every moment
// at which the world may change.
func (w *world) carry(ctx context.Context, d decision.Decision, at func(moment string)) decision.Outcome {
	w.t.Helper()
	if at != nil {
		w.judge.Before, w.judge.After = func(n int) { at(moments[2*n+1]) }, func(n int) { at(moments[2*n+2]) }
		defer func() { w.judge.Before, w.judge.After = nil, nil }()
		at("decided")
	}
	out := w.judge.Carry(ctx, New(w.o), d)
	fmt.Fprintf(&w.log, "%+v\n", out)
	return out
}

// worktree makes the folder of a builder that is gone, for the time of f.
func (w *world) worktree(f func(path string)) {
	w.t.Helper()
	path := filepath.Join(w.ws, ".builders", "pir-883")
	if err := os.MkdirAll(path, 0o755); err != nil {
		w.t.Fatal(err)
	}
	f(path)
	if err := os.Remove(path); err != nil {
		w.t.Fatal(err)
	}
}

// own adds a policy of the operator's.
func (w *world) own(path, text string) {
	w.t.Helper()
	w.judge.Without(nil, map[string]string{path: text})
}

// TestWindow has a terminal turn out to be an architect's in the last moments of an act, and what no Tower lists begin to run something.
func TestWindow(t *testing.T) {
	t.Parallel()
	t.Run("closed by its Tower", func(t *testing.T) {
		t.Parallel()
		judge.Window(t, func(t *testing.T) judge.Trial {
			w := newWorld(t)
			st := w.builder(kit.Terminal{})
			w.expect(st.ID)
			return judge.Trial{Judge: w.judge, Actuator: New(w.o), Decision: w.decide(st.ID), There: func() bool { return w.Alive(st.ID) },
				Change: func() { w.answered(http.MethodGet, w.listing(with("label", "Architect 2"))) }}
		})
	})
	t.Run("ended by its process", func(t *testing.T) {
		t.Parallel()
		judge.Window(t, func(t *testing.T) judge.Trial {
			w := newWorld(t)
			st, id := w.lost("sh", "-c", "while read -r x; do sleep 1000 & done")
			return judge.Trial{Judge: w.judge, Actuator: New(w.o), Decision: w.decided[id.ID], There: func() bool { return w.Alive(st.ID) },
				Change: func() {
					n := len(w.belowOf(st.PID))
					w.Type(st.ID, "x\n")
					wait.Eventually(t, "it runs", func() bool { return len(w.belowOf(st.PID)) > n })
				}}
		})
	})
}
