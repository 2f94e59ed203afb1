// Package codev closes Codev terminals that were judged, and ends shellpers that no Tower lists.
//
// Whether a terminal may go is judged elsewhere. Here it is made sure that it is still exactly what was judged: the process that is held, and
// the Tower's own words of it. What a Tower lists, that Tower closes. Only a process that it does not list, or no longer lists, is ended here,
// by the identity that was held all the while. Success is what the Tower's list and the process table show afterwards, never an answer.
// Nothing is set aside: what a terminal showed stays in Codev's own logs/<id>.log in the state folder, so that there is nothing to restore.
package codev

import (
	"cmp"
	"os"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/processes"
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
