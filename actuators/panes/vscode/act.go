package vscode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/sys/vscode"
	change "github.com/winnow-reaper/winnow/internal/sys/vscode/act"
)

// Act implements actuators.Held. The tab is read once more, must be the very same, and its window is asked to close it in the same
// conversation. From then on it goes on to the end although ctx ends.
func (h *held) Act(ctx context.Context, in decision.Intent) decision.Outcome {
	h.Step(StepCheck)
	last := in.Identity.Editor
	if err := h.asHeld(in, last); err != nil {
		return actuators.OutcomeOf(err)
	}
	h.id = *last
	asked := false
	err := change.CloseTab(context.WithoutCancel(ctx), h.window(last), last.N, func(hello vscode.Hello, t *vscode.Terminal) error {
		if err := h.may(ctx, hello, t); err != nil {
			return err
		}
		h.Step(StepClose)
		asked = true
		return nil
	})
	if out, untouched := h.untouched(err, asked); untouched {
		return out
	}
	if err != nil {
		h.Log.Warn("ask the window of an editor to close a tab", "tab", last.N, "error", err)
	}
	h.Step(StepReadBack)
	return h.readBack(context.WithoutCancel(ctx), in)
}

// asHeld refuses where the last judgement was about another window, tab or process than the one that is held.
func (h *held) asHeld(in decision.Intent, last *decision.Editor) error {
	if err := admissible(h.plan.Act, in.Candidate, last); err != nil {
		return err
	}
	is, was := last, &h.id
	if is.Socket != was.Socket || is.Window != was.Window || is.ServerPID != was.ServerPID || is.ServerTicks != was.ServerTicks || is.N != was.N ||
		is.Shape != was.Shape || is.PID != was.PID || is.StartTicks != was.StartTicks {
		return actuators.Changed("%s is another tab than the one that is held; it was left untouched", called(is))
	}
	return nil
}

// may refuses a tab that is not the one that was judged, or whose process lives.
func (h *held) may(ctx context.Context, hello vscode.Hello, t *vscode.Terminal) error {
	if err := checkTab(&h.id, hello, t); err != nil {
		return err
	}
	if err := h.ended(&h.id); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: the sweep was ended before (%w); it was left untouched", called(&h.id), context.Cause(ctx))
	}
	return nil
}

// untouched gives the outcome where the window positively did not close the tab.
func (h *held) untouched(err error, asked bool) (decision.Outcome, bool) {
	var why error
	switch code := vscode.Code(err); {
	case err == nil:
		return decision.Outcome{}, false
	case errors.Is(err, vscode.ErrNotSent):
		why = unread(&h.id, err)
	case !asked:
		why = err
	case code == change.NotFound:
		why = actuators.Gone("%s was gone when it was to be closed", called(&h.id))
	case code == change.Changed:
		why = actuators.Changed("%s: %w; it was left untouched, and the next sweep looks again", called(&h.id), err)
	case code != "" && code != change.Failed:
		why = actuators.Refused("%s: %w; it was left untouched", called(&h.id), err)
	default:
		return decision.Outcome{}, false
	}
	return actuators.OutcomeOf(why), true
}

// readBack looks, in conversations of its own, until the window positively has the tab no more.
func (h *held) readBack(ctx context.Context, in decision.Intent) decision.Outcome {
	for deadline := time.Now().Add(h.settles); ; time.Sleep(settlePause) {
		there, err := h.exists(ctx, &h.id)
		vanished := errors.Is(err, vscode.ErrNoServer) || errors.Is(err, vscode.ErrAnother)
		switch late := time.Now().After(deadline); {
		case err == nil && !there:
			h.undone = false
			return decision.Outcome{Outcome: decision.Done, Detail: called(&h.id) + " is closed; " + h.survivors(), RestoreUntil: h.KeptUntil(in)}
		case vanished || late:
			why := actuators.Disputed("the window still shows it; close it by hand if it stays")
			if err != nil {
				why = fmt.Errorf("whether it is gone is not known: %w", err)
			}
			h.undone = false // an editor that is slow closes it later: what was saved of it is for then
			return decision.Outcome{Outcome: decision.Failed, Open: true, Disputed: err == nil, RestoreUntil: h.KeptUntil(in), Detail: fmt.Sprintf(
				"%s was asked to close: %v; no process was touched, and the next sweep looks again", called(&h.id), why)}
		}
	}
}

