package herdr

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

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/herdr"
	procact "github.com/winnow-reaper/winnow/internal/sys/proc/act"
)

// held is one tab that is held: the lock of those who close tabs, and the processes of its panes by open descriptors.
type held struct {
	*Actuator
	actuators.PlanText
	client  *herdr.Client
	id      decision.Tab
	lockF   *os.File
	panes   []*heldPane
	members []*procact.Held
	// pane is the judged pane that a member belongs to.
	pane map[*procact.Held]*heldPane
	plan plan
	// kept is where the text of the panes is, or will be.
	kept panes.Kept
	// left are the processes that had left the panes' sessions before the last judgement.
	left map[int]uint64
	// textless are the panes whose text the server does not offer.
	textless []string
	// undone says that something was saved of a tab that was not closed.
	undone bool
}

// heldPane is a judged pane with its first process.
type heldPane struct {
	decision.Pane
	shell *procact.Held
	// turns are how often the first process had run when it was held.
	turns uint64
}

func (h *held) who() string { return called(&h.id) }

func called(t *decision.Tab) string { return fmt.Sprintf("tab %s (%q)", t.ID, t.Label) }

// Hold implements actuators.Actuator. It holds the lock of those who close tabs until Close, so that the judgement and the close
// are one piece for every program that uses that lock, and every judged process of the tab. It judges nothing.
func (a *Actuator) Hold(ctx context.Context, act string, d decision.Decision) (actuators.Held, error) {
	id := d.Identity.Tab
	if err := admissible(act, d.ID, id); err != nil {
		return nil, err
	}
	lock, err := a.lock(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", called(id), err)
	}
	h := &held{Actuator: a, client: a.client(id.Socket), id: *id, lockF: lock, pane: map[*procact.Held]*heldPane{}}
	h.client.Server = &h.id.ServerPID
	for _, p := range id.Panes {
		if err = h.holdPane(p); err != nil {
			break
		}
	}
	if errors.Is(err, actuators.ErrChanged) {
		if w, unknown := h.whereabouts(ctx, &h.id); unknown == nil && w.where == gone {
			err = actuators.Gone("%s no longer exists", h.who()) // a tab that was closed took its processes along
		}
	}
	if err == nil {
		h.setPlan(act)
		h.PlanText, err = json.Marshal(h.plan)
	}
	if err != nil {
		_ = h.Close()
		return nil, err
	}
	return h, nil
}

func (h *held) holdPane(p decision.Pane) error {
	in := &heldPane{Pane: p}
	members, err := panes.HoldPane(h.ProcRoot, "tab", h.who(), p, h.Never)
	h.members = append(h.members, members...)
	for _, m := range members {
		h.pane[m] = in
		if err == nil && m.PID == p.PID {
			in.shell = m
			in.turns, err = m.Turns()
		}
	}
	h.panes = append(h.panes, in)
	if err == nil || errors.Is(err, actuators.ErrRefused) || errors.Is(err, actuators.ErrChanged) {
		return err
	}
	return actuators.Refused("%s: %w; it was left untouched", h.who(), err)
}

func (h *held) setPlan(act string) {
	h.plan = plan{Act: act, Socket: h.id.Socket, ServerPID: h.id.ServerPID, Tab: h.id.ID, Workspace: h.id.Workspace, Label: h.id.Label,
		Folder: filepath.Join(h.Trash, act)}
	for i, v := range h.panes {
		h.plan.Panes = append(h.plan.Panes, planned{ID: v.ID, Terminal: v.Terminal, File: panes.File(i), Cwd: v.Cwd, Members: panes.MembersOf(h.members, v.PID)})
	}
	h.kept = panes.Kept{Trash: h.Trash, Act: act, Panes: len(h.panes)}
}

// Close implements actuators.Held.
func (h *held) Close() error {
	for _, m := range h.members {
		m.Close()
	}
	h.members, h.panes, h.pane = nil, nil, nil
	var left error
	if h.undone {
		if _, err := h.kept.Purge(); err != nil {
			left = fmt.Errorf("%s was not closed, and what was saved of it in %s could not be removed: %w", h.who(), h.plan.Folder, err)
		}
		h.undone = false
	}
	lock := h.lockF
	if h.lockF = nil; lock == nil {
		return left
	}
	// A process that is being started just now has the file open too until it runs its program: closing alone would leave the
	// lock to it.
	return errors.Join(left, unix.Flock(int(lock.Fd()), unix.LOCK_UN), lock.Close())
}

