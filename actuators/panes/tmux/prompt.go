package tmux

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"time"

	"winnow/actuators"
	"winnow/actuators/panes"
	"winnow/engine/decision"
)

// prompt is a pane whose shell waits for input. What is sent to it would run, and be a program that nobody judged.
type prompt struct {
	pane  string
	shell *panes.Held
	// turns are how often the shell had run when it was looked at first.
	turns uint64
}

// restsFor is how long a pane that waits at a prompt must have shown nothing, and a session with a client have had no key, before it
// is killed: tmux counts in whole seconds, so that within the same one nothing more would be seen.
const restsFor = 2 * time.Second

// comparable are the names of programs that can stand in a condition.
var comparable = regexp.MustCompile(`^[A-Za-z0-9_.+:@/~-]{0,200}$`)

// takePrompts looks which panes wait at a prompt, and that nothing was started in them since they were judged.
func (g *grasp) takePrompts(ctx context.Context) error {
	for _, p := range g.seen.panes {
		if !comparable.MatchString(p.command) {
			return actuators.Refused("session %s (%s) runs a program in pane %s whose name cannot be compared; it was left untouched", g.id.ID, g.id.Name, p.id)
		}
	}
	if err := g.findPrompts(); err != nil {
		return err
	}
	if len(g.prompts) == 0 {
		return nil
	}
	if err := g.rest(ctx); err != nil {
		return err
	}
	for _, p := range g.prompts {
		var err error
		if p.turns, err = panes.Turns(p.shell); err != nil {
			return g.shellOver(p, err)
		}
	}
	return g.strangers()
}

func (g *grasp) findPrompts() error {
	for _, j := range g.id.Panes {
		h := g.first(j)
		if h == nil || !slices.Contains(g.Shells, h.Was.Comm) {
			continue
		}
		alone := !slices.ContainsFunc(j.Members, func(pid int) bool { return pid != j.PID })
		switch {
		case g.waits(h, h.Was):
			g.prompts = append(g.prompts, &prompt{pane: j.ID, shell: h})
		case alone && h.Was.Foreground != h.PID:
			return actuators.Changed("something was started in pane %s of session %s (%s) since it was judged; the session was left untouched", j.ID, g.id.ID, g.id.Name)
		}
	}
	return nil
}

// first is the held first process of a pane, nil for a dead one.
func (g *grasp) first(p decision.Pane) *panes.Held {
	for _, h := range g.members {
		if h.PID == p.PID {
			return h
		}
	}
	return nil
}

// waits reports whether a shell is in front of its terminal and none of what was judged is in front with it: what runs a script
// shares its group with the programs that it runs, and what waits at a prompt with nobody.
func (g *grasp) waits(h *panes.Held, s panes.Stat) bool {
	return s.TTY != 0 && s.Group == h.PID && s.Foreground == h.PID && !slices.ContainsFunc(g.members, func(o *panes.Held) bool {
		return o != h && o.Was.Group == h.PID
	})
}

// atPrompts reports whether every pane that has a process waits at a prompt.
func (g *grasp) atPrompts() bool {
	living := 0
	for _, p := range g.id.Panes {
		if p.PID != 0 {
			living++
		}
	}
	return living > 0 && len(g.prompts) == living
}

// rest waits until the panes at prompts have shown nothing, and no key has come, for long enough that whatever comes next is seen.
func (g *grasp) rest(ctx context.Context) error {
	for range 2 {
		last := int64(0)
		note := func(seconds string) {
			n, _ := strconv.ParseInt(seconds, 10, 64)
			last = max(last, n)
		}
		if g.seen.attachedAll != "0" {
			note(g.seen.activity)
		}
		for _, v := range g.seen.panes {
			if slices.ContainsFunc(g.prompts, func(p *prompt) bool { return p.pane == v.id }) {
				note(v.activity)
			}
		}
		wait := time.Until(time.Unix(last, 0).Add(g.rests))
		if wait <= 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(wait, g.rests)):
		}
		v, err := g.client.look(ctx, g.id.ID)
		if err != nil {
			return err
		}
		if err := g.same(v); err != nil {
			return err
		}
		g.seen = v
	}
	return actuators.Changed("session %s (%s) was used within the last second; it was left untouched", g.id.ID, g.id.Name)
}

// strangers refuses where a shell at a prompt has a process that was not judged: one that it started, and any of its session where it
// was judged alone. What other programs of the pane start is theirs.
func (g *grasp) strangers() error {
	all, err := panes.Scan(g.ProcRoot)
	if err != nil {
		return actuators.Refused("session %s (%s): %w; it was left untouched", g.id.ID, g.id.Name, err)
	}
	for pid, s := range all {
		for _, j := range g.id.Panes {
			judged := pid == j.PID || slices.Contains(j.Members, pid)
			if j.PID == 0 || s.Session != j.PID || judged || !slices.ContainsFunc(g.prompts, func(p *prompt) bool { return p.pane == j.ID }) {
				continue
			}
			if s.Parent == j.PID || len(j.Members) == 0 || slices.Equal(j.Members, []int{j.PID}) {
				return actuators.Changed("pid %d (%s) was started in pane %s of session %s (%s) since it was judged; the session was left untouched",
					pid, s.Comm, j.ID, g.id.ID, g.id.Name)
			}
		}
	}
	return nil
}

// still is the last look before the server tests and kills: nothing has been opened over the session since it was held, and each shell at a prompt is in front of its terminal, sleeps, has not run
// since it was looked at, and nothing waits in its terminal to be read. That it has not run proves that it started nothing.
func (g *grasp) still() error {
	if err := g.popless(); err != nil {
		return err
	}
	changed := func(p *prompt, what string) error {
		return actuators.Changed("the shell of pane %s of session %s (%s), pid %d, %s; the session was left untouched", p.pane, g.id.ID, g.id.Name, p.shell.PID, what)
	}
	for _, p := range g.prompts {
		// In this order: a shell that is woken before the first reading still runs then, or has slept again before the second.
		s, err := p.shell.Stat()
		if err != nil {
			return g.shellOver(p, err)
		}
		turns, err := panes.Turns(p.shell)
		if err != nil {
			return g.shellOver(p, err)
		}
		typed, err := panes.Typed(p.shell)
		if err != nil {
			return g.shellOver(p, err)
		}
		switch {
		case !g.waits(p.shell, s) || s.Session != p.shell.PID:
			return changed(p, "is not in front of its terminal any more")
		case s.State != 'S':
			return changed(p, "does not wait for input")
		case turns != p.turns:
			return changed(p, "has run since it was looked at: a key was pressed, or its prompt refreshes itself")
		case typed > 0:
			return changed(p, "was sent something that it has not read yet")
		}
	}
	return nil
}

func (g *grasp) shellOver(p *prompt, err error) error {
	if errors.Is(err, panes.ErrEnded) {
		return actuators.Changed("the shell of pane %s of session %s (%s), pid %d, ended; the session was left untouched", p.pane, g.id.ID, g.id.Name, p.shell.PID)
	}
	return actuators.Refused("session %s (%s), pid %d: %w; it was left untouched", g.id.ID, g.id.Name, p.shell.PID, err)
}
