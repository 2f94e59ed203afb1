package processes

import (
	"bytes"
	"os"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// allSeeing reports whether this process may trace all others, so that nothing is hidden from it: it has the capability, and has it
// over all users and not only over those of a user namespace of its own.
func allSeeing() bool {
	users, err := os.ReadFile("/proc/self/uid_map")
	if err != nil || string(bytes.Join(bytes.Fields(users), []byte(" "))) != "0 0 4294967295" {
		return false
	}
	own, err := status("/proc", 0)
	return err == nil && own.CapEff&(1<<unix.CAP_SYS_PTRACE) != 0
}

// stronger reports whether process 1 is permitted capabilities that this process is not, for which the kernel does not
// show what it uses (ptrace(2), access mode checking).
func (r *root) stronger() bool {
	own, err := status("/proc", 0)
	if err != nil {
		return false
	}
	its, err := status(r.path, 1)
	return err == nil && its.CapPrm&^own.CapPrm != 0
}

// status reads the status of a process, or of this one for 0.
func status(root string, pid int) (procfs.ProcStatus, error) {
	fs, err := procfs.NewFS(root)
	if err != nil {
		return procfs.ProcStatus{}, err
	}
	p, err := fs.Self()
	if pid != 0 {
		p, err = fs.Proc(pid)
	}
	if err != nil {
		return procfs.ProcStatus{}, err
	}
	return p.NewStatus()
}