// admissible refuses an identity that does not say everything which is tested again later.
func admissible(act, candidate string, t *decision.Tab) error {
	switch {
	case t == nil || t.Socket == "" || len(t.Panes) == 0:
		return actuators.Refused("the identity of %s is unknown; it was left untouched", candidate)
	case !herdr.WorkspaceID(t.Workspace):
		return actuators.Refused("%s: %q is not a workspace's id of herdr's such as w1; it was left untouched", candidate, t.Workspace)
	case !herdr.TabID(t.ID) || !strings.HasPrefix(t.ID, t.Workspace+":"):
		return actuators.Refused("%s: %q is not a tab's id of herdr's such as %s:t3; it was left untouched", candidate, t.ID, t.Workspace)
	case !filepath.IsAbs(t.Socket):
		return actuators.Refused("%s: its socket %q is no absolute path; it was left untouched", candidate, t.Socket)
	case t.ServerPID <= 0:
		return actuators.Refused("%s: its server is in another pid namespace, so that its pids say nothing here; it was left untouched", candidate)
	case !panes.CanName(act):
		return actuators.Refused("%s: act id %q cannot name a folder; it was left untouched", candidate, act)
	}
	seen := map[string]bool{}
	pids := map[int]bool{}
	for _, p := range t.Panes {
		switch {
		case !herdr.PaneID(p.ID):
			return actuators.Refused("%s: %q is not a pane's id of herdr's such as %s:p4; it was left untouched", candidate, p.ID, t.Workspace)
		case p.Terminal == "" || seen[p.Terminal] || seen[p.ID]:
			return actuators.Refused("%s: the terminal of pane %s is not known; it was left untouched", candidate, p.ID)
		case p.PID == 0 || p.StartTicks == 0 || pids[p.PID] || !slices.Contains(p.Members, p.PID):
			return actuators.Refused("%s: what runs in pane %s is not known; it was left untouched", candidate, p.ID)
		}
		seen[p.Terminal], seen[p.ID], pids[p.PID] = true, true, true
		for _, pid := range p.Members {
			if pid <= 1 {
				return actuators.Refused("%s: pane %s lists pid %d, which is never signalled; it was left untouched", candidate, p.ID, pid)
			}
		}
	}
	return nil
}

// plan is every name and place that an act uses. It stands in the intent, and as manifest.json beside the saved text.
type plan struct {
	Act       string    `json:"act"`
	Socket    string    `json:"socket"`
	ServerPID int       `json:"server_pid"`
	Tab       string    `json:"tab"`
	Workspace string    `json:"workspace"`
	Label     string    `json:"label"`
	Folder    string    `json:"folder"`
	Panes     []planned `json:"panes"`
}

// planned is a pane: where its text is saved, in which folder it was, and the processes that are held.
type planned struct {
	ID       string         `json:"id"`
	Terminal string         `json:"terminal"`
	File     string         `json:"file"`
	Cwd      string         `json:"cwd,omitempty"`
	Members  []panes.Member `json:"members,omitempty"`
}

// lockPause is how often a lock that another program holds is tried again.
const lockPause = 10 * time.Millisecond

// lock takes the lock of those who close tabs. The kernel lets go of it when the file is closed, also when this process is
// killed; processes that it starts do not inherit it.
func (a *Actuator) lock(ctx context.Context) (*os.File, error) {
	if a.Lock == "" {
		return nil, actuators.Refused("no lock file is set, and without one two programs could close a workspace's last two tabs")
	}
	if err := os.MkdirAll(filepath.Dir(a.Lock), 0o700); err != nil {
		return nil, actuators.Refused("make the folder of the lock on closing tabs: %w; nothing was touched", err)
	}
	deadline := time.Now().Add(a.LockWait)
	for {
		f, err := tryLock(a.Lock)
		switch {
		case err == nil:
			return f, nil
		case !errors.Is(err, unix.EWOULDBLOCK):
			return nil, actuators.Refused("take the lock on closing tabs: %w; nothing was touched", err)
		case ctx.Err() != nil:
			return nil, actuators.Refused("wait for the lock on closing tabs %s: %w; nothing was touched", a.Lock, context.Cause(ctx))
		case !time.Now().Before(deadline):
			return nil, actuators.Refused("another program is closing a tab; it holds the lock %s, and nothing was touched: the next sweep tries again", a.Lock)
		}
		time.Sleep(lockPause)
	}
}

// tryLock wraps EWOULDBLOCK where another program has the lock, or where the file was replaced meanwhile: a lock on a file that
// lost its name keeps no program out.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil {
		err = leadsTo(f, path)
	}
	if err != nil {
		return nil, errors.Join(&os.PathError{Op: "lock", Path: path, Err: err}, f.Close())
	}
	return f, nil
}

// leadsTo checks that path still leads to f.
func leadsTo(f *os.File, path string) error {
	is, err := f.Stat()
	if err != nil {
		return err
	}
	if !is.Mode().IsRegular() {
		return errors.New("it is no regular file")
	}
	if now, err := os.Lstat(path); err != nil || !os.SameFile(is, now) {
		return unix.EWOULDBLOCK
	}
	return nil
}
