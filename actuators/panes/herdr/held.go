package herdr

import (
	"bytes"
	"cmp"
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
	// pane is the judged pane that it belongs to.
	pane *heldPane
}

// hold takes hold of pid. It wraps errEnded where there is no such process, or only a zombie.
func hold(procRoot string, pid int) (*held, stat, error) {
	dir, err := unix.Open(filepath.Join(procRoot, strconv.Itoa(pid)), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if ended(err) {
		return nil, stat{}, fmt.Errorf("hold pid %d: %w", pid, errEnded)
	}
	if err != nil {
		return nil, stat{}, fmt.Errorf("hold pid %d: %w", pid, err)
	}
	h := &held{pid: pid, dir: dir, pidfd: -1}
	s, err := h.grip()
	if err != nil {
		h.close()
		return nil, stat{}, fmt.Errorf("hold pid %d: %w", pid, err)
	}
	return h, s, nil
}

// grip opens the pidfd and then reads through the folder: as that still works, both are of one process.
func (h *held) grip() (stat, error) {
	fd, err := unix.PidfdOpen(h.pid, 0)
	if ended(err) {
		return stat{}, errEnded
	} else if err != nil {
		return stat{}, fmt.Errorf("open pidfd: %w", err)
	}
	h.pidfd = fd
	s, err := h.stat()
	h.ticks, h.rss = s.start, s.rss
	return s, err
}

func (h *held) close() {
	_ = unix.Close(h.dir)
	if h.pidfd >= 0 {
		_ = unix.Close(h.pidfd)
	}
}

func ended(err error) bool { return errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENOENT) }

// stat reads the process anew. It wraps errEnded once the process is over; nothing of it is then true any more.
func (h *held) stat() (stat, error) {
	text, err := h.read("stat")
	if err != nil {
		return stat{}, err
	}
	s, err := parseStat(text)
	if err == nil && s.over() {
		err = errEnded
	}
	return s, err
}

// read reads one of the process's small files.
func (h *held) read(name string) ([]byte, error) { return readAt(h.dir, name, make([]byte, 8192)) }

// readAt reads a small file of procfs below a folder into buf. It gives errEnded where the process is over.
func readAt(dir int, name string, buf []byte) ([]byte, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if ended(err) {
		return nil, errEnded
	} else if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	defer func() { _ = unix.Close(fd) }()
	n, err := unix.Read(fd, buf)
	if ended(err) {
		return nil, errEnded
	} else if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return buf[:n], nil
}

// owner is the user that the process runs as.
func (h *held) owner() (int, error) {
	var st unix.Stat_t
	if err := unix.Fstat(h.dir, &st); err != nil {
		return 0, fmt.Errorf("read owner: %w", err)
	}
	return int(st.Uid), nil
}

// turns counts how often the process's first thread has given up the processor (voluntary_ctxt_switches and its like in
// proc_pid_status(5)). While the count stands still and the thread sleeps, it has done nothing at all in between: whatever is
// typed wakes the shell that reads it, also what starts no process.
func (h *held) turns() (uint64, error) {
	text, err := h.read("status")
	if err != nil {
		return 0, err
	}
	var sum uint64
	found := 0
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		if !bytes.HasSuffix(name, []byte("voluntary_ctxt_switches")) {
			continue
		}
		n, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read status: %w", err)
		}
		sum += n
		found++
	}
	if found != 2 {
		return 0, errors.New("read status: how often it has run is not in it")
	}
	return sum, nil
}

// over reports whether the process is positively over.
func (h *held) over() bool {
	_, err := h.stat()
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

// pollFor bounds one wait, so that a context that ended is noticed.
const pollFor = 100 * time.Millisecond

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

// alive reports whether the process with that pid and start is there. Only a false without an error says that it is not.
func alive(procRoot string, pid int, ticks uint64) (bool, error) {
	h, s, err := hold(procRoot, pid)
	if errors.Is(err, errEnded) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	h.close()
	return s.start == ticks, nil
}

// Places after the name in brackets, which ends at the last ')', and the flag of kernel threads (proc_pid_stat(5),
// include/linux/sched.h).
const (
	fieldState      = 0
	fieldParent     = 4 - 3
	fieldSession    = 6 - 3
	fieldTTY        = 7 - 3
	fieldForeground = 8 - 3
	fieldFlags      = 9 - 3
	fieldThreads    = 20 - 3
	fieldStart      = 22 - 3
	fieldRSS        = 24 - 3
	kernelThread    = 0x200000
)

// stat is what a process's stat file says.
type stat struct {
	comm            string
	state           byte
	parent, session int
	// tty is 0 where the process has no terminal; foreground is the process group in front of it.
	tty, foreground int
	kernel          bool
	threads         int
	// start is in clock ticks since boot, rss in bytes.
	start uint64
	rss   int64
}

// over reports whether nothing of the process runs any more: a zombie's other threads may live on.
func (s stat) over() bool { return (s.state == 'Z' || s.state == 'X') && s.threads <= 1 }

func parseStat(text []byte) (stat, error) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return stat{}, errors.New("read stat: no name in it")
	}
	fields := bytes.Fields(text[end+1:])
	if len(fields) <= fieldRSS || len(fields[fieldState]) != 1 {
		return stat{}, errors.New("read stat: cut short")
	}
	var bad error
	number := func(i int) int {
		n, err := strconv.ParseInt(string(fields[i]), 10, 64)
		bad = cmp.Or(bad, err)
		return int(n)
	}
	s := stat{comm: string(text[open+1 : end]), state: fields[fieldState][0], parent: number(fieldParent), session: number(fieldSession),
		tty: number(fieldTTY), foreground: number(fieldForeground), kernel: number(fieldFlags)&kernelThread != 0,
		threads: number(fieldThreads), start: uint64(number(fieldStart)), rss: int64(number(fieldRSS)) * int64(os.Getpagesize())}
	if bad != nil {
		return stat{}, fmt.Errorf("read stat: %w", bad)
	}
	return s, nil
}
