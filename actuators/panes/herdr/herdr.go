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
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/internal/sys/herdr"
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
	Options
	// patience is answerWithin and settles is settlesWithin, but for tests.
	patience, settles time.Duration
}

var (
	_ actuators.Actuator = (*Actuator)(nil)
	_ actuators.Restorer = (*Actuator)(nil)
)

// New gives the actuator of tabs.
func New(o Options) *Actuator {
	return &Actuator{Options: o.WithDefaults(), patience: answerWithin, settles: settlesWithin}
}

// client asks the server that listens on socket now.
func (a *Actuator) client(socket string) *herdr.Client {
	return &herdr.Client{Socket: socket, UID: a.Never.UID, Patience: a.patience}
}