// survivors says what became of the processes that were started in the tab and lived when it was judged.
func (h *held) survivors() string {
	if len(h.id.Left) == 0 {
		return "no process that was started in it was left"
	}
	var live, ended, unknown []string
	for _, m := range h.id.Left {
		name := fmt.Sprintf("%s (%d)", m.Name, m.PID)
		switch lives, err := proc.Alive(h.ProcRoot, m.PID, m.StartTicks); {
		case err != nil:
			unknown = append(unknown, name)
		case lives:
			live = append(live, name)
		default:
			ended = append(ended, name)
		}
	}
	var out []string
	for _, part := range []struct {
		of   []string
		says string
	}{{live, "still live, and each is judged as a process of its own"}, {ended, "have ended since"}, {unknown, "may still live: that could not be read"}} {
		if len(part.of) > 0 {
			out = append(out, fmt.Sprintf("%s: %s", part.says, strings.Join(part.of, ", ")))
		}
	}
	return "of the processes that were started in it, " + strings.Join(out, "; ")
}

// Settle implements actuators.Actuator. A tab counts as closed only where its very window no longer lists it. A window that was closed or
// loaded again took its tabs and their numbers with it.
func (a *Actuator) Settle(ctx context.Context, in decision.Intent) decision.Outcome {
	e := in.Identity.Editor
	if err := admissible(in.ID, in.Candidate, e); err != nil {
		return actuators.OutcomeOf(fmt.Errorf("how the act on %s went is not known: %w", in.Candidate, err))
	}
	there, err := a.exists(ctx, e)
	switch {
	case errors.Is(err, vscode.ErrNoServer), errors.Is(err, vscode.ErrAnother):
		return decision.Outcome{Outcome: decision.Gone, RestoreUntil: a.KeptUntil(in),
			Detail: fmt.Sprintf("%s: its window was closed or loaded again, so whether the tab was closed is not known", called(e))}
	case err != nil:
		return decision.Outcome{Outcome: decision.Failed, Open: true, RestoreUntil: a.KeptUntil(in),
			Detail: fmt.Sprintf("whether %s is gone is not known: %v; what was saved of it is kept, and the next sweep looks again", called(e), err)}
	case there:
		return a.Interrupted(ctx, in, decision.Failed,
			fmt.Sprintf("the act on %s was interrupted; the window still shows it. No process was touched; the next sweep decides again", called(e)))
	}
	return decision.Outcome{Outcome: decision.Done, RestoreUntil: a.KeptUntil(in), Detail: called(e) + " is gone; settled after an interruption"}
}

// Restore implements actuators.Restorer. It opens a terminal of that name with a new shell in the tab's folder, in the same window, or where
// that is gone in one that has one of its folders open. What ran there has ended, and is not started again. A folder that is gone is refused:
// another one would not be what was asked for.
func (a *Actuator) Restore(ctx context.Context, in decision.Intent) (back actuators.Back, err error) {
	p := &plan{}
	if _, err := panes.ReadPlan(a.Trash, in, p); err != nil {
		return back, err
	}
	if err := panes.CheckSaved(filepath.Join(a.Trash, p.Act, panes.Manifest), fmt.Sprintf("what was saved of terminal %q", p.Name), "opened"); err != nil {
		return back, err
	}
	cwd, err := p.folder()
	if err != nil {
		return back, err
	}
	w, err := a.windowFor(ctx, p)
	if err != nil {
		return back, err
	}
	n, err := change.OpenTab(ctx, w, p.called(), cwd)
	switch {
	case vscode.Code(err) != "" && vscode.Code(err) != change.Failed, errors.Is(err, vscode.ErrNotSent):
		return back, fmt.Errorf("open terminal %q again: %w; nothing was opened, and what was saved of it is kept", p.Name, err)
	case err != nil:
		return back, fmt.Errorf("open terminal %q again: %w; whether it was opened is not known: look into the window before another try", p.Name, err)
	}
	if w.Is.Window == p.Window {
		back.Candidate = panes.Renamed(in.Candidate, strconv.Itoa(n))
	}
	back.Where = p.says(n, w.Is.Window, cwd)
	return back, nil
}

