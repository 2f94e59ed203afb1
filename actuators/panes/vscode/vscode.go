// Package vscode closes one terminal tab of an editor's window that was judged, by asking that window.
//
// Nothing is signalled, and nothing that runs ends with a tab: the process that it was opened with has ended, or an extension draws it. A tab
// whose process lives is refused here too, also against the policies. The window compares what it is asked to close with what it has, and its
// answer proves nothing: the tabs are listed again.
package vscode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/sys/vscode"
)

// Options says how tabs are closed. By Env windows are found that a tab can be opened in again; nil finds none.
type Options = actuators.Options

// The steps of an act, in order, as Options.Step gets them.
const (
	StepSave     = "editor_tab.save"
	StepCheck    = "editor_tab.check"
	StepClose    = "editor_tab.close"
	StepReadBack = "editor_tab.read_back"
)

const (
	// answerWithin is how long one conversation with a window may take, and settlesWithin how long until it shows that a tab is gone.
	answerWithin  = 10 * time.Second
	settlesWithin = 10 * time.Second
	settlePause   = 50 * time.Millisecond
)

// Actuator closes tabs, and opens ones like them again.
type Actuator struct {
	panes.Base
	// patience is answerWithin and settles is settlesWithin, but for tests.
	patience, settles time.Duration
}

var (
	_ actuators.Actuator = (*Actuator)(nil)
	_ actuators.Restorer = (*Actuator)(nil)
)

// New gives the actuator of editors' tabs.
func New(o Options) *Actuator {
	if o.Env == nil {
		o.Env = func(string) string { return "" }
	}
	return &Actuator{Base: panes.Base{Options: o.WithDefaults()}, patience: answerWithin, settles: settlesWithin}
}

func called(e *decision.Editor) string {
	return fmt.Sprintf("tab %d (%q) of window %s", e.N, e.Name, e.Window)
}

// window is the one that was judged.
func (a *Actuator) window(e *decision.Editor) vscode.Window {
	return vscode.Window{Socket: e.Socket, UID: a.Never.UID, Patience: a.patience, Is: &vscode.Hello{Window: e.Window, PID: e.ServerPID, StartTicks: e.ServerTicks}}
}

// admissible refuses an identity that does not say everything which is tested again later.
func admissible(act, candidate string, e *decision.Editor) error {
	switch {
	case e == nil || e.Window == "" || e.N <= 0 || e.ServerPID <= 0 || e.State == "":
		return actuators.Refused("the identity of %s is unknown; it was left untouched", candidate)
	case !filepath.IsAbs(e.Socket):
		return actuators.Refused("%s: its socket %q is not an absolute path; it was left untouched", candidate, e.Socket)
	case (e.Shape == vscode.Pty) != (e.PID == 0):
		return actuators.Refused("%s: a tab of the shape %q with the pid %d is not one that is known; it was left untouched", candidate, e.Shape, e.PID)
	case !panes.CanName(act):
		return actuators.Refused("%s: act id %q cannot name a folder; it was left untouched", candidate, act)
	}
	return nil
}

// checkTab refuses a tab that its window has no more, or that is not what was judged. t is nil where the window does not list it.
func checkTab(e *decision.Editor, h vscode.Hello, t *vscode.Terminal) error {
	if t == nil {
		return actuators.Gone("%s no longer exists", called(e))
	}
	if was, is := termsafe.Differ(e.State, t.State(h)); was != is {
		return actuators.Changed("%s changed after it was judged: its window said: %s, and says now: %s; it was left untouched", called(e), was, is)
	}
	return nil
}

// unread says why a window could not be asked. One that vanished says nothing of its tabs.
func unread(e *decision.Editor, err error) error {
	if errors.Is(err, vscode.ErrAnother) || errors.Is(err, vscode.ErrNoServer) {
		return actuators.Changed("%s: %w; the window was closed or loaded again, and nothing was closed by winnow", called(e), err)
	}
	return actuators.Refused("%s: %w; it was left untouched", called(e), err)
}

// ended refuses a tab whose process lives. A number without a start may be another process's.
func (a *Actuator) ended(e *decision.Editor) error {
	if e.PID == 0 {
		return nil
	}
	st, err := proc.StatOf(a.ProcRoot, e.PID)
	switch {
	case err == nil && st.Ended():
		return nil
	case proc.Ended(err):
		return a.missing(e)
	case err != nil:
		return actuators.Refused("%s: whether its process (pid %d) has ended is not known: %w; it was left untouched", called(e), e.PID, err)
	case e.StartTicks != 0 && st.Start != e.StartTicks:
		return nil
	case e.StartTicks == 0:
		return actuators.Refused("%s: when its process (pid %d) began is not known, and a process of that number lives. It was left untouched", called(e), e.PID)
	}
	return actuators.Refused("%s: its process (pid %d) lives; it was left untouched", called(e), e.PID)
}

