package codev

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// errEnded says that a process is over.
var errEnded = errors.New("it has ended")

// held is one process that cannot become another one unnoticed: what is read and signalled through its /proc/<pid> folder reaches nobody
// else, whoever has the number by then.
type held struct {
	pid int
	dir *os.File
	// pidfd is readable once the process is over; dir cannot be waited for.
	pidfd int
}

// hold takes hold of pid. It wraps errEnded where there is no such process, or only a zombie.
func hold(procRoot string, pid int) (*held, error) {
	dir, err := os.Open(filepath.Join(procRoot, strconv.Itoa(pid)))
	if errors.Is(err, os.ErrNotExist) {
		return nil, errEnded
	} else if err != nil {
		return nil, fmt.Errorf("hold pid %d: %w", pid, err)
	}
	h := &held{pid: pid, dir: dir, pidfd: -1}
	if h.pidfd, err = unix.PidfdOpen(pid, 0); err == nil {
		// The folder still answers, so its process had the number all along, and the pidfd is of the same.
		_, err = h.stat()
	}
	if over(err) {
		err = errEnded
	}
	if err != nil {
		h.close()
		return nil, fmt.Errorf("hold pid %d: %w", pid, err)
	}
	return h, nil
}

func (h *held) close() {
	h.dir.Close()
	if h.pidfd >= 0 {
		unix.Close(h.pidfd)
	}
}

func over(err error) bool {
	return errors.Is(err, errEnded) || errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENOENT)
}

// stat reads the process's state. It wraps errEnded once it is over.
func (h *held) stat() (stat, error) {
	text, err := h.read("stat")
	if over(err) {
		return stat{}, errEnded
	} else if err != nil {
		return stat{}, fmt.Errorf("read stat: %w", err)
	}
	s, err := parseStat(text)
	if err == nil && s.dead() {
		err = errEnded
	}
	return s, err
}

// ended reports whether the process is positively over.
func (h *held) ended() bool {
	_, err := h.stat()
	return errors.Is(err, errEnded)
}

// open opens a file or folder of the process.
func (h *held) open(name string) (*os.File, error) {
	fd, err := unix.Openat(int(h.dir.Fd()), name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// read reads a file of the process whole.
func (h *held) read(name string) ([]byte, error) {
	f, err := h.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// link reads where a link of the process leads.
func (h *held) link(name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(h.dir.Fd()), name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// signal sends sig to the very process that is held. The kernel takes the folder for a pidfd; one that does not gets the pidfd.
func (h *held) signal(sig unix.Signal) error {
	err := unix.PidfdSendSignal(int(h.dir.Fd()), sig, nil, 0)
	if errors.Is(err, unix.EBADF) {
		err = unix.PidfdSendSignal(h.pidfd, sig, nil, 0)
	}
	if over(err) {
		return errEnded
	}
	return err
}

// wait waits until the process is over, for at most d and until ctx ends, and reports whether it is.
func (h *held) wait(ctx context.Context, d time.Duration) bool {
	deadline := time.Now().Add(d)
	for {
		rest := time.Until(deadline)
		if h.ended() {
			return true
		}
		if rest <= 0 || ctx.Err() != nil {
			return false
		}
		fds := []unix.PollFd{{Fd: int32(h.pidfd), Events: unix.POLLIN}}
		// A pidfd can be readable although other threads of a leader that ended live on, hence the least pause.
		if n, _ := unix.Poll(fds, int(min(rest, pollFor).Milliseconds())+1); n > 0 {
			time.Sleep(time.Millisecond)
		}
	}
}

// pollFor bounds one wait, so that a context that ended is noticed.
const pollFor = 50 * time.Millisecond

// stat is what is needed of /proc/<pid>/stat.
type stat struct {
	state   byte
	parent  int
	group   int
	session int
	threads int
}

// dead reports whether nothing of the process runs any more. A leader that called pthread_exit is a zombie while its threads live on.
func (s stat) dead() bool {
	return (s.state == 'Z' || s.state == 'X' || s.state == 'x') && s.threads <= 1
}

var errStat = errors.New("its stat is no text of proc_pid_stat(5)")

// parseStat reads a stat's text. The name may hold anything; what follows its last parenthesis is letters and numbers only.
func parseStat(text []byte) (stat, error) {
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return stat{}, errStat
	}
	// fields[0] is field 3 of proc_pid_stat(5).
	fields := bytes.Fields(text[end+1:])
	if len(fields) <= 20-3 || len(fields[0]) != 1 {
		return stat{}, errStat
	}
	var bad error
	number := func(field int) int {
		n, err := strconv.Atoi(string(fields[field-3]))
		bad = errors.Join(bad, err)
		return n
	}
	s := stat{state: fields[0][0], parent: number(4), group: number(5), session: number(6), threads: number(20)}
	if bad != nil {
		return stat{}, errStat
	}
	return s, nil
}
