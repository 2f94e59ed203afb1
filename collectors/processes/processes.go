// Package processes reads /proc: every process that this user can see. Who uses a folder is for holders, and the machine for host, below it.
//
// It reads through descriptors that pin a process, so that all facts of one record belong to one process even where its number
// is given away in between, and it changes nothing. Everything hangs off a root folder: a fixture laid out like /proc works.
package processes

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// Options says what to read.
type Options struct {
	// Root is where procfs is mounted.
	Root string
	// Markers are the environment variables that are kept of this user's processes; no other is. None leaves environments
	// unread.
	Markers []string
	// Panes are those of Markers that say which pane a process is in: who carries no other was not marked by an agent.
	Panes []string
	// Interpreters are the names of programs that run other programs, a * at the end for any rest. Of this user's own processes of
	// such a file the program that they run is read, where Markers are.
	Interpreters []string
	// AgentPackages are the packages of known agents: what is or uses one is no server. Browsers are the names of browsers, a * at the end for any rest.
	AgentPackages, Browsers []string
	// Opaque are the names (comm) of this user's processes that hide what they have open on purpose.
	Opaque []string
	// Servers are the names (comm) of the servers of multiplexers, a * at the end for any rest.
	Servers []string
	// Shells are the names of shells: for those it is read whether they are interactive. An empty list leaves that unread.
	Shells []string
	// Daemons are what agents' vendors run for all of their agents together.
	Daemons []Daemon
	// WithArgv keeps the command lines.
	WithArgv bool
	// All reads all of this user's processes in full, and Classes those of these classes (Marked, CwdDeleted, InputEnded, BelowAgent) with their descendants.
	// They are what the rules that judge can be about: of a process that was read in part nothing tells whether it is the same one at
	// a later look.
	All     bool
	Classes []string
	// Remembered are the start ticks of the processes that earlier looks saw below agents, by pid.
	Remembered map[int]uint64
	// Only, when not empty, reads these processes and their descendants in full and all others in part.
	Only []int
	// Peers searches for who speaks with a process, also where the look is about all and it is known that some process does.
	Peers bool
	// Table takes what is read, for Holders in the same look; it may be nil.
	Table *Table
	// Log may be nil.
	Log hclog.Logger
}

// The classes of processes: those that carry one of Options.Markers besides Options.Panes, those whose working directory was proc.Deleted, what an interpreter runs and nothing can
// write to any more, and Options.Remembered.
const (
	Marked     = "marked"
	CwdDeleted = "cwd_deleted"
	InputEnded = "input_ended"
	BelowAgent = "below_agent"
)

// New is the reader of one /proc. Its Part holds the processes by snapshot.ProcessID.
//
// In brief is what stat, the working directory, the owner, the executable and the markers say, what an interpreter runs, and whether a shell is interactive. In
// full adds the digest of the command line, the pidfs inode and where it listens. The last is read of all that are marked and of what is below them too, also
// where no rule is about those: rules judge panes by it. Where /proc hides the processes of others, the part is partial and the error
// wraps collectors.ErrPermission: that a process was not seen proves nothing then.
func New(o Options) collectors.Reader {
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	return reader{o}
}

type reader struct {
	Options
}

func (r reader) Read(ctx context.Context) (collectors.Part, error) {
	root, err := host.Open(r.Root)
	if err != nil {
		return collectors.Part{}, err
	}
	defer root.Close()
	s := newScan(root, r.Options)
	for _, read := range []func(context.Context) error{s.all, s.descend, s.peers} {
		if err := read(ctx); err != nil {
			return collectors.Part{}, err
		}
	}
	s.settle(ctx)
	s.meet()
	r.Table.keep(s.found)
	part := collectors.Part{Processes: make(map[string]*snapshot.Process, len(s.found)), Unreadable: s.unreadable}
	for _, r := range s.found {
		part.Processes[snapshot.ProcessID(r.PID, r.StartTicks)] = &r.Process
	}
	err = root.CheckVisible()
	if len(s.failed) > 0 { // they are there, and have no place in the part
		err = errors.Join(err, fmt.Errorf("read %s: the stat of %d processes could not be read, of %d first: %w: look at it by hand",
			root.Path, len(s.failed), s.failed[0].pid, s.failed[0].err))
	}
	part.Partial = err != nil
	return part, err
}

// Table is what one look has read of all processes, for what else that look asks of them. It is empty until the processes were read. A nil Table knows
// nothing.
type Table struct {
	mu    sync.Mutex
	found []*record
	byPID map[int]*record
}

// keep takes over what was found.
func (t *Table) keep(found []*record) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.found, t.byPID = found, nil
}

// Lookup is what is known of the process with pid whose folder has that inode and which was started from exe, without its parents, times and numbers. It is
// false for another process, and for one that may have changed what it runs. The kernel gives the folder of a process an inode for as long as it has
// it in memory, from a counter of all its inodes without a file system below them (proc_pid_make_inode, get_next_ino): the same inode is the same
// process, and one that was forgotten meanwhile has another.
func (t *Table) Lookup(pid int, inode uint64, exe *string) (proc.Stat, bool) {
	if t == nil {
		return proc.Stat{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byPID == nil {
		t.byPID = make(map[int]*record, len(t.found))
		for _, r := range t.found {
			t.byPID[r.PID] = r
		}
	}
	r := t.byPID[pid]
	if r == nil || r.inode == 0 || uint64(r.inode) != inode || r.State == "X" || r.State == "Z" ||
		!r.IsKernel() && (exe == nil || !sameText(r.Exe, exe)) {
		return proc.Stat{}, false
	}
	return proc.Stat{PID: pid, Comm: r.Name, State: r.State[0], Threads: *r.Threads, Kernel: r.IsKernel()}, true
}

// shared has one place for all equal values that many processes have in common. Records point to it, and nothing is changed there.
type shared struct {
	numbers   map[int]*int
	terminals map[int]*string
	flags     [2]*bool
	// unmarked is what a process without markers has.
	unmarked *map[string]string
	// taking is whether orphans are handed to processes, by pid, as far as was asked.
	taking map[int]bool
}

func newShared() shared {
	return shared{
		numbers: map[int]*int{}, terminals: map[int]*string{}, flags: [2]*bool{new(false), new(true)},
		unmarked: &map[string]string{}, taking: map[int]bool{},
	}
}

func (s *shared) number(n int) *int {
	at, ok := s.numbers[n]
	if !ok {
		at = new(n)
		s.numbers[n] = at
	}
	return at
}

func (s *shared) flag(v bool) *bool {
	if v {
		return s.flags[1]
	}
	return s.flags[0]
}

// terminal is the name of a terminal by its device number.
func (s *shared) terminal(device int) *string {
	at, ok := s.terminals[device]
	if !ok {
		at = new(proc.Terminal(device))
		s.terminals[device] = at
	}
	return at
}
