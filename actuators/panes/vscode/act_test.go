package vscode

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	wire "github.com/winnow-reaper/winnow/internal/sys/vscode"
	"github.com/winnow-reaper/winnow/test/kit/editor"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func TestCloses(t *testing.T) {
	t.Parallel()
	for name, tab := range map[string]editor.Tab{"a tab whose process has ended": dead, "a tab that an extension draws": drawn} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tab.Cwd = dir
			w := fresh(t, editor.Options{Folders: []string{dir}, Focused: true}, tab)
			a := actuator(t, Options{})
			d := w.decision()
			w.w.Expect("terminal.dispose", strconv.Itoa(w.husk))
			out, in := attempt(t.Context(), a, d, w.decision)
			must.Equal(t, decision.Done, out.Outcome, "outcome: %s", out.Detail)
			must.Equal(t, true, strings.HasSuffix(out.Detail, "is closed; no process that was started in it was left"), "detail: %s", out.Detail)
			must.Equal(t, &in.RestoreUntil, out.RestoreUntil, "until when it can be opened again")
			must.Equal(t, []int{w.keep}, w.w.Tabs(), "tabs")
			must.Equal(t, 1, len(w.w.Mutations()), "requests that change something")
			var got map[string]any
			must.Do(t, json.Unmarshal(in.Plan, &got))
			want := map[string]any{"act": act, "socket": w.w.Socket(), "window": w.w.ID(), "folders": []any{dir}, "n": float64(w.husk), "name": tab.Name, "creation_name": *tab.CreationName,
				"shape": d.Identity.Editor.Shape, "cwd": dir, "folder": filepath.Join(a.Trash, act)}
			if tab.Program != nil {
				want["program"] = *tab.Program
			}
			must.Equal(t, want, got, "plan")
			var kept map[string]any
			must.Do(t, json.Unmarshal(must.Get(os.ReadFile(filepath.Join(a.Trash, act, panes.Manifest)))(t), &kept))
			must.Equal(t, want, kept, "manifest")
			freed, err := a.Purge(t.Context(), in)
			if err != nil || freed == 0 {
				t.Errorf("purged %d bytes, %v", freed, err)
			}
			wantNothingSaved(t, a)
		})
	}
}

