// Package panes holds what the actuators below it share, whichever program the panes are of: a process that is held, the end of
// those that outlive their panes, and what an act keeps in the trash.
package panes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"winnow/actuators"
)

// ErrEnded says that a process is over.
var ErrEnded = errors.New("process ended")

// Held is one process that cannot become another one unnoticed. An open /proc/N folder stays that process's: once it is over,
// reads through it fail with ESRCH, and a signal sent to it reaches nobody else, whoever has the number by then.
type Held struct {
	PID int
	// Was is what its stat said when it was held.
	Was Stat
	dir int
	// pidfd is readable once the process is over; dir cannot be waited for.
	pidfd int
}

// Hold takes hold of pid until Close. It wraps ErrEnded where there is no such process, or only a zombie.
func Hold(procRoot string, pid int) (*Held, error) {
	dir, err := unix.Open(filepath.Join(procRoot, strconv.Itoa(pid)), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if Ended(err) {
		return nil, fmt.Errorf("hold pid %d: %w", pid, ErrEnded)
	}
	if err != nil {
		return nil, fmt.Errorf("hold pid %d: %w", pid, err)
	}
	h := &Held{PID: pid, dir: dir, pidfd: -1}
	if err := h.grip(); err != nil {
		h.Close()
		return nil, fmt.Errorf("hold pid %d: %w", pid, err)
	}
	return h, nil
}

// grip opens the pidfd and then reads through the folder: as that still works, both are of one process.
func (h *Held) grip() error {
	fd, err := unix.PidfdOpen(h.PID, 0)
	if Ended(err) {
		return ErrEnded
	} else if err != nil {
		return fmt.Errorf("open pidfd: %w", err)
	}
	h.pidfd = fd
	h.Was, err = h.Stat()
	return err
}

// Close lets go. Nothing can be read or signalled through h any more.
func (h *Held) Close() {
	_ = unix.Close(h.dir)
	if h.pidfd >= 0 {
		_ = unix.Close(h.pidfd)
	}
	h.dir, h.pidfd = -1, -1
}

// Ended reports whether err, met on the way to a process's files, says that the process is over, or that it has no such file any
// more.
func Ended(err error) bool {
	return errors.Is(err, ErrEnded) || errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENOENT)
}

// Stat reads the process anew. It gives ErrEnded once the process is over; nothing of it is then true any more.
func (h *Held) Stat() (Stat, error) {
	text, err := ReadAt(h.dir, "stat", make([]byte, 4096))
	if err != nil {
		return Stat{}, err
	}
	s, err := ParseStat(text)
	if err == nil && s.Over() {
		err = ErrEnded
	}
	return s, err
}

// ReadAt reads a file of procfs below the open folder dir into buf, as far as one read fills it. It gives ErrEnded where the
// process is over.
func ReadAt(dir int, name string, buf []byte) ([]byte, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if Ended(err) {
		return nil, ErrEnded
	} else if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	defer func() { _ = unix.Close(fd) }()
	n, err := unix.Read(fd, buf)
	if Ended(err) {
		return nil, ErrEnded
	} else if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return buf[:n], nil
}

// Open opens a file or folder of the process. It gives ErrEnded where the process is over, or has none such.
func (h *Held) Open(name string) (*os.File, error) {
	fd, err := unix.Openat(h.dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if Ended(err) {
		return nil, ErrEnded
	} else if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Read reads a file of the process whole. Its errors are those of Open.
func (h *Held) Read(name string) ([]byte, error) {
	f, err := h.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text := bytes.NewBuffer(make([]byte, 0, 8192)) // most are shorter, and then read at once
	if _, err = text.ReadFrom(f); Ended(err) {
		return nil, ErrEnded
	}
	return text.Bytes(), err
}

// Allowed refuses a process that is never signalled, by what its stat says now.
func (h *Held) Allowed(never actuators.NeverProcess, now Stat) error {
	uid, err := h.Owner()
	if err != nil {
		return err
	}
	return never.Check(h.PID, uid, now.Comm, now.Kernel)
}

// Owner is the user that the process runs as.
func (h *Held) Owner() (uid int, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(h.dir, &st); err != nil {
		return 0, fmt.Errorf("read owner: %w", err)
	}
	return int(st.Uid), nil
}

// Over reports whether the process is positively over.
func (h *Held) Over() bool {
	_, err := h.Stat()
	return errors.Is(err, ErrEnded)
}

// Signal sends sig to the very process that is held. It gives ErrEnded where that is over. The kernel takes the folder for a
// pidfd; one that does not gets the pidfd.
func (h *Held) Signal(sig unix.Signal) error {
	err := unix.PidfdSendSignal(h.dir, sig, nil, 0)
	if errors.Is(err, unix.EBADF) {
		err = unix.PidfdSendSignal(h.pidfd, sig, nil, 0)
	}
	if Ended(err) {
		return ErrEnded
	}
	return err
}

// pollFor bounds one wait, so that a context that ended is noticed.
const pollFor = 50 * time.Millisecond

// Await waits until all of hs are over, but no longer than d and than ctx lasts, and gives those that are not.
func Await(ctx context.Context, hs []*Held, d time.Duration) []*Held {
	deadline := time.Now().Add(d)
	for {
		var left []*Held
		for _, h := range hs {
			if !h.Over() {
				left = append(left, h)
			}
		}
		rest := time.Until(deadline)
		if hs = left; len(hs) == 0 || rest <= 0 || ctx.Err() != nil {
			return hs
		}
		fds := make([]unix.PollFd, len(hs))
		for i, h := range hs {
			fds[i] = unix.PollFd{Fd: int32(h.pidfd), Events: unix.POLLIN}
		}
		// A pidfd stays readable although other threads of a leader that ended live on, hence the least pause.
		if n, _ := unix.Poll(fds, int(min(rest, pollFor).Milliseconds())+1); n > 0 {
			time.Sleep(time.Millisecond)
		}
	}
}

// Alive reports whether the process with that pid and start, in clock ticks since boot, is there. Only a false without an error
// says that it is not.
func Alive(procRoot string, pid int, ticks uint64) (bool, error) {
	h, err := Hold(procRoot, pid)
	if errors.Is(err, ErrEnded) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	h.Close()
	return h.Was.Start == ticks, nil
}
