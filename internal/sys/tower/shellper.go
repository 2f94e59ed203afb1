package tower

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/proc"

	"golang.org/x/sys/unix"
)

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
	p.began = [2]time.Time{time.Unix(st.Ctim.Unix()), byTicks(p.Ticks)}
	return p, nil
}

// byTicks is the time of a moment that the kernel counts in ticks since boot, by today's clock.
func byTicks(ticks uint64) time.Time {
	var up unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &up) != nil {
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(up.Nano())).Add(time.Duration(ticks) * (time.Second / proc.UserHZ))
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
