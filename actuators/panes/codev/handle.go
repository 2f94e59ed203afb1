package codev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/peercred"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	procact "github.com/winnow-reaper/winnow/internal/sys/proc/act"
	"github.com/winnow-reaper/winnow/internal/sys/tower"
)

// handle is one terminal held: its shellper by an open descriptor, and the client of its Tower.
type handle struct {
	*Actuator
	actuators.PlanText
	id    decision.Terminal
	tower *tower.Client
	// shellper is nil where the terminal has none any more.
	shellper *procact.Held
	// family is what ends with a shellper that no Tower closes; users are the others that were at work in its terminal by then.
	family []*procact.Held
	users  []int
	// ours is true where the shellper is positively one of this state folder.
	ours bool
}

// plan is what an act will use. The key to the Tower is not in it.
type plan struct {
	Tower  string `json:"tower"`
	Folder string `json:"folder"`
	ID     string `json:"id"`
	// Close is true where the Tower is asked to close the terminal, false where its process is ended.
	Close      bool   `json:"close"`
	PID        int    `json:"pid,omitempty"`
	StartTicks uint64 `json:"start_ticks,omitempty"`
	// Below is what lives below that process and is ended with it.
	Below []panes.Member `json:"below,omitempty"`
	// Timeout and TermGrace are in seconds.
	Timeout   float64 `json:"timeout"`
	TermGrace float64 `json:"term_grace"`
}

// Batch implements actuators.Batcher. Terminals that the Tower closes are taken together, where no two have one process. The end of one that no Tower
// lists takes its time, and what the Tower says of it names others.
func (a *Actuator) Batch(ds []decision.Decision) int {
	return actuators.Disjoint(ds, func(d decision.Decision) (pids []int, ok bool) {
		id := d.Identity.Terminal
		if ok = id != nil && id.Listed; ok && id.Process != nil {
			pids = []int{id.Process.PID}
		}
		return pids, ok
	})
}

// Hold implements actuators.Actuator. It holds the process before anything is judged again: what is judged is then true of what is held.
func (a *Actuator) Hold(ctx context.Context, act string, d decision.Decision) (actuators.Held, error) {
	id := d.Identity.Terminal
	if err := admissible(d.ID, id); err != nil {
		return nil, err
	}
	g := &handle{Actuator: a, id: *id}
	if err := g.take(ctx); err != nil {
		g.Close()
		return nil, g.untouched(err)
	}
	p := plan{Tower: g.tower.Base, Folder: id.Folder, ID: id.ID, Close: id.Listed, Timeout: a.Timeout.Seconds(), TermGrace: a.TermGrace.Seconds()}
	if id.Process != nil {
		p.PID, p.StartTicks = id.Process.PID, id.Process.StartTicks
	}
	for _, h := range g.family {
		p.Below = append(p.Below, panes.Member{PID: h.PID, StartTicks: h.Was.Start})
	}
	var err error
	if g.PlanText, err = json.Marshal(p); err != nil {
		g.Close()
		return nil, fmt.Errorf("%s: write the plan: %w", g.who(), err)
	}
	return g, nil
}

// admissible refuses what does not identify a terminal.
func admissible(candidate string, id *decision.Terminal) error {
	if id == nil {
		return actuators.Refused("%s has no identity of a terminal; it was left untouched", candidate)
	}
	who := who(id)
	switch {
	case !filepath.IsAbs(id.Folder):
		return actuators.Refused("%s: its state folder is not known; it was left untouched", who)
	case !nameless(id) && !tower.ID.MatchString(id.ID):
		return actuators.Refused("%s does not have an id of Codev's; it was left untouched", who)
	case id.Process != nil && id.Process.PID <= 1:
		return actuators.Refused("%s has pid %d for its process, which is never signalled; it was left untouched", who, id.Process.PID)
	case id.Process == nil && !id.Listed:
		return actuators.Refused("%s has no process that is known, and its Tower does not list it; it was left untouched", who)
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
	case nameless(id) && id.Role == "":
		return "shellper " + strconv.Quote(id.ID) + ", which no Tower lists"
	case id.Role == "":
		return "terminal " + strconv.Quote(id.ID)
	}
	return fmt.Sprintf("terminal %q (%s of %s)", id.ID, id.RoleKind, id.Role)
}

