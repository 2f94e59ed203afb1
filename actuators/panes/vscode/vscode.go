// Package vscode closes one terminal tab of an editor's window that was judged, by asking that window.
//
// Nothing is signalled, and nothing that runs ends with a tab: the process that it was opened with has ended, or an extension draws it. Both are held here
// too, whatever the policies say. The window compares what it is asked to close with what it has, and its answer counts for nothing: the tabs are listed again.
package vscode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"winnow/actuators"
	"winnow/actuators/panes"
	"winnow/engine/decision"
	"winnow/internal/proc"
	"winnow/internal/vscode"
	change "winnow/internal/vscode/act"
)

// Options says how tabs are closed.
type Options struct {
	// Trash is the folder under which each act keeps what the tab was, in a folder of its own (0700) that has the act's id for name.
	Trash string
	// Env gives the environment, by which windows are found that a tab can be opened in again.
	Env func(string) string
	// UID is the user whose windows are asked.
	UID int
	// ProcRoot is where procfs is mounted; empty is /proc.
	ProcRoot string
	// Step, when set, is called with a step's name before it is taken.
	Step func(string)
	// Log may be nil.
	Log hclog.Logger
}

// The steps of an act, in order, as Options.Step gets them.
const (
	StepSave     = "editor_tab.save"
	StepCheck    = "editor_tab.check"
	StepClose    = "editor_tab.close"
	StepReadBack = "editor_tab.read_back"
)

const (
	// answerWithin is how long a window may take for one answer, and settlesWithin how long until it shows that a tab is gone.
	answerWithin  = 10 * time.Second
	settlesWithin = 2 * time.Second
	settlePause   = 50 * time.Millisecond
)

// Actuator closes tabs, and opens ones like them again.
type Actuator struct {
	Options
	// patience is answerWithin and settles is settlesWithin, but for tests.
	patience, settles time.Duration
}

var (
	_ actuators.Actuator = (*Actuator)(nil)
	_ actuators.Restorer = (*Actuator)(nil)
)

// New gives the actuator of editors' tabs.
func New(o Options) *Actuator {
	actuators.Defaults(&o.ProcRoot, &o.Step, &o.Log)
	if o.Env == nil {
		o.Env = func(string) string { return "" }
	}
	return &Actuator{Options: o, patience: answerWithin, settles: settlesWithin}
}

// plan is what an act uses, and what a tab like the closed one is opened from. It stands in the intent, and as manifest.json in the trash.
type plan struct {
	Act          string   `json:"act"`
	Socket       string   `json:"socket"`
	Window       string   `json:"window"`
	Folders      []string `json:"folders"`
	N            int      `json:"n"`
	Name         string   `json:"name"`
	CreationName string   `json:"creation_name,omitempty"`
	Shape        string   `json:"shape"`
	// Program is the base name of what it was made to run, "" for the person's own shell or where that is not known, and Cwd the folder that it was opened in.
	Program string `json:"program,omitempty"`
	Cwd     string `json:"cwd,omitempty"`
	Folder  string `json:"folder"`
}

// held is one tab that is to be closed. Nothing of it can be held, so each step reads it again.
type held struct {
	*Actuator
	id     decision.Editor
	plan   plan
	text   json.RawMessage
	undone bool
}

func called(e *decision.Editor) string {
	return fmt.Sprintf("tab %d (%q) of window %s", e.N, e.Name, e.Window)
}

// window is the one that was judged.
func (a *Actuator) window(e *decision.Editor) vscode.Window {
	return vscode.Window{Socket: e.Socket, UID: a.UID, Patience: a.patience, Is: &vscode.Hello{Window: e.Window, PID: e.ServerPID, StartTicks: e.ServerTicks}}
}