// missing refuses a tab of whose process /proc shows nothing, unless it positively has ended: /proc may be another namespace's, or hide it.
func (a *Actuator) missing(e *decision.Editor) error {
	host, err := proc.StatOf(a.ProcRoot, e.ServerPID)
	if err != nil || host.Start != e.ServerTicks {
		return actuators.Refused("%s: whether its process (pid %d) has ended is not known: %s does not show the extension host of its window (pid %d); it was left untouched", called(e), e.PID, a.ProcRoot, e.ServerPID)
	}
	fd, err := unix.PidfdOpen(e.PID, 0)
	switch {
	case err == nil:
		_ = unix.Close(fd)
		return actuators.Refused("%s: a process with its pid %d lives, and %s does not show it; it was left untouched", called(e), e.PID, a.ProcRoot)
	case errors.Is(err, unix.ESRCH), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT): // the last two: a thread has that number
		return nil
	}
	return actuators.Refused("%s: whether its process (pid %d) has ended is not known: %w; it was left untouched", called(e), e.PID, err)
}

// exists reports whether the window that was judged lists the tab. After an error that is not known.
func (a *Actuator) exists(ctx context.Context, e *decision.Editor) (bool, error) {
	_, all, err := vscode.List(ctx, a.window(e), nil)
	return err == nil && vscode.Find(all, e.N) != nil, err
}

// plan is what an act uses, and what a tab like the closed one is opened from. It stands in the intent, and as manifest.json in the trash.
type plan struct {
	Act     string   `json:"act"`
	Socket  string   `json:"socket"`
	Window  string   `json:"window"`
	Folders []string `json:"folders"`
	N       int      `json:"n"`
	Name    string   `json:"name"`
	// CreationName is what it was called when it was opened, "" where it got no name.
	CreationName string `json:"creation_name,omitempty"`
	Shape        string `json:"shape"`
	// Program is the base name of what it was made to run, "" for the person's own shell or where that is not known, and Cwd the folder that
	// it was opened in.
	Program string `json:"program,omitempty"`
	Cwd     string `json:"cwd,omitempty"`
	// Folder is where the manifest is.
	Folder string `json:"folder"`
}

// held is one tab that is to be closed. A tab cannot be held as a process can, so each step reads it again.
type held struct {
	*Actuator
	actuators.PlanText
	id     decision.Editor
	plan   plan
	kept   panes.Kept
	undone bool // whether something was saved, and nothing was done after it
}

// Hold implements actuators.Actuator. It judges nothing.
func (a *Actuator) Hold(ctx context.Context, act string, d decision.Decision) (actuators.Held, error) {
	id := d.Identity.Editor
	if err := admissible(act, d.ID, id); err != nil {
		return nil, err
	}
	hello, all, err := vscode.List(ctx, a.window(id), nil)
	if err != nil {
		return nil, unread(id, err)
	}
	t := vscode.Find(all, id.N)
	if err := checkTab(id, hello, t); err != nil {
		return nil, err
	}
	if err := a.ended(id); err != nil {
		return nil, err
	}
	h := &held{Actuator: a, id: *id, kept: panes.Kept{Trash: a.Trash, Act: act}, plan: plan{
		Act: act, Socket: id.Socket, Window: id.Window, Folders: hello.Folders, N: id.N, Name: id.Name, CreationName: id.CreationName,
		Shape: id.Shape, Cwd: t.Cwd, Folder: filepath.Join(a.Trash, act),
	}}
	if t.Program != nil {
		h.plan.Program = *t.Program
	}
	h.PlanText, err = json.Marshal(h.plan)
	return h, err
}

// Save implements actuators.Held. No editor gives what a tab shows; what it was is kept.
func (h *held) Save(context.Context) error {
	h.Step(StepSave)
	if err := h.kept.Save(h.plan, func(panes.Writer) error { return nil }); err != nil {
		return actuators.Refused("%s: %w; it was left untouched", called(&h.id), err)
	}
	h.undone = true
	return nil
}

// Close implements actuators.Held.
func (h *held) Close() error {
	if !h.undone {
		return nil
	}
	h.undone = false
	if _, err := h.kept.Purge(); err != nil {
		return fmt.Errorf("%s was not closed, and what was kept of it in %s could not be removed: %w", called(&h.id), h.plan.Folder, err)
	}
	return nil
}
