package herdr

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/herdr"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

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
		return decision.Outcome{Outcome: decision.Failed, Open: true, RestoreUntil: panes.KeptUntil(a.Trash, in),
			Detail: fmt.Sprintf("whether %s is gone is unknown: %v; what was saved of it is kept, and the next sweep looks again", called(id), err)}
	}
	switch w.where {
	case there:
		return panes.Interrupted(a.Trash, in, decision.Failed,
			fmt.Sprintf("the act on %s was interrupted before it was closed; nothing was done, and the next sweep decides again", called(id)))
	case elsewhere:
		return panes.Interrupted(a.Trash, in, decision.Changed,
			fmt.Sprintf("the act on %s was interrupted before it was closed, and its panes are in another tab now; nothing was done", called(id)))
	}
	return decision.Outcome{Outcome: decision.Done, RestoreUntil: panes.KeptUntil(a.Trash, in),
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