// TestATabWhoseProcessLivesIsRefused also against a judgement, and a shape that is not known.
func TestATabWhoseProcessLivesIsRefused(t *testing.T) {
	t.Parallel()
	w := fresh(t, editor.Options{}, dead)
	live := must.Get(w.w.Open(editor.Tab{Name: "work", CreationName: new(""), Argv: []string{"sleep", "1000"}}))(t)
	w.husk = live
	a := actuator(t, Options{})
	d := w.decision()
	refused := func(name, says string, change func(*decision.Editor)) {
		t.Helper()
		e := *d.Identity.Editor
		change(&e)
		_, err := a.Hold(t.Context(), act, decision.Decision{ID: d.ID, Kind: d.Kind, Identity: decision.Identity{Key: "k", Editor: &e}})
		if !errors.Is(err, actuators.ErrRefused) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "left untouched") {
			t.Errorf("%s: %v", name, err)
		}
	}
	pid := strconv.Itoa(w.w.Tab(live).PID)
	refused("it lives", "its process (pid "+pid+") lives", func(*decision.Editor) {})
	refused("since when is not known", "began is not known, and a process of that number lives", func(e *decision.Editor) { e.StartTicks = 0 })
	refused("a drawn one with a process", "is not one that is known", func(e *decision.Editor) { e.Shape = "pty" })
	refused("a shell without one", "is not one that is known", func(e *decision.Editor) { e.PID = 0 })
	refused("no state", "unknown", func(e *decision.Editor) { e.State = "" })
	refused("no window", "unknown", func(e *decision.Editor) { e.Window = "" })
	refused("no number", "unknown", func(e *decision.Editor) { e.N = 0 })
	refused("no extension host", "unknown", func(e *decision.Editor) { e.ServerPID = 0 })
	refused("a relative socket", "not an absolute path", func(e *decision.Editor) { e.Socket = "x.sock" })
	if _, err := a.Hold(t.Context(), act, decision.Decision{ID: d.ID}); !errors.Is(err, actuators.ErrRefused) {
		t.Errorf("no identity: %v", err)
	}
	if _, err := a.Hold(t.Context(), "../x", d); !errors.Is(err, actuators.ErrRefused) || !strings.Contains(err.Error(), "cannot name a folder") {
		t.Errorf("an act that is a path: %v", err)
	}
	h := held{Actuator: a, id: *d.Identity.Editor}
	hello, all, err := wire.List(t.Context(), a.window(&h.id), nil)
	must.Do(t, err)
	if err := h.may(t.Context(), hello, wire.Find(all, live)); !errors.Is(err, actuators.ErrRefused) || !strings.Contains(err.Error(), "lives") {
		t.Errorf("right before the request: %v", err)
	}
	// An earlier process that had the number has ended.
	other := *d.Identity.Editor
	other.StartTicks--
	must.Do(t, a.ended(&other))
	// That /proc shows no such process proves nothing where it is another one, or hides it.
	root := t.TempDir()
	unsure := func(name, says string) {
		t.Helper()
		if err := actuator(t, Options{ProcRoot: root}).ended(d.Identity.Editor); !errors.Is(err, actuators.ErrRefused) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	unsure("an empty /proc", "does not show the extension host")
	host := filepath.Join(root, strconv.Itoa(w.w.PID()))
	must.Do(t, os.Mkdir(host, 0o700))
	stat := string(must.Get(os.ReadFile("/proc/self/stat"))(t))
	must.Do(t, os.WriteFile(filepath.Join(host, "stat"), []byte(stat), 0o600))
	unsure("a /proc that hides it", "lives, and "+root+" does not show it")
	must.Do(t, os.WriteFile(filepath.Join(host, "stat"), []byte(strings.Replace(stat, " "+strconv.FormatUint(w.w.Ticks(), 10)+" ", " 1 ", 1)), 0o600))
	unsure("a /proc of another place", "does not show the extension host")
	w.wantUntouched(a)
	must.Equal(t, true, procs.Lives(w.w.Tab(live).PID), "the process lives")
}

// TestChangedBeforeItWasHeld has each change to the window or the tab between the look and the hold.
func TestChangedBeforeItWasHeld(t *testing.T) {
	t.Parallel()
	for name, c := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := fresh(t, editor.Options{Focused: true}, c.of())
			a := actuator(t, Options{})
			d := w.decision()
			c.change(w)
			_, err := a.Hold(t.Context(), act, d)
			if !errors.Is(err, c.want) {
				t.Errorf("want %v, got %v", c.want, err)
			}
			w.wantUntouched(a)
		})
	}
}

// TestChangedRightBeforeTheAct has each of them after the last judgement.
func TestChangedRightBeforeTheAct(t *testing.T) {
	t.Parallel()
	for name, c := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := fresh(t, editor.Options{Focused: true}, c.of())
			a := actuator(t, Options{Step: func(step string) {
				if step == StepCheck {
					c.change(w)
				}
			}})
			out, _ := attempt(t.Context(), a, w.decision(), w.decision)
			must.Equal(t, actuators.OutcomeOf(c.want).Outcome, out.Outcome, "outcome: %s", out.Detail)
			w.wantUntouched(a)
		})
	}
}

type changed struct {
	tab    *editor.Tab // nil is drawn
	change func(*world)
	want   error
}

func (c changed) of() editor.Tab {
	if c.tab == nil {
		return drawn
	}
	return *c.tab
}

func edit(f func(*editor.Tab)) func(*world) { return func(w *world) { w.w.Change(w.husk, f) } }

