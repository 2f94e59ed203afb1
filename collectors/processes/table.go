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
