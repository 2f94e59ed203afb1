// Package vscode closes one terminal tab of an editor's window that was judged, by asking that window.
//
// Nothing is signalled, and nothing that runs ends with a tab: the process that it was opened with has ended, or an extension draws it. A tab
// whose process lives is refused here too, also against the policies. The window compares what it is asked to close with what it has, and its
// answer proves nothing: the tabs are listed again.
package vscode

import (
	"context"
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
	if o.Env == nil {
		o.Env = func(string) string { return "" }
	}
	return &Actuator{Options: o.WithDefaults(), patience: answerWithin, settles: settlesWithin}
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
		return actuators.Refused("%s: when its process (pid %d) began is not known, and a process of that number lives; it was left untouched", called(e), e.PID)
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
