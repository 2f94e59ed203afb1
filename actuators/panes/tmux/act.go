package tmux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	procact "github.com/winnow-reaper/winnow/internal/sys/proc/act"
	wire "github.com/winnow-reaper/winnow/internal/sys/tmux"
	change "github.com/winnow-reaper/winnow/internal/sys/tmux/act"
)

const (
	// settles is how long it takes at most until what was sent before the server marked inputs has reached the terminal and woken the shell.
	settles = 20 * time.Millisecond
	// hangUpWithin is how long the processes of a killed session have to end from the hang-up alone.
	hangUpWithin = time.Second
	// goneWithin is how long a server may take to show that the session is gone: one that lost its last session ends itself.
	goneWithin = 5 * time.Second
)

// Act implements actuators.Held. What the last judgement saw is compared with the server's answer when the session was held, and then by the
// server itself in the command that kills: so nothing has changed in all that time. Once the session is killed it goes on to the end although
// ctx ends.
func (g *handle) Act(ctx context.Context, in decision.Intent) decision.Outcome {
	g.Step(StepKill)
	state := ""
	if s := in.Identity.Session; s != nil {
		state = s.State
	}
	switch {
	case ctx.Err() != nil:
		return actuators.OutcomeOf(fmt.Errorf("session %s: %w; it was left untouched", g.who(), context.Cause(ctx)))
	case state == "":
		return actuators.OutcomeOf(actuators.Refused("what the server says of session %s cannot be tested in one command: too many panes, or a name of a program or client that cannot be compared. It was left untouched", g.who()))
	case g.seen.Detail.State != state:
		return actuators.OutcomeOf(g.differs(g.seen.Detail.State, state))
	}
	ctx = context.WithoutCancel(ctx)
	if err := g.kill(ctx, state); err != nil {
		return actuators.OutcomeOf(err)
	}
	g.undone = false
	g.Step(StepReadBack)
	left, err := g.readBack(ctx)
	if err != nil {
		out := actuators.OutcomeOf(fmt.Errorf("session %s was asked to end: %w; its scrollback stays in %s, and the next sweep looks again", g.who(), err, g.plan.Folder))
		out.RestoreUntil = g.KeptUntil(in)
		return out
	}
	out := panes.Burial{
		Who: "session " + g.who(), By: "hang-up",
		Within: hangUpWithin, TermGrace: g.TermGrace, Never: g.Never, Step: g.Step, Term: StepTerm, Kill: StepKillLeft,
		Spare: func(h *procact.Held) error {
			if slices.Contains(left, h.Was.Session) {
				return errors.New("another session shows its pane")
			}
			return nil
		},
		Log: g.Log.With("session", g.id.ID),
	}.Bury(ctx, g.members)
	out.Detail += fmt.Sprintf("; the scrollback of %s is saved", panes.Count(len(g.plan.Panes), "pane", "panes"))
	return out
}

// kill has the server test and kill in one command, right after the last look at the panes' shells. An error says that it did not
// kill, unless it is a failure of the connection: then that is not known, and the server is asked.
func (g *handle) kill(ctx context.Context, state string) error {
	untouched := func(err error) error { return fmt.Errorf("kill session %s: %w; it was left untouched", g.who(), err) }
	t, err := change.Arm(ctx, g.server, g.id.ID)
	if err != nil {
		if l, lost := g.server.List(ctx, g.id.ID); lost == nil {
			if changed := g.checkIdentity(l); changed != nil {
				return changed
			}
		}
		return untouched(err)
	}
	defer t.Close()
	time.Sleep(settles)
	g.looking()
	if err := g.unchanged(); err != nil {
		return err
	}
	outputs := ""
	if g.atPrompts() {
		outputs = g.seen.Detail.Outputs
	}
	a, err := t.Kill(state, outputs)
	if errors.Is(err, change.ErrNoStdin) {
		if err := g.unchanged(); err != nil {
			return err
		}
		a, err = t.KillPlain(ctx)
	}
	switch {
	case a.Agreed:
		return nil
	case a.Now != "":
		return g.differs(state, a.Now)
	}
	l, lost := g.server.List(ctx, g.id.ID)
	if lost != nil || l.PID != g.id.ServerPID || l.Session(g.id.ID) == nil {
		return nil // the read-back tells
	}
	if err == nil {
		err = errors.New("the server did not say whether it agrees")
	}
	return untouched(err)
}

// differs says in what two states differ.
func (g *handle) differs(before, now string) error {
	was, is := strings.Fields(before), strings.Fields(now)
	if len(is) < len(wire.StateFields) || !wire.IsSession(is[2]) {
		return actuators.Gone("session %s was gone when it was to be killed", g.who())
	}
	for i, name := range wire.StateFields {
		if i < len(was) && was[i] != is[i] {
			return actuators.Changed("session %s changed right before it was to be killed: %s; it was left untouched", g.who(), name)
		}
	}
	return actuators.Changed("session %s changed right before it was to be killed: its panes, what runs in them, or what they show; it was left untouched", g.who())
}

// readBack waits until the session is positively gone: its server has ended, or no longer lists it. It gives the first processes of the
// panes that the server still has.
func (g *handle) readBack(ctx context.Context) (left []int, err error) {
	deadline := time.Now().Add(goneWithin)
	for {
		if g.host.Ended() {
			return nil, nil
		}
		l, err := g.server.List(ctx, "")
		switch {
		case err == nil && l.PID == g.id.ServerPID && l.Session(g.id.ID) == nil:
			return l.Living(), nil
		case err == nil && l.PID == g.id.ServerPID:
			err = actuators.Disputed("the server still lists it")
		case err == nil:
			err = fmt.Errorf("another server (pid %d) answers on its socket, and its own is still there", l.PID)
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("whether it is gone is not known: %w", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
