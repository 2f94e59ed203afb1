// Package processes ends processes: one at a time with what is below it, each held by its /proc directory from the look at it to the signal, so that
// the number cannot be given to another process unnoticed.
package processes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"winnow/actuators"
	"winnow/actuators/panes"
	"winnow/engine/decision"
)

// Options says which processes are never signalled, and how much time they get.
type Options struct {
	// ProcRoot is where the procfs of this process's own pid namespace is mounted; empty is /proc.
	ProcRoot string
	// TermGrace is how long a process has to end by itself before it is killed.
	TermGrace time.Duration
	// Self are this process and its ancestors; those that procfs shows count besides. OrphanParents inherit orphans.
	Self          []int
	OrphanParents []int
	// Multiplexers and Never are names (comm) of processes that are never signalled. A * at the end stands for any rest.
	Multiplexers []string
	Never        []string
	// UID is the user whose processes may be signalled.
	UID int
	// Step, when set, is told the name of each step right before it is taken.
	Step func(string)
	Log  hclog.Logger
}

// Actuator ends processes. It is an actuators.Actuator.
type Actuator struct{ o Options }

// New makes an Actuator.
func New(o Options) *Actuator {
	if o.ProcRoot == "" {
		o.ProcRoot = "/proc"
	}
	if o.Step == nil {
		o.Step = func(string) {}
	}
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	return &Actuator{o: o}
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

// grasp is one process held, with those below it that were judged with it.
type grasp struct {
	*Actuator
	pin   *pin
	want  decision.Process
	below []*panes.Held
}

// Hold takes hold of the process and compares it with the identity that was decided on.
func (a *Actuator) Hold(_ context.Context, _ string, d decision.Decision) (actuators.Held, error) {
	if d.Identity.Process == nil {
		return nil, actuators.Refused("%s has no identity of a process; it was left untouched", d.ID)
	}
	want := *d.Identity.Process
	if err := a.place(want); err != nil {
		return nil, err
	}
	p, err := openPin(a.o.ProcRoot, want.PID)
	if err != nil {
		return nil, err
	}
	g := &grasp{Actuator: a, pin: p, want: want}
	if err := g.check(want); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	if err := g.holdBelow(d.Identity.Below); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// place makes sure that the identity is from this boot and this pid namespace, and that ProcRoot shows the latter.
func (a *Actuator) place(want decision.Process) error {
	boot, err := bootID(a.o.ProcRoot)
	if err != nil {
		return actuators.Refused("pid %d: %w; it was left untouched", want.PID, err)
	}
	if want.BootID != boot {
		return actuators.Gone("pid %d was seen before this boot, so it has ended", want.PID)
	}
	self, err := os.Readlink(filepath.Join(a.o.ProcRoot, "self"))
	if err != nil || self != strconv.Itoa(os.Getpid()) {
		return actuators.Refused("%s does not show this process's own pid namespace, so pid %d cannot be told from others there; it was left untouched",
			a.o.ProcRoot, want.PID)
	}
	st, err := os.Stat(filepath.Join(a.o.ProcRoot, "self/ns/pid"))
	if err != nil {
		return actuators.Refused("read the pid namespace: %w; pid %d was left untouched", err, want.PID)
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); !ok || sys.Ino != want.PIDNamespace {
		return actuators.Refused("pid %d was seen in another pid namespace; it was left untouched", want.PID)
	}
	return nil
}

// check reads everything again through the held directory: that it is the process that is wanted, and that it may be signalled.
func (g *grasp) check(want decision.Process) error {
	f, err := g.pin.read()
	if err != nil {
		return err
	}
	if err := f.compare(want); err != nil {
		return err
	}
	never, err := g.never()
	if err != nil {
		return err
	}
	return never.Check(want.PID, f.uid, f.stat.comm, f.stat.kernel())
}

// never is what is not signalled, whatever was decided.
func (g *grasp) never() (actuators.NeverProcess, error) {
	self, err := actuators.Lineage(g.o.ProcRoot, os.Getpid())
	if err != nil {
		return actuators.NeverProcess{}, actuators.Refused("find out what Winnow runs under: %w; pid %d was left untouched", err, g.want.PID)
	}
	return actuators.NeverProcess{
		UID: g.o.UID, Self: append(self, g.o.Self...), OrphanParents: g.o.OrphanParents,
		Multiplexers: g.o.Multiplexers, Names: g.o.Never,
	}, nil
}

// Plan names the process and its grace.
func (g *grasp) Plan() json.RawMessage {
	p := plan{PID: g.want.PID, StartTicks: g.want.StartTicks, Inode: g.want.Inode, TermGrace: g.o.TermGrace.Seconds()}
	for _, h := range g.below {
		p.Below = append(p.Below, panes.Member{PID: h.PID, StartTicks: h.Was.Start})
	}
	text, err := json.Marshal(p)
	if err != nil { // numbers always marshal
		return nil
	}
	return text
}

// Close lets go of the process and of those below it.
func (g *grasp) Close() error {
	for _, h := range g.below {
		h.Close()
	}
	g.below = nil
	return g.pin.close()
}

// Settle looks whether the process is still there. It signals nothing: what still runs is for the next sweep to decide on.
func (a *Actuator) Settle(_ context.Context, in decision.Intent) decision.Outcome {
	want := in.Identity.Process
	if want == nil {
		return decision.Outcome{Outcome: decision.Failed, Detail: "the intent names no process; nothing was done"}
	}
	boot, err := bootID(a.o.ProcRoot)
	if err != nil {
		return decision.Outcome{Outcome: decision.Failed, Open: true, Detail: fmt.Sprintf("cut short; find out how it went: %v", err)}
	}
	done := decision.Outcome{Outcome: decision.Done, Freed: decision.Freed{RSS: want.RSS},
		Detail: fmt.Sprintf("cut short, and pid %d (%s) has ended", want.PID, want.Name)}
	if boot != want.BootID {
		done.Outcome, done.Freed = decision.Gone, decision.Freed{}
		return done
	}
	p, err := openPin(a.o.ProcRoot, want.PID)
	if errors.Is(err, actuators.ErrGone) {
		return done
	}
	if err != nil {
		return decision.Outcome{Outcome: decision.Failed, Open: true, Detail: "cut short; find out how it went: " + err.Error()}
	}
	defer p.close()
	st, err := p.stat()
	switch {
	case errors.Is(err, actuators.ErrGone):
		return done
	case err != nil:
		return decision.Outcome{Outcome: decision.Failed, Open: true, Detail: "cut short; find out how it went: " + err.Error()}
	case st.start != want.StartTicks || want.Inode != 0 && p.inode != 0 && p.inode != want.Inode:
		done.Detail += "; its number is another process's now"
		return done
	}
	return decision.Outcome{Outcome: decision.Failed,
		Detail: fmt.Sprintf("cut short: pid %d (%s) still runs, and may have been asked to end; the next sweep decides on it afresh", want.PID, want.Name)}
}

// bootID is the id of this boot.
func bootID(procRoot string) (string, error) {
	text, err := os.ReadFile(filepath.Join(procRoot, "sys/kernel/random/boot_id"))
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Save implements actuators.Held.
func (g *grasp) Save(context.Context) error { return nil }