// Hold implements actuators.Actuator. It judges nothing, but a tab whose process lives is refused whatever was judged.
func (a *Actuator) Hold(ctx context.Context, act string, d decision.Decision) (actuators.Held, error) {
	id := d.Identity.Editor
	if err := admissible(act, d.ID, id); err != nil {
		return nil, err
	}
	h := &held{Actuator: a, id: *id}
	hello, t, err := h.read(ctx)
	if err != nil {
		return nil, err
	}
	if err := h.ended(); err != nil {
		return nil, err
	}
	h.plan = plan{Act: act, Socket: id.Socket, Window: id.Window, Folders: hello.Folders, N: id.N, Name: id.Name, CreationName: id.CreationName, Shape: id.Shape,
		Cwd: t.Cwd, Folder: filepath.Join(a.Trash, act)}
	if t.Program != nil {
		h.plan.Program = *t.Program
	}
	h.text, err = json.Marshal(h.plan)
	return h, err
}

// admissible refuses an identity that does not say everything which is tested again later.
func admissible(act, candidate string, e *decision.Editor) error {
	switch {
	case e == nil || e.Window == "" || e.N <= 0 || e.ServerPID <= 0 || e.State == "":
		return actuators.Refused("the identity of %s is unknown; it was left untouched", candidate)
	case !filepath.IsAbs(e.Socket):
		return actuators.Refused("%s: its socket %q is no absolute path; it was left untouched", candidate, e.Socket)
	case (e.Shape == vscode.Pty) != (e.PID == 0):
		return actuators.Refused("%s: a tab of the shape %q with the pid %d is not one that is known; it was left untouched", candidate, e.Shape, e.PID)
	case !panes.CanName(act):
		return actuators.Refused("%s: act id %q cannot name a folder; it was left untouched", candidate, act)
	}
	return nil
}

// read gives the tab as its window has it now. ErrGone says that the window has it no more, and ErrChanged that it is not what was judged.
func (h *held) read(ctx context.Context) (vscode.Hello, *vscode.Terminal, error) {
	hello, all, err := vscode.List(ctx, h.window(&h.id), nil)
	if err != nil {
		return hello, nil, h.unread(err)
	}
	t := vscode.Find(all, h.id.N)
	switch {
	case t == nil:
		return hello, nil, actuators.Gone("%s no longer exists", called(&h.id))
	case t.State() != h.id.State:
		return hello, nil, actuators.Changed("%s is no longer what was judged; it was left untouched, and the next sweep looks again", called(&h.id))
	}
	return hello, t, nil
}

// unread says why a window could not be asked. One that vanished says nothing of its tabs.
func (h *held) unread(err error) error {
	switch {
	case errors.Is(err, vscode.ErrAnother), errors.Is(err, vscode.ErrNoServer):
		return actuators.Changed("%s: %w; a window that vanished says nothing of its tabs, and nothing was closed", called(&h.id), err)
	}
	return actuators.Refused("%s: %w; it was left untouched", called(&h.id), err)
}

// ended refuses a tab whose process lives. A number without a start may be another process's.
func (h *held) ended() error {
	if h.id.PID == 0 {
		return nil
	}
	st, err := proc.StatOf(h.ProcRoot, h.id.PID)
	switch {
	case proc.Ended(err), err == nil && st.Over():
		return nil
	case err != nil:
		return actuators.Refused("%s: whether its process has ended is not known: %w; it was left untouched", called(&h.id), err)
	case h.id.StartTicks != 0 && st.Start != h.id.StartTicks:
		return nil
	}
	return actuators.Refused("%s: its process (pid %d) lives; it was left untouched", called(&h.id), h.id.PID)
}

// Plan implements actuators.Held.
func (h *held) Plan() json.RawMessage { return h.text }

// Save implements actuators.Held. What the tab shows is not given by any editor; what it was is kept.
func (h *held) Save(context.Context) error {
	h.Step(StepSave)
	h.undone = true
	if err := h.kept().Save(h.plan, func(panes.Writer) error { return nil }); err != nil {
		return actuators.Refused("%s: %w; it was left untouched", called(&h.id), err)
	}
	return nil
}

func (h *held) kept() panes.Kept { return panes.Kept{Trash: h.Trash, Act: h.plan.Act} }

