package vscode

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	wire "github.com/winnow-reaper/winnow/internal/sys/vscode"
	"github.com/winnow-reaper/winnow/test/kit/editor"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

const act = "01J000000000000000000ACT"

// world is a window with a tab that must stay, and the one that is acted on.
type world struct {
	t          testing.TB
	w          *editor.Window
	keep, husk int
}

// fresh opens a window with the tab. One with a process is run to its end.
func fresh(t testing.TB, o editor.Options, husk editor.Tab) *world {
	t.Helper()
	w := &world{t: t, w: editor.Start(t, o)}
	w.keep = must.Get(w.w.Open(editor.Tab{Name: "keep", CreationName: new(""), Shape: "pty"}))(t)
	w.husk = must.Get(w.w.Open(husk))(t)
	w.w.Activate(w.keep)
	if len(husk.Argv) > 0 {
		must.Do(t, w.w.Await(w.husk))
	}
	return w
}

// dead is a tab whose process has ended, and drawn one that an extension draws.
var (
	dead  = editor.Tab{Name: "Codev: builder-pir-1", CreationName: new("Codev: builder-pir-1"), Program: new("sh"), Argv: []string{"sh", "-c", "exit 1"}, Typed: new(false), Whole: true}
	drawn = editor.Tab{Name: "Codev: builder-pir-2", CreationName: new("Codev: builder-pir-2"), Shape: "pty", Whole: true}
)

// actuator uses folders of its own, and nothing of the environment that the test runs in.
func actuator(t testing.TB, o Options) *Actuator {
	t.Helper()
	o.Trash, o.Never.UID = cmp.Or(o.Trash, filepath.Join(t.TempDir(), "trash")), os.Geteuid()
	a := New(o)
	a.patience, a.settles = wait.Patience, 200*time.Millisecond
	return a
}

// decision is what a look makes of the tab as it is now.
func (w *world) decision() decision.Decision {
	w.t.Helper()
	hello, all, err := wire.List(wait.Within(w.t, wait.Patience), wire.Window{Socket: w.w.Socket(), UID: os.Geteuid()}, []string{"A"})
	must.Do(w.t, err)
	t := wire.Find(all, w.husk)
	if t == nil {
		w.t.Fatal("the tab is not listed")
	}
	e := decision.Editor{Socket: w.w.Socket(), Window: hello.Window, ServerPID: hello.PID, ServerTicks: hello.StartTicks, N: t.N, Name: t.Name, CreationName: *t.CreationName, Shape: t.Shape, State: t.State(hello)}
	if t.PID != nil {
		e.PID = *t.PID
	}
	if t.StartTicks != nil {
		e.StartTicks = *t.StartTicks
	}
	return decision.Decision{ID: "tab:vscode/" + hello.Window + "/" + strconv.Itoa(t.N), Kind: "tab", Verdict: decision.Reap, Identity: decision.Identity{Key: "key", Editor: &e}}
}

func intent(h actuators.Held, d decision.Decision) decision.Intent {
	return decision.Intent{ID: act, Candidate: d.ID, Kind: d.Kind, Identity: d.Identity, Plan: h.Plan(), RestoreUntil: time.Now().Add(time.Hour)}
}

// attempt is what the carrier does with a decision, but for judging it again: judged is the last look.
func attempt(ctx context.Context, a *Actuator, d decision.Decision, judged func() decision.Decision) (decision.Outcome, decision.Intent) {
	h, err := a.Hold(ctx, act, d)
	if err != nil {
		return actuators.OutcomeOf(err), decision.Intent{}
	}
	in := intent(h, judged())
	if err := h.Save(ctx); err != nil {
		return actuators.OutcomeOf(errors.Join(err, h.Close())), in
	}
	out := h.Act(ctx, in)
	if err := h.Close(); err != nil {
		out.Detail += err.Error()
	}
	return out, in
}

// wantUntouched holds that no request changed anything, and that nothing that was saved is left.
func (w *world) wantUntouched(a *Actuator) {
	w.t.Helper()
	must.Equal(w.t, 0, len(w.w.Mutations()), "requests that change something")
	wantNothingSaved(w.t, a)
}

func wantNothingSaved(t testing.TB, a *Actuator) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(a.Trash, act)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is left in the trash: %v", err)
	}
}
