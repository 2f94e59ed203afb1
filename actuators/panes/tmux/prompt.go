package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	procact "github.com/winnow-reaper/winnow/internal/sys/proc/act"
	wire "github.com/winnow-reaper/winnow/internal/sys/tmux"
)

// shell is a pane whose first process is a shell. What is sent to one that waits for input would run, and be a program that was not judged.
type shell struct {
	pane string
	held *procact.Held
	// front is true where it waited at its prompt when it was held; turns are how often it had run then.
	front bool
	turns uint64
}

// restsFor is how long a session whose panes wait at prompts must have shown nothing, and one with a client have had no key, before it
// is killed: tmux counts in whole seconds, so that within the same one nothing more would be seen.
const restsFor = 2 * time.Second

// takeShells looks which panes wait at a prompt, and how often their shells have run.
func (g *handle) takeShells(ctx context.Context) error {
	for _, j := range g.id.Panes {
		i := slices.IndexFunc(g.members, func(h *procact.Held) bool { return h.PID == j.PID })
		if i < 0 { // a dead one has no process
			continue
		}
		if h := g.members[i]; slices.Contains(g.Shells, h.Was.Comm) {
			g.shells = append(g.shells, &shell{pane: j.ID, held: h, front: g.waits(h, h.Was)})
		}
	}
	if slices.ContainsFunc(g.shells, func(s *shell) bool { return s.front }) {
		if err := g.waitQuiet(ctx); err != nil {
			return err
		}
	}
	for _, s := range g.shells {
		var err error
		if s.turns, err = s.held.Turns(); err != nil {
			return g.ended(s, err)
		}
	}
	return nil
}

// waits reports whether a shell is in front of its terminal, without another judged process: a shell that runs a script shares
// its group with the programs that it runs, and a shell that waits at a prompt is alone in its group. One that has ended, or got a group of its own
// since it was held, shares nothing: a shell starts each job in its own group, for a moment.
func (g *handle) waits(h *procact.Held, s proc.Stat) bool {
	return s.TTY != 0 && s.Group == h.PID && s.Foreground == h.PID && !slices.ContainsFunc(g.members, func(o *procact.Held) bool {
		if o == h || o.Was.Group != h.PID {
			return false
		}
		now, err := o.Stat()
		return err == nil && now.Group == h.PID && now.State != 'Z' || err != nil && !errors.Is(err, proc.ErrEnded)
	})
}

// atPrompts reports whether every pane that has a process waited at a prompt.
func (g *handle) atPrompts() bool {
	living, front := 0, 0
	for _, p := range g.id.Panes {
		if p.PID != 0 {
			living++
		}
	}
	for _, s := range g.shells {
		if s.front {
			front++
		}
	}
	return living > 0 && front == living
}

// clients counts who shows the session.
func (g *handle) clients() (n int) {
	for _, c := range g.seen.Clients {
		if c.Session == g.id.ID {
			n++
		}
	}
	return n
}

// used is when the session was last used, as far as that is compared right before the kill.
func (g *handle) used() (last time.Time) {
	if g.clients() > 0 {
		last = g.seen.Session(g.id.ID).Activity
	}
	for _, p := range g.seen.Panes {
		if p.Session == g.id.ID && !p.Dead && g.atPrompts() && p.Activity.After(last) {
			last = p.Activity
		}
	}
	return last
}

// waitQuiet waits until nothing was shown, and no key has come, for long enough to see what comes next.
func (g *handle) waitQuiet(ctx context.Context) error {
	for range 2 {
		wait := time.Until(g.used().Add(g.rests))
		if wait <= 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(wait, g.rests)):
		}
		var err error
		if g.seen, err = g.server.List(ctx, g.id.ID); err != nil {
			return fmt.Errorf("look at session %s: %w", g.who(), err)
		}
		if err := g.checkIdentity(g.seen); err != nil {
			return err
		}
	}
	return actuators.Changed("session %s was used within the last second; it was left untouched", g.who())
}

