package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/prometheus/procfs"
	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// CheckVisible says why processes of other users may be missing from what a root lists, nil where all are shown. A fixture hides nothing.
func (r *Root) CheckVisible() error {
	if !r.Procfs {
		return nil
	}
	how, err := hides(r)
	if err != nil {
		return fmt.Errorf("look for hidden processes in %s: %w: whether others' processes are shown is unknown", r.Path, err)
	}
	if how == "" {
		return nil
	}
	return fmt.Errorf("read %s: %w for other users' processes (%s), so a process that is not seen may still exist: run as a user that "+
		"may see them, or mount it with hidepid=0", r.Path, collectors.ErrPermission, how)
}

// hides names what keeps processes from this user's eyes, "" for nothing.
func hides(r *Root) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(r.FD, "1", &st, 0); errors.Is(err, unix.ENOENT) {
		return "process 1 is not shown", nil
	}
	all, err := proc.ReadMounts("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	m, ok := procMount(r, all)
	if !ok {
		return "", errors.New("its mount is not in /proc/self/mountinfo")
	}
	mode, group := hidepid(m.Options)
	if mode == "" || allSeeing() || mode != "ptraceable" && inGroup(group) {
		return "", nil
	}
	return "hidepid=" + mode, nil
}

// procMount finds the mount by its id, or by its place on kernels before 5.8, which do not tell ids.
func procMount(r *Root, all []proc.Mount) (proc.Mount, bool) {
	var st unix.Statx_t
	err := unix.Statx(r.FD, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st)
	byID := err == nil && st.Mask&unix.STATX_MNT_ID != 0
	for _, m := range slices.Backward(all) {
		if byID && uint64(m.ID) == st.Mnt_id || !byID && m.Point == r.Path {
			return m, true
		}
	}
	return proc.Mount{}, false
}

// hidepid takes what procfs hides out of its mount options, see proc(5): "" for nothing, else the word that kernels since 5.8
// use, and the group that is excepted, which is 0 unless gid= names another.
func hidepid(options string) (mode string, group int) {
	for option := range strings.SplitSeq(options, ",") {
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "gid":
			if n, err := strconv.Atoi(value); err == nil {
				group = n
			}
		case "hidepid":
			mode = value
		}
	}
	words := map[string]string{"0": "", "off": "", "1": "noaccess", "2": "invisible", "4": "ptraceable"}
	if word, ok := words[mode]; ok {
		mode = word
	}
	return mode, group
}

func inGroup(gid int) bool {
	groups, err := os.Getgroups()
	return os.Getegid() == gid || err == nil && slices.Contains(groups, gid)
}

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

// Stronger reports whether process 1 is permitted capabilities that this process is not, for which the kernel does not
// show what it uses (ptrace(2), access mode checking).
func (r *Root) Stronger() bool {
	own, err := status("/proc", 0)
	if err != nil {
		return false
	}
	its, err := status(r.Path, 1)
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
