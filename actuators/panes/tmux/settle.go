package tmux

import (
	"context"
	"errors"
	"fmt"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	wire "github.com/winnow-reaper/winnow/internal/sys/tmux"
)

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
		return decision.Outcome{Outcome: decision.Failed, Open: true, RestoreUntil: panes.KeptUntil(a.Trash, in),
			Detail: fmt.Sprintf("whether session %s is gone is unknown: %v; what was saved of it is kept, and the next sweep looks again", who, err)}
	case there:
		return panes.Interrupted(a.Trash, in, decision.Failed,
			fmt.Sprintf("the act on session %s was interrupted before it was killed; nothing was done, and the next sweep decides again", who))
	}
	return decision.Outcome{Outcome: decision.Done, RestoreUntil: panes.KeptUntil(a.Trash, in),
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
