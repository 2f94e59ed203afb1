package tmux

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"winnow/actuators"
	"winnow/actuators/panes"
	"winnow/engine/decision"
)

const (
	// hangUpWithin is how long the processes of a killed session have to end from the hang-up alone.
	hangUpWithin = time.Second
	// goneWithin is how long a server may take to show that the session is gone: one that lost its last session ends itself.
	goneWithin = 5 * time.Second
	// maxCommand keeps the command below what one message to a server may hold (MAX_IMSGSIZE, 16 KiB).
	maxCommand = 14 << 10
)

// Act implements actuators.Held. Once the session is killed it goes on to the end although ctx ends.
func (g *grasp) Act(ctx context.Context, in decision.Intent) decision.Outcome {
	condition, shown := g.condition()
	if len(condition)+len(shown) > maxCommand {
		return actuators.OutcomeOf(actuators.Refused("session %s (%s) has %d panes, too many to test in one command; it was left untouched",
			g.id.ID, g.id.Name, len(g.seen.panes)))
	}
	g.step(StepSave)
	if err := g.save(ctx); errors.Is(err, errTooLong) {
		return actuators.OutcomeOf(actuators.Refused("session %s (%s): %w; it was left untouched: clear-history in that pane, or end it by hand", g.id.ID, g.id.Name, err))
	} else if err != nil {
		return actuators.OutcomeOf(fmt.Errorf("session %s (%s): %w; it was left untouched", g.id.ID, g.id.Name, err))
	}
	g.step(StepKill)
	if ctx.Err() != nil {
		return g.undo(fmt.Errorf("session %s (%s): %w; it was left untouched", g.id.ID, g.id.Name, context.Cause(ctx)))
	}
	ctx = context.WithoutCancel(ctx)
	if err := g.kill(ctx, condition, shown); err != nil {
		return g.undo(err)
	}
	g.step(StepReadBack)
	if err := g.readBack(ctx); err != nil {
		out := actuators.OutcomeOf(fmt.Errorf("session %s (%s) was told to end: %w; its scrollback stays in %s, and the next sweep looks again",
			g.id.ID, g.id.Name, err, g.plan.Folder))
		out.RestoreUntil = panes.KeptUntil(g.Trash, in)
		return out
	}
	out := g.bury(ctx)
	out.Detail += fmt.Sprintf("; the scrollback of %s is in %s", panes.Count(len(g.plan.Panes), "pane", "panes"), g.plan.Folder)
	return out
}

// bury ends the held processes that survived the hang-up.
func (g *grasp) bury(ctx context.Context) decision.Outcome {
	return panes.Burial{
		Who: fmt.Sprintf("session %s (%s) of the tmux server on %s", g.id.ID, g.id.Name, g.id.Socket), By: "hang-up",
		Within: hangUpWithin, TermGrace: g.TermGrace, Never: g.never, Step: g.step, Term: StepTerm, Kill: StepKillLeft,
		Log: g.log.With("session", g.id.ID),
	}.Bury(ctx, g.members)
}

// undo removes what was saved of a session that is still there.
func (g *grasp) undo(err error) decision.Outcome {
	if _, left := g.purge(&g.plan); left != nil {
		err = fmt.Errorf("%w; what was saved of it in %s could not be removed: %w", err, g.plan.Folder, left)
	}
	return actuators.OutcomeOf(err)
}

// state is what must not have changed between the grasp and the kill, as a format of tmux's. session_activity moves with every
// key that an attached client presses, and the mark with everything that is sent to a pane (trigger.go). What is compared holds no
// character that means anything to tmux but the commas.
const state = "#{pid} #{start_time} #{session_id} #{session_created} #{session_activity} #{session_grouped} #{session_attached} " +
	"[#{session_attached_list}] [#{" + mark + "}] #{W:#{P:#{pane_id}=#{pane_pid}=#{pane_dead}=#{window_linked}=#{pane_current_command} }}"

// outputs is added to state where every pane waits at a prompt, which shows nothing by itself: when each window last showed something.
const outputs = "#{W:#{window_activity} }"

func (g *grasp) state() string {
	if g.atPrompts() {
		return state + outputs
	}
	return state
}