func (g *handle) who() string { return who(&g.id) }

// untouched says that nothing was done to the terminal because of err.
func (g *handle) untouched(err error) error {
	switch {
	case errors.Is(err, actuators.ErrGone):
		return fmt.Errorf("%s: %w", g.who(), err)
	case errors.Is(err, actuators.ErrRefused) || errors.Is(err, actuators.ErrChanged):
		return fmt.Errorf("%s: %w; it was left untouched", g.who(), err)
	}
	return fmt.Errorf("%s: %w; it was left untouched, and the next sweep tries again", g.who(), err)
}

func (g *handle) take(ctx context.Context) error {
	base, err := tower.Base(g.id.Tower)
	if err != nil {
		return actuators.Refused("%w", err)
	}
	key, _, err := tower.Key(g.id.Folder, g.Env("CODEV_TOWER_KEY"))
	if errors.Is(err, tower.ErrKeyFile) {
		return actuators.Refused("%w", err)
	} else if err != nil {
		return err
	}
	g.tower = tower.New(base, key, g.Timeout)
	if g.id.Process == nil {
		return nil
	}
	g.shellper, err = procact.Hold(g.ProcRoot, g.id.Process.PID)
	if errors.Is(err, proc.ErrEnded) {
		return nil
	} else if err != nil {
		return err
	}
	if over, err := g.identity(ctx); over || err != nil {
		return err
	}
	if !g.id.Listed {
		return g.hold()
	}
	argv, err := g.shellper.Read("cmdline")
	rows, _ := tower.ReadRecords(ctx, filepath.Join(g.id.Folder, tower.StoreFile)) // without them the usual folder of sockets counts
	if err == nil {
		command := tower.ParseCommand(argv)
		owns := tower.NewCodev(g.id.Folder, rows, g.Env, g.Env("HOME")).Owns(&command)
		g.ours = owns != nil && *owns
	}
	return nil
}

// unchanged makes sure that the terminal is exactly what was judged, and changes nothing: the process that is held, and state, the Tower's words.
// ErrGone says that the Tower does not list it and that its process has ended.
func (g *handle) unchanged(ctx context.Context, state string) error {
	over, err := g.identity(ctx)
	if err != nil {
		return err
	}
	all, err := g.tower.Terminals(ctx)
	switch {
	case peercred.Refused(err):
		return actuators.Refused("%w", err)
	case err != nil:
		return err
	}
	listed := slices.ContainsFunc(all, func(e tower.Entry) bool { return e.ID == g.id.ID })
	switch now := tower.State(all, g.id.ID, g.pid()); {
	case g.id.Listed && !listed && over:
		return actuators.Gone("the Tower no longer lists it")
	case g.id.Listed && !listed:
		return actuators.Changed("the Tower no longer lists it, and its process (pid %d) still runs", g.pid())
	case state == "" || now != state:
		return actuators.Changed("the Tower says now of it %s, and said %s when it was judged", now, state)
	case g.id.Process == nil:
		return g.processless(all)
	case over && g.id.Listed:
		return actuators.Changed("its process (pid %d) has ended, and the Tower still lists it; the next sweep looks at it as it is now", g.pid())
	case over:
		return actuators.Gone("its process (pid %d) has ended", g.id.Process.PID)
	case g.id.Listed:
		return nil
	}
	return g.checkFamily()
}

// pid is that of the shellper, 0 where it has no process.
func (g *handle) pid() int {
	if g.id.Process == nil {
		return 0
	}
	return g.id.Process.PID
}

// identity makes sure that what is held is the process that was judged. over says that it has no process, or that the process has ended.
func (g *handle) identity(ctx context.Context) (over bool, err error) {
	if g.shellper == nil {
		return true, nil
	}
	p, err := g.processes.Hold(ctx, "", decision.Decision{ID: g.who(), Identity: decision.Identity{Process: g.id.Process}})
	if err == nil {
		err = p.Close()
	}
	switch {
	// While it runs, the number is its own. A process that ends gives up its program first, and then its number.
	case g.shellper.Ended() || errors.Is(err, proc.ErrEnded) && g.waits(ctx, procact.KilledWithin):
		return true, nil
	case errors.Is(err, actuators.ErrGone):
		return false, actuators.Changed("pid %d is another process now", g.pid())
	}
	return false, err
}