var changes = map[string]changed{
	"renamed":           {nil, edit(func(t *editor.Tab) { t.Name = "mine" }), actuators.ErrChanged},
	"typed in":          {&dead, edit(func(t *editor.Tab) { t.Typed = new(true) }), actuators.ErrChanged},
	"in front":          {nil, func(w *world) { w.w.Activate(w.husk) }, actuators.ErrChanged},
	"another process":   {&dead, edit(func(t *editor.Tab) { t.PID, t.Ticks = os.Getpid(), nil }), actuators.ErrChanged},
	"another shape":     {&dead, edit(func(t *editor.Tab) { t.Shape = "task" }), actuators.ErrChanged},
	"forgotten":         {nil, edit(func(t *editor.Tab) { t.CreationName = nil }), actuators.ErrChanged},
	"closed":            {nil, func(w *world) { w.w.Shut(w.husk) }, actuators.ErrGone},
	"loaded again":      {nil, func(w *world) { _ = w.w.Reload(true) }, actuators.ErrChanged},
	"vanished":          {nil, func(w *world) { w.w.Vanish(true) }, actuators.ErrChanged},
	"silent":            {nil, func(w *world) { w.w.Fault(at("terminals.list", editor.CloseWithoutReply)) }, actuators.ErrRefused},
	"no proof":          {nil, func(w *world) { w.w.Fault(at("prove", editor.ErrorReply("not_proved", "no"))) }, actuators.ErrRefused},
	"another window":    {nil, func(w *world) { w.w.Fault(at("hello", rewrite(`"start_ticks":`, `"start_ticks":1`))) }, actuators.ErrChanged},
	"an odd tab beside": {nil, func(w *world) { w.w.Fault(at("terminals.list", rewrite(`"n":1`, `"n":2`))) }, actuators.ErrRefused},
}

func at(method string, f editor.Fault) func(int, editor.Call) editor.Fault {
	return func(_ int, c editor.Call) editor.Fault {
		if c.Method == method {
			return f
		}
		return editor.Fault{}
	}
}

func rewrite(old, now string) editor.Fault {
	return editor.Another(func(line []byte) []byte { return []byte(strings.Replace(string(line), old, now, 1)) })
}

// TestJudgedAsAnother has the last judgement be about another tab than the one that is held.
func TestJudgedAsAnother(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*decision.Editor){
		"number": func(e *decision.Editor) { e.N-- }, "window": func(e *decision.Editor) { e.Window = "00000000" }, "socket": func(e *decision.Editor) { e.Socket += "x" },
		"extension host": func(e *decision.Editor) { e.ServerPID++ }, "its start": func(e *decision.Editor) { e.ServerTicks++ }, "process": func(e *decision.Editor) { e.PID++ },
		"start": func(e *decision.Editor) { e.StartTicks++ }, "shape": func(e *decision.Editor) { e.Shape = "task" },
	} {
		w := fresh(t, editor.Options{}, dead)
		a := actuator(t, Options{})
		out, _ := attempt(t.Context(), a, w.decision(), func() decision.Decision {
			d := w.decision()
			e := *d.Identity.Editor
			change(&e)
			d.Identity.Editor = &e
			return d
		})
		must.Equal(t, decision.Changed, out.Outcome, "another %s: outcome: %s", name, out.Detail)
		w.wantUntouched(a)
	}
}