// Act implements actuators.Held. The tab is read once more and must be the very same, and its window is asked to close it. From then on it goes on to the
// end although ctx ends.
func (h *held) Act(ctx context.Context, in decision.Intent) decision.Outcome {
	h.Step(StepCheck)
	h.id = *in.Identity.Editor
	_, t, err := h.read(ctx)
	if err == nil {
		err = h.ended()
	}
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("%s: %w; it was left untouched", called(&h.id), context.Cause(ctx))
	}
	if err != nil {
		return actuators.OutcomeOf(err)
	}
	h.Step(StepClose)
	ctx = context.WithoutCancel(ctx)
	err = change.CloseTab(ctx, h.window(&h.id), *t)
	switch {
	case vscode.Code(err) == change.NotFound:
		return actuators.OutcomeOf(actuators.Gone("%s was gone when it was to be closed", called(&h.id)))
	case vscode.Code(err) == change.Changed:
		return actuators.OutcomeOf(actuators.Changed("%s: %w; it was left untouched", called(&h.id), err))
	case vscode.Code(err) != "":
		return actuators.OutcomeOf(actuators.Refused("%s: %w; it was left untouched", called(&h.id), err))
	case errors.Is(err, vscode.ErrNotSent):
		return actuators.OutcomeOf(h.unread(err))
	case err != nil:
		h.Log.Warn("close a tab of an editor", "tab", h.id.N, "error", err)
	}
	h.Step(StepReadBack)
	return h.readBack(ctx, in)
}

// readBack looks until the window positively has the tab no more.
func (h *held) readBack(ctx context.Context, in decision.Intent) decision.Outcome {
	deadline := time.Now().Add(h.settles)
	for {
		there, err := h.there(ctx, &h.id)
		switch late := time.Now().After(deadline); {
		case err == nil && !there:
			h.undone = false
			return decision.Outcome{Outcome: decision.Done, Detail: called(&h.id) + " is closed; " + h.left(), RestoreUntil: panes.KeptUntil(h.Trash, in)}
		case late && err != nil:
			h.undone = false
			return decision.Outcome{Outcome: decision.Failed, Open: true, RestoreUntil: panes.KeptUntil(h.Trash, in), Detail: fmt.Sprintf(
				"%s was asked to close, and whether it is gone is not known: %v; nothing that runs was touched, and the next sweep looks again", called(&h.id), err)}
		case late:
			return decision.Outcome{Outcome: decision.Failed, Detail: called(&h.id) +
				" was asked to close, and the window still shows it; nothing that runs was touched, and the next sweep tries again. If it stays, close it by hand"}
		}
		time.Sleep(settlePause)
	}
}

// there reports whether the window that was judged lists the tab. After an error that is not known.
func (a *Actuator) there(ctx context.Context, e *decision.Editor) (bool, error) {
	_, all, err := vscode.List(ctx, a.window(e), nil)
	return err == nil && vscode.Find(all, e.N) != nil, err
}

// left says what became of the processes that were started in the tab, and lived when it was judged.
func (h *held) left() string {
	var live, ended []string
	for _, m := range h.id.Left {
		st, err := proc.StatOf(h.ProcRoot, m.PID)
		if name := fmt.Sprintf("%s (%d)", m.Name, m.PID); err == nil && st.Start == m.StartTicks && !st.Over() {
			live = append(live, name)
		} else {
			ended = append(ended, name)
		}
	}
	switch {
	case len(h.id.Left) == 0:
		return "no process that was started in it was left"
	case len(ended) == 0:
		return "what was started in it lives on, each judged as a process of its own: " + strings.Join(live, ", ")
	case len(live) == 0:
		return "what was started in it has ended since: " + strings.Join(ended, ", ")
	}
	return "what was started in it: " + strings.Join(live, ", ") + " lives on, judged as a process of its own; " + strings.Join(ended, ", ") + " has ended since"
}

// Close implements actuators.Held.
func (h *held) Close() error {
	if !h.undone {
		return nil
	}
	h.undone = false
	if _, err := h.kept().Purge(); err != nil {
		return fmt.Errorf("%s was not closed, and what was kept of it in %s could not be removed: %w", called(&h.id), h.plan.Folder, err)
	}
	return nil
}