// condition is true in the server while the session is what was held; shown prints what it is instead.
func (g *grasp) condition() (condition, shown string) {
	return "#{==:" + g.state() + "," + strings.ReplaceAll(g.expected(), ",", "#,") + "}",
		"display-message -p -t '" + g.id.ID + ":' 'now " + g.state() + "'"
}

// expected is the value that state must have.
func (g *grasp) expected() string {
	v := g.seen
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s %s %s %s %s %s [%s] [] ", v.serverPID, v.serverStart, v.id, v.created, v.activity, v.grouped, v.attachedAll, v.attachedTo)
	for _, p := range v.panes {
		dead := 0
		if p.dead {
			dead = 1
		}
		fmt.Fprintf(&b, "%s=%d=%d=0=%s ", p.id, p.pid, dead, p.command)
	}
	if g.atPrompts() {
		for i, p := range v.panes {
			if i == 0 || v.panes[i-1].window != p.window {
				b.WriteString(p.activity + " ")
			}
		}
	}
	return b.String()
}

const agreed = "agreed"

// kill has the server test and kill in one command, right after the last look at the panes' shells. An error says that it did not
// kill, unless it is a failure of the connection: then that is not known, and the server is asked.
func (g *grasp) kill(ctx context.Context, condition, shown string) error {
	who := g.id.ID + " (" + g.id.Name + ")"
	t, err := g.arm(ctx)
	if err != nil {
		if v, lost := g.client.look(ctx, g.id.ID); lost == nil {
			if changed := g.same(v); changed != nil {
				return changed
			}
		}
		return fmt.Errorf("kill session %s: %w; it was left untouched", who, err)
	}
	defer t.close()
	time.Sleep(settles)
	g.looking()
	if err := g.still(); err != nil {
		return err
	}
	out, err := t.fire("if-shell", "-F", "-t", g.id.ID+":", condition, "display-message -p "+agreed+" ; kill-session -t '"+g.id.ID+"'", shown)
	if errors.Is(err, errNoStdin) {
		if err := g.still(); err != nil {
			return err
		}
		out, err = t.plain(ctx)
	}
	said, _, _ := strings.Cut(out, "\n")
	if now, refused := strings.CutPrefix(said, "now "); refused {
		return g.differs(now, who)
	}
	if said == agreed {
		return nil // whatever the exit code: the last session takes the server, and this connection, with it
	}
	v, lost := g.client.look(ctx, g.id.ID)
	switch {
	case lost == nil && v.serverPID == g.id.ServerPID && v.id != "" && err != nil:
		return fmt.Errorf("kill session %s: %w; it was left untouched", who, err)
	case lost == nil && v.serverPID == g.id.ServerPID && v.id != "":
		return fmt.Errorf("kill session %s: the server did not say whether it agrees; it was left untouched", who)
	}
	return nil // the read-back tells
}

// differs says what the server found changed.
func (g *grasp) differs(now, who string) error {
	was, is := strings.Fields(g.expected()), strings.Fields(now)
	what := []string{"the server", "the server", "the session's id", "its creation", "its activity (somebody used it)", "its group",
		"who is attached", "who is attached", "something was sent to it"}
	if len(is) < len(what) || !sessionID.MatchString(is[2]) {
		return actuators.Gone("session %s was not there any more when it was to be killed", who)
	}
	for i, name := range what {
		if was[i] != is[i] {
			return actuators.Changed("session %s changed right before it was to be killed: %s; it was left untouched", who, name)
		}
	}
	return actuators.Changed("session %s changed right before it was to be killed: its panes, what runs in them, or what they show; it was left untouched", who)
}

// readBack waits until the session is positively gone: its server is over, or does not list it any more.
func (g *grasp) readBack(ctx context.Context) error {
	deadline := time.Now().Add(goneWithin)
	for {
		if g.server.Over() {
			return nil
		}
		v, err := g.client.look(ctx, g.id.ID)
		switch {
		case err == nil && v.serverPID == g.id.ServerPID && v.id == "":
			return nil
		case err == nil && v.serverPID == g.id.ServerPID:
			err = errors.New("the server still lists it")
		case err == nil:
			err = fmt.Errorf("another server (pid %d) answers on its socket, and its own is still there", v.serverPID)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("whether it is gone is not known: %w", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