// TestWhatTheWindowAnswers believes what is read afterwards, and not the answer.
func TestWhatTheWindowAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault editor.Fault
		want  string
		open  bool
		says  string
		there bool
	}{
		"it closes the tab, and the answer is lost":     {editor.LostReply, decision.Done, false, "is closed", false},
		"it closes the tab, and half an answer comes":   {editor.PartialLine, decision.Done, false, "is closed", false},
		"it closes the tab, and never answers":          {editor.HangBeforeReply, decision.Done, false, "is closed", false},
		"it closes the tab, and answers something else": {rewrite(`"gone":true`, `"gone":false`), decision.Done, false, "is closed", false},
		"it does nothing, and says that it did":         {editor.Idle, decision.Failed, true, "the window still shows it", true},
		"it does nothing, and hangs up":                 {editor.CloseWithoutReply, decision.Failed, true, "the window still shows it", true},
		"it fails":                                      {editor.ErrorReply("failed", "no"), decision.Failed, true, "the window still shows it", true},
		"it says that it has no such tab":               {editor.ErrorReply("not_found", "no"), decision.Gone, false, "was gone", true},
		"it says that the tab is another":               {editor.ErrorReply("changed", "its name"), decision.Changed, false, "its name", true},
		"it refuses":                                    {editor.ErrorReply("refused", "not now"), decision.Refused, false, "not now", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := fresh(t, editor.Options{}, drawn)
			w.w.Fault(at("terminal.dispose", c.fault))
			w.w.Expect("terminal.dispose", "2")
			a := actuator(t, Options{})
			a.patience = 3 * time.Second
			out, _ := attempt(t.Context(), a, w.decision(), w.decision)
			must.Equal(t, c.want, out.Outcome, "outcome: %s", out.Detail)
			must.Equal(t, c.open, out.Open, "open")
			must.Equal(t, true, strings.Contains(out.Detail, c.says), "detail: %s", out.Detail)
			must.Equal(t, c.there, len(w.w.Tabs()) == 2, "the tab is there")
			if c.there && !c.open {
				wantNothingSaved(t, a)
			}
		})
	}
}

// TestAWindowThatClosesItLate shows the tab for longer than an act waits. What was saved of it stays, until the next sweep finds it gone.
func TestAWindowThatClosesItLate(t *testing.T) {
	t.Parallel()
	w := fresh(t, editor.Options{}, drawn)
	w.w.Fault(at("terminal.dispose", editor.Idle))
	w.w.Expect("terminal.dispose", "2")
	a := actuator(t, Options{})
	out, in := attempt(t.Context(), a, w.decision(), w.decision)
	if out.Outcome != decision.Failed || !out.Open || !out.Disputed || out.RestoreUntil == nil {
		t.Errorf("%+v", out)
	}
	w.w.Shut(2)
	w.w.Expect("terminal.open", drawn.Name)
	out = a.Settle(t.Context(), in)
	if out.Outcome != decision.Done || out.Open || out.RestoreUntil == nil {
		t.Errorf("settled: %+v", out)
	}
	if _, err := a.Restore(t.Context(), in); err != nil {
		t.Error(err)
	}
}

// TestAWindowThatVanishesMeanwhile leaves the act open, and the next sweep settles it.
func TestAWindowThatVanishesMeanwhile(t *testing.T) {
	t.Parallel()
	for name, vanish := range map[string]func(*world){
		"killed":       func(w *world) { w.w.Vanish(true) },
		"loaded again": func(w *world) { _ = w.w.Reload(true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := fresh(t, editor.Options{}, dead)
			a := actuator(t, Options{Step: func(step string) {
				if step == StepReadBack {
					vanish(w)
				}
			}})
			w.w.Expect("terminal.dispose", "2")
			out, in := attempt(t.Context(), a, w.decision(), w.decision)
			if out.Outcome != decision.Failed || !out.Open || !strings.Contains(out.Detail, "whether it is gone is not known") || out.RestoreUntil == nil {
				t.Errorf("%+v", out)
			}
			out = a.Settle(t.Context(), in)
			if out.Outcome != decision.Gone || out.Open || !strings.Contains(out.Detail, "closed or loaded again") || out.RestoreUntil == nil {
				t.Errorf("settled: %+v", out)
			}
		})
	}
}

