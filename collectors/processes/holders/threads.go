package holders

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// threads looks at those of a process's threads that have a working directory, a root or a table of open files of their own (unshare(2)
// with CLONE_FS or CLONE_FILES).
func (h *scan) threads(pid, dir int, st proc.Stat) error {
	if st.Threads < 2 {
		return nil
	}
	numbers, err := proc.List(dir, "task", h.Environ)
	if err != nil {
		return err
	}
	var failed error
	for _, t := range numbers {
		if t == pid {
			continue
		}
		if err := h.thread(pid, dir, t); err != nil && !proc.Ended(err) {
			failed = err
		}
	}
	return failed
}

func (h *scan) thread(pid, dir, tid int) error {
	base := "task/" + strconv.Itoa(tid) + "/"
	apart := !h.shares(pid, tid, kcmpFS)
	if !apart && h.shares(pid, tid, kcmpFiles) {
		return nil
	}
	v, foreign, err := h.viewOf(dir, base)
	if err != nil {
		return err
	}
	var failed error
	if apart {
		for _, name := range []string{"cwd", "root"} {
			_, err := h.noteLink(v, dir, base+name, byThread, foreign)
			failed = errors.Join(failed, err)
		}
	}
	if pid == h.root.Self || h.shares(pid, tid, kcmpFiles) {
		return failed
	}
	return errors.Join(failed, h.descriptors(dir, base, v, byThread))
}

// What kcmp(2) compares: the table of open files; working directory and root (linux/kcmp.h).
const (
	kcmpFiles = 2
	kcmpFS    = 3
)

// shares reports whether two threads share something. Where the kernel does not say, they may not.
func (h *scan) shares(pid, tid int, what uintptr) bool {
	if !h.root.Own {
		return false
	}
	order, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(pid), uintptr(tid), what, 0, 0, 0)
	return errno == 0 && order == 0
}
