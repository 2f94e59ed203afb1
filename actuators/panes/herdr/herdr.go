// Package herdr closes one herdr tab that was judged.
//
// herdr's protocol has no conditional close, no lease and no revision: between any look and the close another client, the
// person in front of it and the shells themselves can change everything. What can be done is done: right before the one tab.close
// everything is read once more that the last judgement rests on, in the order that puts the quickest reading last, and must be the
// very same. The world is read back afterwards. What is left is the time between the last answer of the server and its own handling
// of the close.
//
// # The lock
//
// Two programs that each see two tabs in a workspace may each close one, and from herdr 0.8.0 on the workspace goes with its
// last tab. Who closes tabs therefore holds an exclusive flock(2) on the file Options.Lock (0600, in a folder of 0700; it is
// never removed) from before its look until after its close. Another program takes part by doing the same; what is in the
// file means nothing.
package herdr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/herdr"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// Options says how tabs are closed: with Shells, Lock and LockWait besides what all have.
type Options = actuators.Options

// The steps of an act, in order, as Options.Step gets them.
const (
	StepSave     = "tab.save"
	StepCheck    = "tab.check"
	StepClose    = "tab.close"
	StepReadBack = "tab.read_back"
	StepTerm     = "tab.term"
	StepKillLeft = "tab.kill_left"
)

const (
	// answerWithin is how long a server may take for one answer. Ordinary calls have no time limit on the server's side.
	answerWithin = 10 * time.Second
	// settlesWithin is how long a server may take to show that a tab is gone. It handles one request after the other, and a close
	// whose answer was lost may have to wait for its turn.
	settlesWithin = 2 * time.Second
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

// New gives the actuator of tabs.
func New(o Options) *Actuator {
	return &Actuator{Base: panes.Base{Options: o.WithDefaults()}, patience: answerWithin, settles: settlesWithin}
}

// client asks the server that listens on socket now.
func (a *Actuator) client(socket string) *herdr.Client {
	return &herdr.Client{Socket: socket, UID: a.Never.UID, Patience: a.patience}
}

// Settle implements actuators.Actuator. A tab counts as gone only where a server no longer lists it, or lists others'
// terminals under its id, or where no server listens and its shells have ended. Processes that outlived the close are left to
// later sweeps: nothing has held them since, so their numbers may be others'.
func (a *Actuator) Settle(ctx context.Context, in decision.Intent) decision.Outcome {
	id := in.Identity.Tab
	if err := admissible(in.ID, in.Candidate, id); err != nil {
		return actuators.OutcomeOf(fmt.Errorf("how the act on %s went is not known: %w", in.Candidate, err))
	}
	w, err := a.whereabouts(ctx, id)
	if err != nil {
		return decision.Outcome{Outcome: decision.Failed, Open: true, RestoreUntil: a.KeptUntil(in),
			Detail: fmt.Sprintf("whether %s is gone is unknown: %v; what was saved of it is kept, and the next sweep looks again", called(id), err)}
	}
	switch w.where {
	case there:
		return a.Interrupted(ctx, in, decision.Failed,
			fmt.Sprintf("the act on %s was interrupted before it was closed. Nothing was done; the next sweep decides again", called(id)))
	case elsewhere:
		return a.Interrupted(ctx, in, decision.Changed,
			fmt.Sprintf("the act on %s was interrupted before it was closed; its panes moved to another tab. Nothing was done", called(id)))
	}
	return decision.Outcome{Outcome: decision.Done, RestoreUntil: a.KeptUntil(in),
		Detail: fmt.Sprintf("%s is gone; settled after an interruption. Processes that outlived it are left to the next sweep", called(id))}
}

// where is where a tab's panes are after an attempt to close it.
type where int

const (
	// gone: the tab is not listed any more.
	gone where = iota
	// there: it is, with a terminal or a shell that was judged.
	there
	// elsewhere: it is not, and every one of its terminals is in another tab.
	elsewhere
)

// whereabouts is what a look found of a tab that was to be closed.
type whereabouts struct {
	where where
	// moved are those of its terminals that another tab shows, by the pane.
	moved map[string]string
	// view is nil where no server listens.
	view *herdr.World
}

// whereabouts finds out what became of a tab, by looking, whichever server answers now. Under the same id a server that was
// handed over shows the same shells in terminals with new ids, and one that was started again other shells.
func (a *Actuator) whereabouts(ctx context.Context, t *decision.Tab) (*whereabouts, error) {
	v, err := a.client(t.Socket).Look(ctx)
	if errors.Is(err, herdr.ErrNoServer) {
		lives, err := a.shellLives(t)
		if err == nil && lives {
			err = fmt.Errorf("no server listens on %s, and its shells still run", t.Socket)
		}
		return &whereabouts{where: gone}, err
	}
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(v.Panes, func(p herdr.Pane) bool { return p.Terminal == "" }) {
		return nil, errors.New("the server does not say of every pane which terminal it shows")
	}
	w := &whereabouts{where: gone, moved: map[string]string{}, view: v}
	for _, p := range t.Panes {
		switch now := v.Terminal(p.Terminal); {
		case now == nil:
		case now.Tab == t.ID:
			w.where = there
		default:
			w.moved[p.Terminal] = now.ID
		}
	}
	switch {
	case w.where == there:
	case v.Tab(t.ID) != nil:
		lives, err := a.shellLives(t)
		if err != nil {
			return nil, err
		}
		if lives {
			w.where = there
		}
	case len(w.moved) == len(t.Panes):
		w.where = elsewhere
	}
	return w, nil
}

// shellLives reports whether the first process of any pane is there. Only a false without an error says that all are gone.
func (a *Actuator) shellLives(t *decision.Tab) (bool, error) {
	var unknown error
	for _, p := range t.Panes {
		lives, err := proc.Alive(a.ProcRoot, p.PID, p.StartTicks)
		if lives {
			return true, nil
		}
		unknown = errors.Join(unknown, err)
	}
	return false, unknown
}
