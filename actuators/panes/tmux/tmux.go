// Package tmux ends one tmux session that was judged.
//
// The scrollback is saved first. The server itself then tests, in the one command that kills, that the session is still the
// one that was held: no client can attach and no pane can start again between the test and the kill. What survives the hang-up
// is ended by the identity that was held all the while. Success is what the server and the process table show afterwards.
package tmux

import (
	"cmp"
	"os"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	wire "github.com/winnow-reaper/winnow/internal/sys/tmux"
)

// Options says how sessions are ended: with Shells and Tmux besides what all have.
type Options = actuators.Options

// The steps of an act, in order, as Options.Step gets them.
const (
	StepSave     = "session.save"
	StepKill     = "session.kill"
	StepReadBack = "session.read_back"
	StepTerm     = "session.term"
	StepKillLeft = "session.kill_left"
)

// Actuator ends sessions, and brings their panes' scrollback back.
type Actuator struct {
	Options
	// within is answerWithin, rests restsFor, and looking is called right before the last look at the shells; for tests.
	within  time.Duration
	rests   time.Duration
	looking func()
}

var (
	_ actuators.Batcher  = (*Actuator)(nil)
	_ actuators.Restorer = (*Actuator)(nil)
)

// New gives the actuator of sessions.
func New(o Options) *Actuator {
	o = o.WithDefaults()
	o.Tmux, o.Never.UID = cmp.Or(o.Tmux, "tmux"), os.Geteuid()
	return &Actuator{Options: o, within: answerWithin, rests: restsFor, looking: func() {}}
}

// answerWithin is how long a server may take to answer one command: a stopped one never does.
const answerWithin = 10 * time.Second

func (a *Actuator) server(socket string) wire.Server {
	return wire.Server{Program: a.Tmux, Socket: socket, Within: a.within}
}
