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

	"github.com/hashicorp/go-hclog"

	"winnow/actuators"
	wire "winnow/internal/tmux"
)

// Options says how sessions are ended.
type Options struct {
	// Trash is the folder under which each act saves scrollback, in a folder of its own (0700) that has the act's id for name.
	Trash string
	// TermGrace is how long a process that survived the hang-up has to end after TERM before it is killed.
	TermGrace time.Duration
	// Tmux is the program; empty is tmux, looked up in PATH.
	Tmux string
	// ProcRoot is where procfs is mounted; empty is /proc. Signals need the procfs of this process's own pid namespace.
	ProcRoot string
	// Self are this process and its ancestors. A session that any of them runs in is refused.
	Self []int
	// OrphanParents, Multiplexers and Never are processes by pid or name (a * at the end is any rest). A session that has one
	// of them in a pane is refused.
	OrphanParents []int
	Multiplexers  []string
	Never         []string
	// Shells are the names of programs that wait for input at a prompt.
	Shells []string
	// Step, when set, is called with a step's name before it is taken.
	Step func(string)
	// Log may be nil.
	Log hclog.Logger
}

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
	never actuators.NeverProcess
	log   hclog.Logger
	// within is answerWithin, rests restsFor, and looking is called right before the last look at the shells; for tests.
	within  time.Duration
	rests   time.Duration
	looking func()
}

var (
	_ actuators.Actuator = (*Actuator)(nil)
	_ actuators.Restorer = (*Actuator)(nil)
)

// New gives the actuator of sessions.
func New(o Options) *Actuator {
	o.Tmux, o.ProcRoot = cmp.Or(o.Tmux, "tmux"), cmp.Or(o.ProcRoot, "/proc")
	a := &Actuator{Options: o, log: o.Log, within: answerWithin, rests: restsFor, looking: func() {}, never: actuators.NeverProcess{UID: os.Geteuid(), Self: o.Self,
		OrphanParents: o.OrphanParents, Multiplexers: o.Multiplexers, Names: o.Never}}
	if a.log == nil {
		a.log = hclog.NewNullLogger()
	}
	return a
}

func (a *Actuator) step(name string) {
	if a.Step != nil {
		a.Step(name)
	}
}

// answerWithin is how long a server may take to answer one command: a stopped one never does.
const answerWithin = 10 * time.Second

func (a *Actuator) server(socket string) wire.Server {
	return wire.Server{Program: a.Tmux, Socket: socket, Within: a.within}
}