// folder is where the new shell begins: where the tab was opened, or the first folder of its window, as an editor has it. It is "" where the
// window had no folder.
func (p *plan) folder() (string, error) {
	cwd := p.Cwd
	if cwd == "" && len(p.Folders) > 0 {
		cwd = p.Folders[0]
	}
	if cwd == "" {
		return "", nil
	}
	if st, err := os.Stat(cwd); err != nil || !st.IsDir() {
		return "", actuators.Refused("open terminal %q again: its folder %q is missing; nothing was opened: make that folder and try again, or open a terminal by hand in another one", p.Name, cwd)
	}
	return cwd, nil
}

// called is the name of the new terminal, which must have one.
func (p *plan) called() string {
	return cmp.Or(p.Name, p.CreationName, p.Program, "terminal")
}

func (p *plan) says(n int, window, cwd string) string {
	said := fmt.Sprintf("terminal %d (%q) of window %s has a new shell", n, p.called(), window)
	if cwd != "" {
		said += " in " + cwd
	}
	if window != p.Window {
		said += fmt.Sprintf("; window %s, which it was closed in, no longer exists", p.Window)
	}
	said += "; what it showed was not kept"
	if p.Program != "" {
		said += fmt.Sprintf(", and what ran there (%s) is not run again", p.Program)
	}
	return said
}

// windowFor finds the window that the tab was in, or else one that has one of that window's folders or the tab's folder open.
func (a *Actuator) windowFor(ctx context.Context, p *plan) (vscode.Window, error) {
	paths := []string{p.Socket}
	for _, dir := range vscode.Folders(a.Env, a.Never.UID) {
		found, _ := vscode.Sockets(dir) // no window is asked in a folder that cannot be relied on
		paths = append(paths, found...)
	}
	var silent []string
	for i, path := range paths {
		w := vscode.Window{Socket: path, UID: a.Never.UID, Patience: a.patience}
		hello, _, err := vscode.List(ctx, w, nil)
		switch {
		case err == nil && (hello.Window == p.Window || p.fits(hello.Folders)):
			w.Is = &hello
			return w, nil
		case err != nil && i == 0 && !errors.Is(err, vscode.ErrNoServer): // it may be there, and then it is the right one
			return vscode.Window{}, fmt.Errorf("open terminal %q again: its window %s: %w; nothing was opened: try again", p.Name, p.Window, err)
		case err != nil && !errors.Is(err, vscode.ErrNoServer):
			silent = append(silent, err.Error())
		}
	}
	next := "open its folder in the editor, with the Winnow extension, and try again"
	if where := strings.Join(p.Folders, ", "); where != "" {
		next = "open " + where + " in the editor, with the Winnow extension, and try again"
	}
	if len(silent) > 0 {
		next += fmt.Sprintf(". Some windows did not answer: %v", strings.Join(silent, "; "))
	}
	return vscode.Window{}, actuators.Refused("open terminal %q again: its window %s no longer exists, and no other one has its folder open; nothing was opened: %s", p.Name, p.Window, next)
}

// fits reports whether a window with those folders is one that the tab could have been in.
func (p *plan) fits(folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool {
		f = strings.TrimSuffix(f, "/")
		return slices.Contains(p.Folders, f) || p.Cwd != "" && (p.Cwd == f || strings.HasPrefix(p.Cwd, f+"/"))
	})
}
