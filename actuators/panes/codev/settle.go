package codev

import (
	"context"
	"fmt"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
)

// Settle implements actuators.Actuator. It looks, and closes and signals nothing: what is still there is for the next sweep to decide on.
func (a *Actuator) Settle(ctx context.Context, in decision.Intent) decision.Outcome {
	id := in.Identity.Terminal
	if err := admissible(in.Candidate, id); err != nil {
		return actuators.OutcomeOf(fmt.Errorf("how the act went is not known: %w", err))
	}
	lives, ended := a.lives(ctx, id.Process)
	if lives == nil {
		return ended
	}
	listed, err := a.lists(ctx, id)
	out := decision.Outcome{Outcome: decision.Failed, Freed: ended.Freed}
	switch {
	case err != nil:
		out.Open = *lives
		out.Detail = fmt.Sprintf("%s: cut short, and whether the Tower lists it is not known: %v; %s; the next sweep looks again", who(id), err, process(id, *lives))
	case listed:
		out.Detail = fmt.Sprintf("%s: interrupted before it was closed: the Tower lists it; %s; the next sweep decides again", who(id), process(id, *lives))
	case *lives:
		out.Detail = fmt.Sprintf("%s: interrupted before its process was ended: the Tower does not list it; %s, and may have been asked to end; the next sweep decides again",
			who(id), process(id, true))
	case ended.Outcome == decision.Gone:
		out.Outcome, out.Detail = decision.Gone, fmt.Sprintf("%s is gone; it was seen before this boot", who(id))
	default:
		out.Outcome, out.Detail = decision.Done, fmt.Sprintf("%s is gone; settled after an interruption", who(id))
	}
	return out
}

// process says in what state a terminal's process is.
func process(id *decision.Terminal, lives bool) string {
	switch {
	case id.Process == nil:
		return "it has no process"
	case lives:
		return fmt.Sprintf("its process (pid %d) still runs", id.Process.PID)
	}
	return fmt.Sprintf("its process (pid %d) has ended", id.Process.PID)
}

// lives finds out whether a terminal's process is still there, by its identity. Nil is not known; the outcome then says so, and else how
// the process ended.
func (a *Actuator) lives(ctx context.Context, p *decision.Process) (*bool, decision.Outcome) {
	if p == nil {
		return new(false), decision.Outcome{}
	}
	out := a.processes.Settle(ctx, decision.Intent{Identity: decision.Identity{Process: p}})
	switch out.Outcome {
	case decision.Done, decision.Gone:
		return new(false), out
	}
	if out.Open {
		return nil, out
	}
	return new(true), decision.Outcome{}
}

// lists reports whether the Tower lists a terminal, or a process that it listed none for.
func (a *Actuator) lists(ctx context.Context, id *decision.Terminal) (bool, error) {
	g := &handle{Actuator: a, id: *id}
	g.id.Process = nil // it is found out elsewhere whether that lives
	if err := g.take(ctx); err != nil {
		return false, err
	}
	all, err := g.tower.Terminals(ctx)
	if err != nil {
		return false, err
	}
	for i := range all {
		if all[i].ID == id.ID || nameless(id) && all[i].Process() == id.Process.PID {
			return true, nil
		}
	}
	return false, nil
}