// Settle implements actuators.Actuator.
func (a *Actuator) Settle(ctx context.Context, in decision.Intent) decision.Outcome {
	e := in.Identity.Editor
	if err := admissible(in.ID, in.Candidate, e); err != nil {
		return actuators.OutcomeOf(fmt.Errorf("how the act on %s went is not known: %w", in.Candidate, err))
	}
	there, err := a.there(ctx, e)
	switch {
	case errors.Is(err, vscode.ErrNoServer), errors.Is(err, vscode.ErrAnother):
		return decision.Outcome{Outcome: decision.Gone, RestoreUntil: panes.KeptUntil(a.Trash, in),
			Detail: fmt.Sprintf("%s: the window vanished, with all its tabs or with none, before it was known whether it was closed", called(e))}
	case err != nil:
		return decision.Outcome{Outcome: decision.Failed, Open: true, RestoreUntil: panes.KeptUntil(a.Trash, in),
			Detail: fmt.Sprintf("whether %s is gone is not known: %v; the next sweep looks again", called(e), err)}
	case there:
		return panes.Interrupted(a.Trash, in, decision.Failed, fmt.Sprintf("the act on %s was interrupted; the window still shows it, and the next sweep decides again", called(e)))
	}
	return decision.Outcome{Outcome: decision.Done, RestoreUntil: panes.KeptUntil(a.Trash, in), Detail: called(e) + " is gone; settled after an interruption"}
}

// Purge implements actuators.Restorer.
func (a *Actuator) Purge(_ context.Context, in decision.Intent) (int64, error) {
	return panes.Purge(a.Trash, in)
}

// Restore implements actuators.Restorer. It opens a terminal of that name in that folder, in the same window or in another one that has one of its folders
// open. What ran there has ended, and is not started again.
func (a *Actuator) Restore(ctx context.Context, in decision.Intent) (string, error) {
	p := &plan{}
	if _, err := panes.ReadPlan(a.Trash, in, p); err != nil {
		return "", err
	}
	cwd := p.Cwd
	if cwd == "" && len(p.Folders) > 0 {
		cwd = p.Folders[0]
	}
	if st, err := os.Stat(cwd); cwd != "" && (err != nil || !st.IsDir()) {
		return "", actuators.Refused("open terminal %q again: its folder %q is not there any more; nothing was opened", p.Name, cwd)
	}
	w, err := a.windowWith(ctx, p)
	if err != nil {
		return "", err
	}
	n, err := change.OpenTab(ctx, w, p.Name, cwd)
	if vscode.Code(err) != "" || errors.Is(err, vscode.ErrNotSent) {
		return "", fmt.Errorf("open terminal %q again: %w; nothing was opened", p.Name, err)
	} else if err != nil {
		return "", fmt.Errorf("open terminal %q again: %w; whether it was opened is not known: look into the window before another try", p.Name, err)
	}
	said := fmt.Sprintf("terminal %d (%q) of window %s has a new shell in %s; what it showed is gone", n, p.Name, w.Is.Window, cwd)
	if p.Program != "" {
		said += ", and " + p.Program + " is not started again"
	}
	return said, nil
}

// windowWith finds the window that the tab was in, or else one that has one of that one's folders open.
func (a *Actuator) windowWith(ctx context.Context, p *plan) (vscode.Window, error) {
	paths := []string{p.Socket}
	for _, dir := range vscode.Folders(a.Env, a.UID) {
		found, _ := vscode.Sockets(dir) // a folder that cannot be trusted has no window to open anything in
		paths = append(paths, found...)
	}
	for _, path := range paths {
		w := vscode.Window{Socket: path, UID: a.UID, Patience: a.patience}
		hello, _, err := vscode.List(ctx, w, nil)
		if err == nil && (hello.Window == p.Window || slices.ContainsFunc(hello.Folders, func(f string) bool { return slices.Contains(p.Folders, f) })) {
			w.Is = &hello
			return w, nil
		}
	}
	return vscode.Window{}, fmt.Errorf("open terminal %q again: its window %s is gone, and no other one has its folders open (%s); nothing was opened: open that folder in the editor, and try again",
		p.Name, p.Window, strings.Join(p.Folders, ", "))
}