// processless makes sure that a terminal without a process still has no process: when it is closed, the Tower ends the process
// that has the number by then.
func (g *handle) processless(all []tower.Entry) error {
	for i := range all {
		if pid := all[i].Process(); all[i].ID == g.id.ID && pid > 0 && !g.vacant(pid) {
			return actuators.Changed("the Tower has pid %d for it, which is a process again: closing the terminal could end it; restart the Tower, which forgets the terminal then", pid)
		}
	}
	return nil
}

// vacant reports whether it is known that no process has that number.
func (a *Actuator) vacant(pid int) bool {
	h, err := procact.Hold(a.ProcRoot, pid)
	if err == nil {
		h.Close()
	}
	return errors.Is(err, proc.ErrEnded)
}

// Close implements actuators.Held.
func (g *handle) Close() error {
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
func (g *handle) Save(context.Context) error { return nil }

// hangUpWithin is how long what lives below a shellper has to end from losing its terminal, or from what the shellper tells it.
const hangUpWithin = 2 * time.Second

// hold takes hold of what lives below the shellper, and notes who else is at work in its terminal, before it is judged for the last time.
func (g *handle) hold() error {
	all, err := proc.Scan(g.ProcRoot)
	if err != nil {
		return actuators.Refused("find out what lives below pid %d: %w", g.pid(), err)
	}
	for _, pid := range descendants(all, g.pid()) {
		h, err := procact.Hold(g.ProcRoot, pid)
		if proc.Ended(err) {
			continue
		} else if err != nil {
			return actuators.Refused("hold what lives below pid %d: %w", g.pid(), err)
		}
		g.family = append(g.family, h)
	}
	users, err := tower.Users(g.ProcRoot, g.pid())
	if err != nil {
		return actuators.Refused("%w", err)
	}
	g.users = users[g.pid()]
	return nil
}

// descendants lists what a process started, as the look that is judged does: its children, the members of the sessions and groups that it or one
// of those leads, and so on.
func descendants(all map[int]proc.Stat, root int) []int {
	sub := map[int][]int{}
	for pid, s := range all {
		for _, above := range []int{s.Parent, s.Session, s.Group} {
			if above != pid {
				sub[above] = append(sub[above], pid)
			}
		}
	}
	return proc.Descendants(sub, root)
}

// checkFamily makes sure that nothing lives below the shellper, or is at work in its terminal, that was not there when it was judged, and that none
// of them is on the never-list.
func (g *handle) checkFamily() error {
	all, err := proc.Scan(g.ProcRoot)
	if err != nil {
		return actuators.Refused("find out what lives below pid %d: %w", g.pid(), err)
	}
	held := map[int]*procact.Held{}
	for _, h := range g.family {
		held[h.PID] = h
	}
	for _, pid := range descendants(all, g.pid()) {
		h := held[pid]
		if h == nil || h.Was.Start != all[pid].Start {
			return actuators.Changed("pid %d has begun to live below pid %d", pid, g.pid())
		}
		if err := h.Allowed(g.Never, all[pid]); err != nil {
			return err
		}
	}
	users, err := tower.Users(g.ProcRoot, g.pid())
	if err != nil {
		return actuators.Refused("%w", err)
	}
	for _, pid := range users[g.pid()] {
		if held[pid] == nil && !slices.Contains(g.users, pid) {
			return actuators.Changed("pid %d has begun to use the terminal that pid %d keeps open", pid, g.pid())
		}
	}
	return nil
}

// bury ends what lived below the shellper and outlives it, and adds to the outcome what came of it.
func (g *handle) bury(ctx context.Context, out *decision.Outcome) {
	switch {
	case len(g.family) == 0:
		return
	case ctx.Err() != nil:
		out.Detail += "; the sweep was interrupted, and what lived below it was left untouched: " + panes.Count(len(g.family), "process", "processes")
		return
	}
	rest := panes.Burial{
		Who: g.who(), By: "shellper", Within: hangUpWithin, TermGrace: g.TermGrace, Never: g.Never, Step: g.Step, Term: StepTerm,
		Kill: StepKill, Log: g.Log,
	}.Bury(context.WithoutCancel(ctx), g.family)
	out.Detail += "; " + rest.Detail
	out.Freed.RSS += rest.Freed.RSS
}
