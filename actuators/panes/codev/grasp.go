package codev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"winnow/actuators"
	"winnow/actuators/panes"
	"winnow/engine/decision"
)

// The words of decision.Terminal that decide what may be done.
const (
	builder  = "builder"
	dev      = "dev"
	shellper = "shellper"
	running  = "running"
	exited   = "exited"
)

// grasp is one terminal held: its shellper by an open descriptor, and the Tower that lists it or not.
type grasp struct {
	*Actuator
	id    decision.Terminal
	tower *client
	// shellper is nil where the terminal has none any more; family is what ends with it.
	shellper *held
	family   []*panes.Held
	text     json.RawMessage
}

// plan is what an act will use. The key to the Tower is not in it.
type plan struct {
	Tower  string `json:"tower"`
	Folder string `json:"folder"`
	ID     string `json:"id"`
	// Close is true where the Tower is told to close the terminal, false where its process is ended.
	Close      bool   `json:"close"`
	PID        int    `json:"pid,omitempty"`
	StartTicks uint64 `json:"start_ticks,omitempty"`
	// Below is what lives below that process and is ended with it.
	Below []panes.Member `json:"below,omitempty"`
	// Timeout and TermGrace are in seconds.
	Timeout   float64 `json:"timeout"`
	TermGrace float64 `json:"term_grace"`
}

// Hold implements actuators.Actuator. It holds the process first and asks the Tower then: what that says is true of what is held.
func (a *Actuator) Hold(ctx context.Context, act string, d decision.Decision) (actuators.Held, error) {
	id := d.Identity.Terminal
	if err := admissible(d.ID, id); err != nil {
		return nil, err
	}
	g := &grasp{Actuator: a, id: *id}
	if err := g.take(ctx); err != nil {
		g.Close()
		return nil, g.untouched(err)
	}
	p := plan{Tower: g.tower.base, Folder: id.Folder, ID: id.ID, Close: id.Listed, Timeout: a.Timeout.Seconds(), TermGrace: a.TermGrace.Seconds()}
	if id.Process != nil {
		p.PID, p.StartTicks = id.Process.PID, id.Process.StartTicks
	}
	for _, h := range g.family {
		p.Below = append(p.Below, panes.Member{PID: h.PID, StartTicks: h.Was.Start})
	}
	var err error
	if g.text, err = json.Marshal(p); err != nil {
		g.Close()
		return nil, fmt.Errorf("%s: write the plan: %w", g.who(), err)
	}
	return g, nil
}

// uuid is what Codev's ids look like: they go into a request's path.
var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// admissible refuses what is never closed, whatever the verdict: architects, shells that a person opened, and what is not known to be
// neither.
func admissible(candidate string, id *decision.Terminal) error {
	if id == nil {
		return actuators.Refused("%s has no identity of a terminal; it was left untouched", candidate)
	}
	who := who(id)
	switch {
	case id.RoleKind != builder && id.RoleKind != dev && id.RoleKind != shellper:
		return actuators.Refused("%s is of the kind %q, and only those of builders and what nobody knows are ever closed; it was left untouched", who, id.RoleKind)
	case !filepath.IsAbs(id.Folder):
		return actuators.Refused("%s: its state folder is not known; it was left untouched", who)
	case id.RoleKind == shellper && !nameless(id):
		return actuators.Refused("%s does not have the identity of a shellper that nobody knows; it was left untouched", who)
	case id.RoleKind != shellper && !nameless(id) && !uuid.MatchString(id.ID):
		return actuators.Refused("%s does not have an id of Codev's; it was left untouched", who)
	case id.Process != nil && id.Process.PID <= 1:
		return actuators.Refused("%s has pid %d for its process, which is never signalled; it was left untouched", who, id.Process.PID)
	case id.Process == nil && !(id.Listed && id.Status == exited):
		return actuators.Refused("%s has no process that is known, and is not listed as exited; it was left untouched", who)
	case id.Listed && id.Status != running && id.Status != exited:
		return actuators.Refused("%s: whether it is running or exited is not known; it was left untouched", who)
	}
	return nil
}

// nameless reports whether it is known by its process alone: no Tower lists it.
func nameless(id *decision.Terminal) bool {
	return !id.Listed && id.Process != nil && id.ID == "pid-"+strconv.Itoa(id.Process.PID)
}

// who names a terminal for a person.
func who(id *decision.Terminal) string {
	switch {
	case id.RoleKind == shellper:
		return "shellper " + strconv.Quote(id.ID) + ", which no Tower lists"
	case id.Role == "":
		return "terminal " + strconv.Quote(id.ID)
	}
	return fmt.Sprintf("terminal %q (%s of %s)", id.ID, id.RoleKind, id.Role)
}

func (g *grasp) who() string { return who(&g.id) }

// untouched says that nothing was done to the terminal because of err.
func (g *grasp) untouched(err error) error {
	switch {
	case errors.Is(err, actuators.ErrGone):
		return fmt.Errorf("%s: %w", g.who(), err)
	case errors.Is(err, actuators.ErrRefused) || errors.Is(err, actuators.ErrChanged):
		return fmt.Errorf("%s: %w; it was left untouched", g.who(), err)
	}
	return fmt.Errorf("%s: %w; it was left untouched, and the next sweep tries again", g.who(), err)
}

