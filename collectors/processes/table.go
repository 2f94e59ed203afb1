package processes

import (
	"sync"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

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
}

func newShared() shared {
	return shared{
		numbers: map[int]*int{}, terminals: map[int]*string{}, flags: [2]*bool{new(false), new(true)},
		unmarked: &map[string]string{},
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