// TestASilentWindowLeavesTheActOpen until it answers again.
func TestASilentWindowLeavesTheActOpen(t *testing.T) {
	t.Parallel()
	w := fresh(t, editor.Options{}, drawn)
	a := actuator(t, Options{Step: func(step string) {
		if step == StepReadBack {
			w.w.Fault(at("hello", editor.CloseWithoutReply))
		}
	}})
	w.w.Expect("terminal.dispose", "2")
	out, in := attempt(t.Context(), a, w.decision(), w.decision)
	must.Equal(t, true, out.Open, "open: %s", out.Detail)
	out = a.Settle(t.Context(), in)
	must.Equal(t, true, out.Open, "open: %s", out.Detail)
	w.w.Fault(nil)
	out = a.Settle(t.Context(), in)
	must.Equal(t, decision.Done, out.Outcome, "settled: %s", out.Detail)
}

// TestAnEndedSweep closes nothing before the request, and goes on after it.
func TestAnEndedSweep(t *testing.T) {
	t.Parallel()
	for step, want := range map[string]string{StepCheck: decision.Failed, StepClose: decision.Done, StepReadBack: decision.Done} {
		w := fresh(t, editor.Options{}, drawn)
		ctx, cancel := context.WithCancel(t.Context())
		a := actuator(t, Options{Step: func(s string) {
			if s == step {
				cancel()
			}
		}})
		if want == decision.Done {
			w.w.Expect("terminal.dispose", "2")
		}
		out, _ := attempt(ctx, a, w.decision(), w.decision)
		must.Equal(t, want, out.Outcome, "ended at %s: outcome: %s", step, out.Detail)
		if want != decision.Done {
			must.Equal(t, true, strings.Contains(out.Detail, "left untouched"), "detail: %s", out.Detail)
			w.wantUntouched(a)
		}
	}
}

// TestWhatIsLeft says of each process that was started in the tab what became of it.
func TestWhatIsLeft(t *testing.T) {
	t.Parallel()
	tab := dead
	tab.Cwd = t.TempDir()
	tab.Argv = []string{"sh", "-c", `trap "" HUP; sleep 1000 & echo $! > stays; sleep 1001 & echo $! > goes; exit 1`}
	w := fresh(t, editor.Options{}, tab)
	member := func(file string) decision.Member {
		text := must.Get(os.ReadFile(filepath.Join(tab.Cwd, file)))(t)
		pid := must.Get(strconv.Atoi(strings.TrimSpace(string(text))))(t)
		wait.Eventually(t, "it is a sleep", func() bool { return procs.Name(pid) == "sleep" })
		stat := strings.Fields(string(must.Get(os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"))(t)))
		return decision.Member{PID: pid, Name: "sleep", StartTicks: must.Get(strconv.ParseUint(stat[21], 10, 64))(t)}
	}
	stays, goes := member("stays"), member("goes")
	judged := func() decision.Decision {
		d := w.decision()
		d.Identity.Editor.Left = []decision.Member{stays, goes}
		return d
	}
	a := actuator(t, Options{Step: func(step string) {
		if step == StepReadBack {
			p := must.Get(os.FindProcess(goes.PID))(t)
			must.Do(t, p.Kill())
			wait.Eventually(t, "it ends", func() bool { return !procs.Lives(goes.PID) })
		}
	}})
	w.w.Expect("terminal.dispose", "2")
	out, _ := attempt(t.Context(), a, judged(), judged)
	want := "is closed; of the processes that were started in it, still live, and each is judged as a process of its own: sleep (" + strconv.Itoa(stays.PID) + "); have ended since: sleep (" + strconv.Itoa(goes.PID) + ")"
	must.Equal(t, true, strings.HasSuffix(out.Detail, want), "detail: %s", out.Detail)
	must.Equal(t, true, procs.Lives(stays.PID), "what was left lives")
	h := held{Actuator: a, id: decision.Editor{Left: []decision.Member{{PID: stays.PID, StartTicks: stays.StartTicks + 1, Name: "other"}}}}
	must.Equal(t, true, strings.Contains(h.survivors(), "have ended since: other"), "a number that another process has now: %s", h.survivors())
}
