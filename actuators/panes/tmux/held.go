package tmux

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
)

// errEnded says that a process is over.
var errEnded = errors.New("process ended")

// held is one process that cannot become another one unnoticed. An open /proc/N folder stays that process's: once it is over,
// reads through it fail with ESRCH, and a signal sent to it reaches nobody else, whoever has the number by then.
type held struct {
	pid   int
	ticks uint64
	dir   int
	// pidfd is readable once the process is over; dir cannot be waited for.
	pidfd int
	rss   int64
}

// facts are what stat and the folder's owner say of a process.
type facts struct {
	comm    string
	session int
	kernel  bool
	ticks   uint64
	rss     int64
	uid     int
}

// hold takes hold of pid. It wraps errEnded where there is no such process, or only a zombie.
func hold(procRoot string, pid int) (*held, facts, error) {
	dir, err := unix.Open(filepath.Join(procRoot, strconv.Itoa(pid)), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil, facts{}, fmt.Errorf("hold pid %d: %w", pid, errEnded)
	}
	if err != nil {
		return nil, facts{}, fmt.Errorf("hold pid %d: %w", pid, err)
	}
	h := &held{pid: pid, dir: dir, pidfd: -1}
	f, err := h.grip()
	if err != nil {
		h.close()
		return nil, facts{}, fmt.Errorf("hold pid %d: %w", pid, err)
	}
	return h, f, nil
}

// grip opens the pidfd and then reads through the folder: as that still works, both are of one process.
func (h *held) grip() (facts, error) {
	var err error
	if h.pidfd, err = unix.PidfdOpen(h.pid, 0); errors.Is(err, unix.ESRCH) {
		h.pidfd = -1
		return facts{}, errEnded
	} else if err != nil {
		h.pidfd = -1
		return facts{}, fmt.Errorf("open pidfd: %w", err)
	}
	f, err := h.facts()
	h.ticks, h.rss = f.ticks, f.rss
	return f, err
}

func (h *held) close() {
	_ = unix.Close(h.dir)
	if h.pidfd >= 0 {
		_ = unix.Close(h.pidfd)
	}
}

// facts reads the process anew. It wraps errEnded once the process is over; nothing of it is then true any more.
func (h *held) facts() (facts, error) {
	fd, err := unix.Openat(h.dir, "stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if ended(err) {
		return facts{}, errEnded
	} else if err != nil {
		return facts{}, fmt.Errorf("open stat: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	buf := make([]byte, 4096)
	n, err := unix.Read(fd, buf)
	if ended(err) {
		return facts{}, errEnded
	} else if err != nil {
		return facts{}, fmt.Errorf("read stat: %w", err)
	}
	f, err := parseStat(buf[:n])
	if err != nil {
		return facts{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(h.dir, &st); err != nil {
		return facts{}, fmt.Errorf("read owner: %w", err)
	}
	f.uid = int(st.Uid)
	return f, nil
}

func ended(err error) bool { return errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENOENT) }

// Places after the name in brackets, which ends at the last ')', and the flag of kernel threads (proc_pid_stat(5),
// include/linux/sched.h).
const (
	fieldState   = 0
	fieldSession = 6 - 3
	fieldFlags   = 9 - 3
	fieldThreads = 20 - 3
	fieldStart   = 22 - 3
	fieldRSS     = 24 - 3
	kernelThread = 0x200000
)

// parseStat reads a stat file. A zombie without other threads is over.
func parseStat(text []byte) (facts, error) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return facts{}, errors.New("read stat: no name in it")
	}
	fields := bytes.Fields(text[end+1:])
	if len(fields) <= fieldRSS {
		return facts{}, errors.New("read stat: cut short")
	}
	var bad error
	number := func(i int) uint64 {
		n, err := strconv.ParseInt(string(fields[i]), 10, 64)
		bad = errors.Join(bad, err)
		return uint64(n)
	}
	f := facts{comm: string(text[open+1 : end]), session: int(number(fieldSession)), kernel: number(fieldFlags)&kernelThread != 0,
		ticks: number(fieldStart), rss: int64(number(fieldRSS)) * int64(os.Getpagesize())}
	threads := number(fieldThreads)
	if bad != nil {
		return facts{}, fmt.Errorf("read stat: %w", bad)
	}
	if state := fields[fieldState][0]; (state == 'Z' || state == 'X') && threads <= 1 {
		return facts{}, errEnded
	}
	return f, nil
}

// over reports whether the process is positively over.
func (h *held) over() bool {
	_, err := h.facts()
	return errors.Is(err, errEnded)
}

// signal sends sig to the very process that is held.
func (h *held) signal(sig unix.Signal) error {
	err := unix.PidfdSendSignal(h.dir, sig, nil, 0)
	if ended(err) {
		return errEnded
	}
	return err
}

// await waits until all of hs are over, but no longer than d, and gives those that are not.
func await(ctx context.Context, hs []*held, d time.Duration) []*held {
	deadline := time.Now().Add(d)
	for {
		var left []*held
		for _, h := range hs {
			if !h.over() {
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

// pollFor bounds one wait, so that a context that ended is noticed.
const pollFor = 100 * time.Millisecond

// alive reports whether the process with that pid and start is there. Only a false without an error says that it is not.
func alive(procRoot string, pid int, ticks uint64) (bool, error) {
	h, f, err := hold(procRoot, pid)
	if errors.Is(err, errEnded) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	h.close()
	return f.ticks == ticks, nil
}
