// Package codev closes Codev terminals that were judged, and ends shellpers that no Tower lists.
//
// Whether a terminal may go is judged elsewhere. Here it is made sure that it is still exactly what was judged: the process that is held, and
// the Tower's own words of it. What a Tower lists, that Tower closes. Only a process that it does not list, or no longer lists, is ended here,
// by the identity that was held all the while. Success is what the Tower's list and the process table show afterwards, never an answer.
// Nothing is set aside: what a terminal showed stays in Codev's own logs/<id>.log in the state folder, so that there is nothing to restore.
package codev

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/processes"
	"github.com/winnow-reaper/winnow/engine/decision"
)

// Options says how terminals are closed: with Timeout, and Env for CODEV_TOWER_KEY and others, which is os.Getenv if nil.
type Options = actuators.Options

// The steps of an act, as Options.Step gets them. StepClose is taken at every try; StepTerm and StepKill only where a process has to be
// ended besides.
const (
	StepClose    = "terminal.close"
	StepReadBack = "terminal.read_back"
	StepTerm     = "terminal.term"
	StepKill     = "terminal.kill"
)

// Actuator closes terminals.
type Actuator struct {
	Options
	// processes knows what makes a process the same, and which are never signalled.
	processes *processes.Actuator
}

var _ actuators.Batcher = (*Actuator)(nil)

// New gives the actuator of terminals.
func New(o Options) *Actuator {
	o = o.WithDefaults()
	o.Timeout = cmp.Or(o.Timeout, 5*time.Second)
	if o.Env == nil {
		o.Env = os.Getenv
	}
	return &Actuator{Options: o, processes: processes.New(Options{ProcRoot: o.ProcRoot, Never: o.Never, Log: o.Log})}
}

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
