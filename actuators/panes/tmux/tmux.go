// Package tmux ends one tmux session that was judged.
//
// The scrollback is saved first. The server itself then tests, in the one command that kills, that the session is still the
// one that was held: no client can attach and no pane can start again between the test and the kill. What survives the hang-up
// is ended by the identity that was held all the while. Success is what the server and the process table show afterwards.
package tmux

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
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
	panes.Base
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
	return &Actuator{Base: panes.Base{Options: o}, within: answerWithin, rests: restsFor, looking: func() {}}
}

// answerWithin is how long a server may take to answer one command: a stopped one never does.
const answerWithin = 10 * time.Second

func (a *Actuator) server(socket string) wire.Server {
	return wire.Server{Program: a.Tmux, Socket: socket, Within: a.within}
}

// Settle implements actuators.Actuator. A session counts as gone only where its server has ended or no longer lists it.
// Processes that outlived the hang-up are left to later sweeps: nothing has held them since, so their numbers may be others'.
func (a *Actuator) Settle(ctx context.Context, in decision.Intent) decision.Outcome {
	id := in.Identity.Session
	if err := admissible(in.ID, in.Candidate, id); err != nil {
		return actuators.OutcomeOf(fmt.Errorf("how the act on %s went is not known: %w", in.Candidate, err))
	}
	who := id.ID + " (" + id.Name + ")"
	there, err := a.exists(ctx, id)
	switch {
	case err != nil:
		return decision.Outcome{Outcome: decision.Failed, Open: true, RestoreUntil: a.KeptUntil(in),
			Detail: fmt.Sprintf("whether session %s is gone is unknown: %v; what was saved of it is kept, and the next sweep looks again", who, err)}
	case there:
		return a.Interrupted(ctx, in, decision.Failed,
			fmt.Sprintf("the act on session %s was interrupted before it was killed. Nothing was done; the next sweep decides again", who))
	}
	return decision.Outcome{Outcome: decision.Done, RestoreUntil: a.KeptUntil(in),
		Detail: fmt.Sprintf("session %s is gone; settled after an interruption. Processes that outlived it are left to the next sweep", who)}
}

// exists finds out whether the session is still there. Its server's process decides, not its socket: a socket that was removed
// or that another server took over says nothing of a server that lives.
func (a *Actuator) exists(ctx context.Context, id *decision.Session) (bool, error) {
	lives, err := proc.Alive(a.ProcRoot, id.ServerPID, id.ServerTicks)
	if err != nil || !lives {
		return false, err
	}
	server := a.server(id.Socket)
	if err := server.Reach(ctx); errors.Is(err, wire.ErrNoServer) {
		return false, fmt.Errorf("its server (pid %d) lives, and its socket %s is gone: send the server USR1, and tmux makes the socket again", id.ServerPID, id.Socket)
	} else if err != nil {
		return false, trusted(err)
	}
	l, err := server.List(ctx, "")
	switch {
	case err != nil:
		return false, err
	case l.PID != id.ServerPID:
		return false, fmt.Errorf("its server (pid %d) lives, and another one (pid %d) answers on its socket %s", id.ServerPID, l.PID, id.Socket)
	}
	s := l.Session(id.ID)
	return s != nil && s.Created.Equal(id.CreatedAt), nil
}