// unchanged is the last look before the server tests and kills: nothing was opened over the session since it was held, and each shell at a prompt
// is in front of its terminal, sleeps, has not run since it was held, and nothing waits in its terminal to be read. That it has not run proves
// that it started nothing. A shell that was not at its prompt when it was held, and is now, has run or is about to: what it waited for has ended.
func (g *handle) unchanged() error {
	if err := g.popless(); err != nil {
		return err
	}
	for _, p := range g.shells {
		changed := func(what string) error {
			return actuators.Changed("the shell of pane %s of session %s, pid %d, %s; the session was left untouched", p.pane, g.who(), p.held.PID, what)
		}
		// In this order: a shell that is woken before the first reading still runs then, or has slept again before the second.
		s, err := p.held.Stat()
		if err != nil {
			return g.ended(p, err)
		}
		waits := g.waits(p.held, s) && s.Session == p.held.PID
		switch {
		case !waits && !p.front:
			continue
		case !p.front:
			return changed("came back to its prompt since it was looked at")
		}
		turns, err := p.held.Turns()
		if err != nil {
			return g.ended(p, err)
		}
		typed, err := p.held.Typed()
		if err != nil {
			return g.ended(p, err)
		}
		switch {
		case !waits:
			return changed("is no longer in front of its terminal")
		case s.State != 'S':
			return changed("does not wait for input")
		case turns != p.turns:
			return changed("has run since it was looked at: a key was pressed, or its prompt refreshes itself")
		case typed > 0:
			return changed("was sent something that it has not read yet")
		}
	}
	return nil
}

// ended is err, met on the way to a shell.
func (g *handle) ended(p *shell, err error) error {
	if errors.Is(err, proc.ErrEnded) {
		return actuators.Changed("the shell of pane %s of session %s, pid %d, ended; the session was left untouched", p.pane, g.who(), p.held.PID)
	}
	return actuators.Refused("session %s, pid %d: %w; it was left untouched", g.who(), p.held.PID, err)
}

// No format and no hook of tmux's tells of a popup (as of 3.7c), so that the server cannot test for one itself. One that is opened with a
// key shows in the session's activity, which it does test. Of one that a program opens (display-popup), the server's children tell: those
// that it had when the session was held were judged afterwards, and those that are new are looked at last of all. What is left is a popup
// that a program opens between that look and the server's test.

// children lists what the server has started and what is still there, sorted.
func (g *handle) children() ([]int, error) {
	pid := strconv.Itoa(g.host.PID)
	text, err := g.host.Read("task/" + pid + "/children") // a server has one thread
	var found []int
	for word := range bytes.FieldsSeq(text) {
		if child, bad := strconv.Atoi(string(word)); bad == nil {
			found = append(found, child)
		}
	}
	if err != nil { // a kernel without that file
		all, err := proc.Scan(g.ProcRoot)
		if err != nil {
			return nil, actuators.Refused("session %s: %w; it was left untouched", g.who(), err)
		}
		for child, s := range all {
			if s.Parent == g.host.PID {
				found = append(found, child)
			}
		}
	}
	slices.Sort(found)
	return found, nil
}

// popless makes sure that nothing which may be a popup over the session was opened since it was held.
func (g *handle) popless() error {
	now, err := g.children()
	if err != nil {
		return err
	}
	for _, pid := range now {
		if slices.Contains(g.beside, pid) {
			continue
		}
		switch name, may, err := g.popup(pid); {
		case err != nil:
			return actuators.Refused("session %s: %w; it was left untouched", g.who(), err)
		case may:
			return actuators.Changed("the tmux server started pid %d (%s), which may be a new pane of session %s or a popup over it. The session was left untouched",
				pid, name, g.who())
		}
	}
	return nil
}

// popup reports whether a child of the server's may be a popup that ends with the session. One without a terminal is not a popup, unless it is
// still the server's own image. One that was started for another session ends with this one only where a client shows this one.
func (g *handle) popup(pid int) (name string, may bool, err error) {
	h, err := procact.Hold(g.ProcRoot, pid)
	if errors.Is(err, proc.ErrEnded) {
		return "", false, nil
	} else if err != nil {
		return "", false, err
	}
	defer h.Close()
	switch {
	case h.Was.Comm == g.host.Was.Comm:
		return h.Was.Comm, true, nil
	case h.Was.TTY == 0:
		return "", false, nil
	case g.clients() > 0:
		return h.Was.Comm, true, nil
	}
	environ, err := h.Read("environ")
	if errors.Is(err, proc.ErrEnded) {
		return "", false, nil
	} else if err != nil {
		return "", false, fmt.Errorf("read which session pid %d (%s) was started for: %w", pid, h.Was.Comm, err)
	}
	session, known := startedFor(environ, g.host.PID)
	return h.Was.Comm, !known || session == g.id.ID, nil
}

// startedFor is the session that a server started a process with that environment for.
func startedFor(environ []byte, server int) (session string, known bool) {
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte("TMUX=")); ok {
			return wire.StartedFor(string(value), server)
		}
	}
	return "", false
}
