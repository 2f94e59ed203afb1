package tmux

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	procact "github.com/winnow-reaper/winnow/internal/sys/proc/act"
	wire "github.com/winnow-reaper/winnow/internal/sys/tmux"
)

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
			return actuators.Changed("the tmux server started pid %d (%s), which may be a new pane of session %s or a popup over it, since that was judged; the session was left untouched",
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
