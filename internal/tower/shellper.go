package tower

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxCommand is more than a command line can be: the kernel allows arguments and environment 6 MiB together.
	maxCommand = 8 << 20
	// near is by how much Codev lets a recorded start differ from the real one.
	near = 2 * time.Second
	// userHZ is how many clock ticks stat counts a second, on every architecture that Go runs on.
	userHZ = 100
)

// Process is one process, all facts of one life of it.
type Process struct {
	PID   int
	Ticks uint64
	// began are the two readings of its start, either of which may be off: Codev's own (the change time of its folder in /proc, which
	// the kernel may give anew), and the start ticks counted back from now.
	began [2]time.Time
	Command
}

// ErrEnded says that there is positively no such process, or only what is left of one.
var ErrEnded = errors.New("it has ended")

// Since reports whether it may have begun then.
func (p *Process) Since(at time.Time) bool {
	for _, began := range p.began {
		if d := began.Sub(at); d <= near && d >= -near {
			return true
		}
	}
	return false
}

// Look reads one process through a descriptor that pins it, so that nothing of another under the same number is mixed in. It gives
// ErrEnded where there is none.
func Look(root string, pid int) (*Process, error) {
	fd, err := unix.Open(root+"/"+strconv.Itoa(pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, over(err)
	}
	defer unix.Close(fd)
	return pinned(fd, pid)
}

func pinned(fd, pid int) (*Process, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, over(err)
	}
	text, err := content(fd, "cmdline", maxCommand)
	if err != nil {
		return nil, over(err)
	}
	p := &Process{PID: pid, Command: ParseCommand(text)}
	clear(text)
	stat, err := content(fd, "stat", 64<<10)
	if err != nil {
		return nil, over(err)
	}
	own, err := parseStat(stat)
	if err != nil {
		return nil, err
	}
	p.Ticks = own.start
	p.began = [2]time.Time{time.Unix(st.Ctim.Unix()), byTicks(p.Ticks)}
	return p, nil
}

// BootID names this boot of the machine; "" is not known.
func BootID(root string) string {
	text, err := os.ReadFile(root + "/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(text))
}

// over makes an error of the kernel's that says that a process ended what it is here: ENOENT by path, ESRCH through a descriptor.
func over(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return ErrEnded
	}
	return err
}

// stat is what a stat file tells, as far as it is used.
type stat struct {
	parent, group, session int
	start                  uint64
}

// parseStat reads a stat file's text (proc_pid_stat(5)), and gives ErrEnded for a zombie without other threads.
func parseStat(text []byte) (s stat, err error) {
	f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // from the third field on: a name may hold spaces and brackets
	if len(f) < 20 {
		return stat{}, errors.New("read stat: cut short")
	}
	if threads := string(f[17]); (f[0][0] == 'Z' || f[0][0] == 'X') && (threads == "0" || threads == "1") {
		return stat{}, ErrEnded
	}
	var errs [4]error
	s.parent, errs[0] = strconv.Atoi(string(f[1]))
	s.group, errs[1] = strconv.Atoi(string(f[2]))
	s.session, errs[2] = strconv.Atoi(string(f[3]))
	s.start, errs[3] = strconv.ParseUint(string(f[19]), 10, 64)
	if err := errors.Join(errs[:]...); err != nil {
		return stat{}, fmt.Errorf("read stat: %w", err)
	}
	return s, nil
}

// byTicks is the time of a moment that the kernel counts in ticks since boot, by today's clock.
func byTicks(ticks uint64) time.Time {
	var up unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &up) != nil {
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(up.Nano())).Add(time.Duration(ticks) * (time.Second / userHZ))
}

// content reads a whole file below a folder. A longer one is an error.
func content(dir int, name string, limit int) ([]byte, error) {
	// What is no regular file may never answer: a FIFO that a repository holds.
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, errors.Join(err, errors.New("not a regular file"))
	}
	buf := make([]byte, 4<<10)
	for used := 0; ; {
		if used == len(buf) {
			if used >= limit {
				return nil, errors.New("longer than it can be")
			}
			buf = append(buf, make([]byte, len(buf))...)
		}
		n, err := unix.Read(fd, buf[used:])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, err
		case n == 0:
			return buf[:used], nil
		default:
			used += n
		}
	}
}

// Shellpers lists this user's processes that run the shellper's program, whosever they are. One that cannot be read is passed over:
// what was not seen is not judged.
func Shellpers(ctx context.Context, root string) ([]*Process, error) {
	pids, err := pidsOf(root)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w; set collect.processes.root to where procfs is mounted", err)
	}
	var out []*Process
	for i, pid := range pids {
		if i%128 == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("list processes in %s: %w", root, ctx.Err())
		}
		if p := own(root, pid); p != nil && p.Shellper {
			out = append(out, p)
		}
	}
	return out, nil
}

// own reads a process of this user's; it is nil for any other.
func own(root string, pid int) *Process {
	fd, err := unix.Open(root+"/"+strconv.Itoa(pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || int(st.Uid) != os.Geteuid() {
		return nil
	}
	p, err := pinned(fd, pid)
	if err != nil {
		return nil
	}
	return p
}

// pidsOf lists the processes that a procfs shows.
func pidsOf(root string) ([]int, error) {
	dir, err := os.Open(root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	var out []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			out = append(out, pid)
		}
	}
	return out, err
}
