package proc

import (
	"bytes"
	"strconv"
	"strings"
)

// Lock is a line of /proc/locks, see proc_locks(5): a process and the file that it locked. PID is below 1 for a lock of an open file (OFD). File is
// major:minor:inode, the first two in hexadecimal.
type Lock struct {
	PID  int
	File string
}

// Inode is the inode of the file; false where the line does not say it.
func (l Lock) Inode() (uint64, bool) {
	n, err := strconv.ParseUint(l.File[strings.LastIndexByte(l.File, ':')+1:], 10, 64)
	return n, err == nil
}

// Locks reads the text of /proc/locks. A line for what waits for a lock has "->" in its second field, and counts too.
func Locks(text []byte) []Lock {
	var all []Lock
	for line := range bytes.Lines(text) {
		f := strings.Fields(string(line))
		if len(f) > 1 && f[1] == "->" {
			f = append(f[:1], f[2:]...)
		}
		if len(f) < 6 {
			continue
		}
		if pid, err := strconv.Atoi(f[4]); err == nil {
			all = append(all, Lock{pid, f[5]})
		}
	}
	return all
}
