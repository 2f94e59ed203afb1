package tower

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// Users finds, for each shellper, the processes that do not live below it and are at work in its terminal all the same: they have a terminal
// open which it keeps, or are in a session or group that it is in and does not lead. What a shell left in the background is such a process.
// What belongs to other users cannot be looked at, and is not the agent's. The error says that this could not be found out.
func Users(root string, shellpers ...int) (map[int][]int, error) {
	kept, shared := map[string]int{}, map[int]int{}
	for _, pid := range shellpers {
		dir := filepath.Join(root, strconv.Itoa(pid))
		terminals, err := keeps(dir)
		own, ended := statOf(root, pid)
		if err = errors.Join(err, unlessEnded(ended)); err != nil {
			return nil, fmt.Errorf("find out who uses the terminal that pid %d keeps open: %w", pid, err)
		}
		for _, index := range terminals {
			kept[index] = pid
		}
		for _, n := range []int{own.Session, own.Group} {
			if ended == nil && n != pid {
				shared[n] = pid
			}
		}
	}
	if len(kept) == 0 && len(shared) == 0 {
		return nil, nil
	}
	pids, err := proc.PIDs(root)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	out := map[int][]int{}
	for _, pid := range pids {
		tops := uses(filepath.Join(root, strconv.Itoa(pid), "fd"), kept)
		if len(shared) > 0 {
			s, err := statOf(root, pid)
			if unlessEnded(err) != nil {
				return nil, fmt.Errorf("find out which session pid %d is in: %w", pid, err)
			}
			tops = append(tops, shared[s.Session], shared[s.Group])
		}
		for _, top := range tops {
			if top > 0 && !slices.Contains(out[top], pid) && !isBelow(root, pid, top) {
				out[top] = append(out[top], pid)
			}
		}
	}
	return out, nil
}

// statOf reads a process's stat, and gives proc.ErrEnded where it has ended.
func statOf(root string, pid int) (proc.Stat, error) {
	s, err := proc.StatOf(root, pid)
	if err == nil && s.Ended() {
		return proc.Stat{}, proc.ErrEnded
	}
	return s, err
}

// uses lists the shellpers of whose terminals one is open in a folder of descriptors.
func uses(dir string, kept map[string]int) (out []int) {
	fds, _ := os.ReadDir(dir) // what cannot be read is another user's, or has ended
	for _, fd := range fds {
		to, err := os.Readlink(filepath.Join(dir, fd.Name()))
		if parent, index := filepath.Split(to); err == nil && filepath.Base(parent) == "pts" && kept[index] > 0 {
			out = append(out, kept[index])
		}
	}
	return out
}

// isBelow reports whether a process is top, or lives below it: as a child, as a member of a session or group that one of these leads, and so on.
func isBelow(root string, pid, top int) bool {
	seen := map[int]bool{}
	for open := []int{pid}; len(open) > 0; {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		if at == top {
			return true
		}
		if seen[at] {
			continue
		}
		seen[at] = true
		if s, err := statOf(root, at); err == nil {
			open = append(open, s.Parent, s.Session, s.Group)
		}
	}
	return false
}

// keeps gives the numbers of the pseudo terminals that a process holds the other ends of: their names below /dev/pts.
func keeps(dir string) (out []string, err error) {
	fds, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		return nil, unlessEnded(err)
	}
	for _, fd := range fds {
		to, err := os.Readlink(filepath.Join(dir, "fd", fd.Name()))
		if err == nil && filepath.Base(to) != "ptmx" {
			continue
		}
		var index string
		if err == nil {
			var info []byte
			if info, err = os.ReadFile(filepath.Join(dir, "fdinfo", fd.Name())); err == nil {
				index, err = ttyIndex(info)
			}
		}
		switch {
		case err == nil:
			out = append(out, index)
		case unlessEnded(err) != nil:
			return nil, err
		}
	}
	return out, nil
}

// unlessEnded leaves out an error that says that the process has ended, or that the descriptor was closed.
func unlessEnded(err error) error {
	if err == nil || proc.Ended(err) {
		return nil
	}
	return err
}

// ttyIndex reads from a descriptor's info which pseudo terminal it is the other end of (tty_show_fdinfo in drivers/tty/tty_io.c).
func ttyIndex(info []byte) (string, error) {
	for line := range bytes.Lines(info) {
		if rest, ok := bytes.CutPrefix(line, []byte("tty-index:")); ok {
			index := string(bytes.TrimSpace(rest))
			if _, err := strconv.ParseUint(index, 10, 32); err != nil {
				return "", fmt.Errorf("read tty-index: %w", err)
			}
			return index, nil
		}
	}
	return "", errors.New("this kernel does not say which")
}

const (
	// maxCommand is more than a command line can be: the kernel allows arguments and environment 6 MiB together.
	maxCommand = 8 << 20
	// near is by how much Codev lets a recorded start differ from the real one.
	near = 2 * time.Second
)

// Process is one process, all facts of one life of it.
type Process struct {
	PID   int
	Ticks uint64
	// began are the two readings of its start, either of which may be off: Codev's own (the change time of its folder in /proc, which
	// the kernel may reuse), and the start ticks counted back from now.
	began [2]time.Time
	Command
}

// Since reports whether it may have begun then.
func (p *Process) Since(at time.Time) bool {
	return slices.ContainsFunc(p.began[:], func(began time.Time) bool { return began.Sub(at).Abs() <= near })
}

// Look reads one process through a descriptor that pins it, so that nothing of another under the same number is mixed in. It gives
// proc.ErrEnded if the process is missing.
func Look(root string, pid int) (*Process, error) {
	return look(root, pid, func(int) bool { return true })
}

// look is Look of a process of a user who counts; it gives nil for any other.
func look(root string, pid int, counts func(uid int) bool) (*Process, error) {
	fd, err := unix.Open(root+"/"+strconv.Itoa(pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, proc.AsEnded(err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || !counts(int(st.Uid)) {
		return nil, proc.AsEnded(err)
	}
	text, err := proc.Read(fd, "cmdline", make([]byte, 4<<10), maxCommand)
	if err != nil {
		return nil, proc.AsEnded(err)
	}
	p := &Process{PID: pid, Command: ParseCommand(text)}
	clear(text)
	stat, err := proc.ReadOnce(fd, "stat", make([]byte, 2048))
	if err != nil {
		return nil, proc.AsEnded(err)
	}
	own, err := proc.ParseStat(stat)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read stat: %w", err)
	case own.Ended():
		return nil, proc.ErrEnded
	}
	p.Ticks = own.Start
	p.began[0] = time.Unix(st.Ctim.Unix())
	var up unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &up) == nil {
		p.began[1] = own.Began(time.Now().Add(-time.Duration(up.Nano())))
	}
	return p, nil
}

// Shellpers lists this user's processes that run the shellper's program, whosever they are. One that cannot be read is passed over:
// what was not seen is not judged.
func Shellpers(ctx context.Context, root string) ([]*Process, error) {
	pids, err := proc.PIDs(root)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w; set collect.processes.root to where procfs is mounted", err)
	}
	var out []*Process
	for i, pid := range pids {
		if i%128 == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("list processes in %s: %w", root, ctx.Err())
		}
		p, err := look(root, pid, func(uid int) bool { return uid == os.Geteuid() })
		if err == nil && p != nil && p.Shellper {
			out = append(out, p)
		}
	}
	return out, nil
}