func (g *grasp) take(ctx context.Context) error {
	var err error
	if g.tower, err = g.Actuator.tower(g.id.Tower, g.id.Folder); err != nil {
		return err
	}
	if g.id.Process != nil {
		h, err := panes.Hold(g.ProcRoot, g.id.Process.PID)
		if err == nil {
			g.shellper = &held{h}
			if g.ends() {
				err = g.hold()
			}
			if err != nil {
				return err
			}
		} else if !errors.Is(err, panes.ErrEnded) {
			return err
		}
	}
	return g.check(ctx)
}

// check looks whether everything is as it was judged, and changes nothing. ErrGone says that the Tower does not list the terminal and that
// its process has ended.
func (g *grasp) check(ctx context.Context) error {
	over, err := g.identity(ctx)
	if err != nil {
		return err
	}
	all, err := g.list(ctx)
	if err != nil {
		return err
	}
	if !g.id.Listed {
		return g.checkUnlisted(all, over)
	}
	it, err := find(all, g.id.ID)
	switch {
	case err != nil:
		return err
	case it == nil && over:
		return actuators.Gone("the Tower does not list it any more")
	case it == nil:
		return actuators.Changed("the Tower does not list it any more, and its process (pid %d) still runs", g.id.Process.PID)
	case it.Status != g.id.Status:
		return actuators.Changed("the Tower says now that it is %s, and said %s before", state(it.Status), g.id.Status)
	}
	if err := g.ofThatKind(it); err != nil {
		return err
	}
	return g.sameProcess(it, over)
}

// identity makes sure that what is held is the process that was judged, and a shellper. over says that there is none, or none any more.
func (g *grasp) identity(ctx context.Context) (over bool, err error) {
	if g.shellper == nil {
		return true, nil
	}
	// What it is the same by, and what is never signalled, is known in one place.
	p, err := g.processes.Hold(ctx, "", decision.Decision{ID: g.who(), Identity: decision.Identity{Process: g.id.Process}})
	if err == nil {
		err = p.Close()
	}
	// As the one that is held still runs, the number was its own all along.
	if g.shellper.Over() {
		return true, nil
	}
	if errors.Is(err, actuators.ErrGone) {
		return false, actuators.Changed("pid %d is another process now", g.shellper.PID)
	} else if err != nil {
		return false, err
	}
	if err = g.shellper.isShellper(); errors.Is(err, actuators.ErrGone) {
		return true, nil
	}
	return false, err
}

// checkUnlisted holds a process that is to be ended as such against everything that would make it somebody's.
func (g *grasp) checkUnlisted(all []listed, over bool) error {
	for _, it := range all {
		if it.ID == g.id.ID || it.PID == g.id.Process.PID {
			return actuators.Changed("the Tower lists it now")
		}
	}
	if over {
		return g.processEnded()
	}
	m, err := g.shellper.isOwn(g.sockets(), g.id.Folder)
	if err == nil && m.architect && nameless(&g.id) {
		err = actuators.Refused("pid %d was started for an architect", g.shellper.PID)
	}
	if err != nil {
		return err
	}
	if g.ends() {
		return g.sameFamily()
	}
	return g.shellper.idle(g.ProcRoot)
}

// ofThatKind refuses a terminal whose label belongs to another kind than the one that it was judged as.
func (g *grasp) ofThatKind(it *listed) error {
	server := strings.HasPrefix(it.Label, "Dev: ")
	if server == (g.id.RoleKind == dev) && !strings.HasPrefix(it.Label, "Architect") && !strings.HasPrefix(it.Label, "Shell ") {
		return nil
	}
	return actuators.Refused("the Tower's label of it is not that of a %s's terminal", g.id.RoleKind)
}

// sameProcess makes sure that the process that the Tower would end is the one that is held.
func (g *grasp) sameProcess(it *listed, over bool) error {
	if g.id.Process == nil {
		if it.PID > 0 && !g.nobody(it.PID) {
			return actuators.Refused("the Tower has pid %d for it, which is no process of it: closing it could end that one. Restart the Tower, which forgets it then", it.PID)
		}
		return nil
	}
	switch {
	case it.PID != g.id.Process.PID:
		return actuators.Changed("its process is pid %d now, and was pid %d", it.PID, g.id.Process.PID)
	case over:
		return actuators.Changed("its process (pid %d) has ended, and the Tower still lists it; the next sweep looks at it as it is now", it.PID)
	}
	return nil
}

// nobody reports whether no process has that number, positively.
func (a *Actuator) nobody(pid int) bool {
	h, err := panes.Hold(a.ProcRoot, pid)
	if err == nil {
		h.Close()
	}
	return errors.Is(err, panes.ErrEnded)
}

// list asks the Tower which terminals it has.
func (g *grasp) list(ctx context.Context) ([]listed, error) {
	all, err := g.tower.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the Tower at %s: %w", g.tower.base, err)
	}
	return all, nil
}

// find gives the one terminal with that id, or nil.
func find(all []listed, id string) (*listed, error) {
	var it *listed
	for i := range all {
		if all[i].ID != id {
			continue
		}
		if it != nil {
			return nil, actuators.Refused("the Tower lists it twice")
		}
		it = &all[i]
	}
	return it, nil
}

// state is a status as the Tower says it, as far as it is one of its words.
func state(status string) string {
	if status == running || status == exited {
		return status
	}
	return "something else"
}

// Plan implements actuators.Held.
func (g *grasp) Plan() json.RawMessage { return g.text }

// Close implements actuators.Held.
func (g *grasp) Close() error {
	if g.shellper != nil {
		g.shellper.Close()
	}
	for _, h := range g.family {
		h.Close()
	}
	g.shellper, g.family = nil, nil
	return nil
}

// Save implements actuators.Held.
func (g *grasp) Save(context.Context) error { return nil }
