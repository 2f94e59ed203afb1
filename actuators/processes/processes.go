// Package processes ends processes: each with what is below it, all held from the look at it to the signal, so that
// the number cannot be given to another process unnoticed. It judges nothing.
package processes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/sys/proc/act"
)

// Options says which processes are never signalled, besides the ancestors of this process that procfs shows, and how
// much time they get.
type Options = actuators.Options

// Actuator ends processes. It is an actuators.Together.
type Actuator struct{ o Options }

var _ actuators.Together = (*Actuator)(nil)

// New makes an Actuator.
func New(o Options) *Actuator {
	return &Actuator{o: o.WithDefaults()}
}

// plan is what an act on a process will use.
type plan struct {
	PID        int    `json:"pid"`
	StartTicks uint64 `json:"start_ticks"`
	Inode      uint64 `json:"inode,omitempty"`
	// TermGrace is in seconds.
	TermGrace float64 `json:"term_grace"`
	// Below are the processes below it that end with it.
	Below []panes.Member `json:"below,omitempty"`
}

// held is one process held, with those below it that were judged with it.
type held struct {
	*Actuator
	*act.Held
	want  decision.Process
	below []*act.Held
}

// Hold takes hold of the process and of those below it, and makes sure that they are the ones that were decided on and that they
// may be signalled at all.
func (a *Actuator) Hold(_ context.Context, _ string, d decision.Decision) (actuators.Held, error) {
	if d.Identity.Process == nil {
		return nil, actuators.Refused("%s has no identity of a process; it was left untouched", d.ID)
	}
	want := *d.Identity.Process
	if err := a.place(want); err != nil {
		return nil, err
	}
	p, err := act.Hold(a.o.ProcRoot, want.PID)
	if err != nil {
		return nil, lost(want, "take hold of it", err)
	}
	h := &held{Actuator: a, Held: p, want: want}
	same := want
	same.Cwd = "" // where it works is not part of its identity, and is judged again
	err = h.unchanged(same)
	if err == nil {
		err = h.holdBelow(d.Identity.Below)
	}
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// place makes sure that the identity is from this boot and this pid namespace, and that ProcRoot shows the latter.
func (a *Actuator) place(want decision.Process) error {
	if want.PID <= 1 {
		return actuators.Refused("pid %d is never signalled", want.PID)
	}
	boot, err := proc.BootID(a.o.ProcRoot)
	if err != nil {
		return actuators.Refused("pid %d: %w; it was left untouched", want.PID, err)
	}
	if want.BootID != boot {
		return actuators.Gone("pid %d was seen before this boot, so it has ended", want.PID)
	}
	self, err := os.Readlink(filepath.Join(a.o.ProcRoot, "self"))
	if err != nil || self != strconv.Itoa(os.Getpid()) {
		return actuators.Refused("%s does not show this process's own pid namespace, so pid %d may be another process. It was left untouched",
			a.o.ProcRoot, want.PID)
	}
	space, err := os.Readlink(filepath.Join(a.o.ProcRoot, "self/ns/pid"))
	if err != nil {
		return actuators.Refused("read the pid namespace: %w; pid %d was left untouched", err, want.PID)
	}
	if n := proc.Namespace(space); n == nil || *n != want.PIDNamespace {
		return actuators.Refused("pid %d was seen in another pid namespace; it was left untouched", want.PID)
	}
	return nil
}

// unchanged reads the process again and finds out whether it is the one that is wanted, and may be signalled. A fact that want does not
// know is not compared. It reads the state before and after all else: only what is read of a process that has not ended proves something.
func (h *held) unchanged(want decision.Process) error {
	never, err := h.never()
	if err != nil {
		return err
	}
	s, err := h.Stat()
	switch {
	case err != nil:
		return lost(want, "read its state", err)
	case s.Start != want.StartTicks || want.Inode != 0 && h.Inode != 0 && h.Inode != want.Inode:
		return actuators.Gone("pid %d (%s) has ended, and its number is another process's now, which was left untouched", want.PID, want.Name)
	case s.State == 'Z':
		return actuators.Refused("pid %d (%s): its first thread has ended, others run, so its program is unknown. It was left untouched",
			want.PID, want.Name)
	}
	uid, err := h.Owner()
	switch {
	case err != nil:
		return lost(want, "read its owner", err)
	case uid != want.UID:
		return changed(want, fmt.Sprintf("it belongs to user %d, and to user %d before", uid, want.UID))
	case s.Comm != want.Name:
		return changed(want, fmt.Sprintf("its name is %q now", s.Comm))
	}
	what := h.compare(want)
	if _, err := h.Stat(); err != nil {
		return lost(want, "read its state", err)
	}
	if what != nil {
		return what
	}
	return never.Check(want.PID, uid, s.Comm, s.Kernel)
}

// compare compares what only a user with the right to trace the process can read. A collector may leave out that a link's target is deleted.
func (h *held) compare(want decision.Process) error {
	for _, link := range []struct{ file, what, was string }{{"exe", "program", want.Exe}, {"cwd", "working directory", want.Cwd}} {
		if link.was == "" {
			continue
		}
		is, err := h.Link(link.file)
		switch {
		case err != nil:
			return actuators.Refused("pid %d (%s): read its %s: %w; it was left untouched", want.PID, want.Name, link.what, err)
		case is != link.was && is != link.was+" (deleted)":
			return changed(want, "its "+link.what+" is another")
		}
	}
	if want.ArgvDigest == "" {
		return nil
	}
	argv, err := h.Read("cmdline")
	switch {
	case err != nil:
		return actuators.Refused("pid %d (%s): read its command line: %w; it was left untouched", want.PID, want.Name, err)
	case proc.Digest(want.BootID, argv) != want.ArgvDigest:
		return changed(want, "its command line is another")
	}
	return nil
}

func changed(want decision.Process, how string) error {
	return actuators.Changed("pid %d (%s) changed: %s", want.PID, want.Name, how)
}

// lost says what an error on the way to a process means.
func lost(want decision.Process, step string, err error) error {
	if proc.Ended(err) {
		return actuators.Gone("pid %d (%s) has ended", want.PID, want.Name)
	}
	return actuators.Refused("pid %d (%s): %s: %w; it was left untouched", want.PID, want.Name, step, err)
}

// never is what is not signalled, for any decision.
func (h *held) never() (actuators.NeverProcess, error) {
	self, err := proc.Lineage(h.o.ProcRoot, os.Getpid())
	if err != nil {
		return actuators.NeverProcess{}, actuators.Refused("find out what Winnow runs under: %w; pid %d was left untouched", err, h.want.PID)
	}
	never := h.o.Never
	never.Self = append(self, never.Self...)
	return never, nil
}

// Plan names the process and its grace.
func (h *held) Plan() json.RawMessage {
	p := plan{PID: h.want.PID, StartTicks: h.want.StartTicks, Inode: h.want.Inode, TermGrace: h.o.TermGrace.Seconds()}
	for _, b := range h.below {
		p.Below = append(p.Below, panes.Member{PID: b.PID, StartTicks: b.Was.Start})
	}
	text, err := json.Marshal(p)
	if err != nil { // numbers always marshal
		return nil
	}
	return text
}

// Save implements actuators.Held: ending a process loses nothing that could be kept.
func (h *held) Save(context.Context) error { return nil }

// Close lets go of the process and of those below it.
func (h *held) Close() error {
	for _, b := range h.below {
		b.Close()
	}
	h.below = nil
	h.Held.Close()
	return nil
}

// Settle looks whether the process is still there. It signals nothing: what still runs is for the next sweep to decide on.
func (a *Actuator) Settle(_ context.Context, in decision.Intent) decision.Outcome {
	want := in.Identity.Process
	if want == nil {
		return decision.Outcome{Outcome: decision.Failed, Detail: "the intent names no process; nothing was done"}
	}
	boot, err := proc.BootID(a.o.ProcRoot)
	done := decision.Outcome{Outcome: decision.Done, Freed: decision.Freed{RSS: want.RSS},
		Detail: fmt.Sprintf("cut short, and pid %d (%s) has ended", want.PID, want.Name)}
	if err == nil && boot != want.BootID {
		done.Outcome, done.Freed = decision.Gone, decision.Freed{}
		return done
	}
	var h *proc.Held
	if err == nil {
		h, err = proc.Hold(a.o.ProcRoot, want.PID)
	}
	switch {
	case errors.Is(err, proc.ErrEnded):
		return done
	case err != nil:
		return decision.Outcome{Outcome: decision.Failed, Open: true, Detail: "cut short; find out how it went: " + err.Error()}
	}
	defer h.Close()
	if h.Was.Start != want.StartTicks || want.Inode != 0 && h.Inode != 0 && h.Inode != want.Inode {
		done.Detail += "; its number is another process's now"
		return done
	}
	return decision.Outcome{Outcome: decision.Failed,
		Detail: fmt.Sprintf("cut short: pid %d (%s) still runs, and may have been asked to end; the next sweep decides on it again", want.PID, want.Name)}
}
