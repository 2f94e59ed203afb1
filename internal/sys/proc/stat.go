package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// PF_KTHREAD and PF_EXITING of the kernel's include/linux/sched.h, as they stand in field 9 of stat.
const (
	kernelThread = 0x200000
	exiting      = 0x4
)

// UserHZ is how many clock ticks stat counts a second. The kernel converts to it for user space, and it is 100 on every
// architecture that Go runs on, with every tick of the kernel.
const UserHZ = 100

var (
	errStat  = errors.New("not the text of a stat file")
	pageSize = int64(os.Getpagesize())
)

// Stat is what is used of /proc/N/stat, see proc_pid_stat(5).
type Stat struct {
	PID                    int
	Comm                   string
	State                  byte
	Parent, Group, Session int
	// TTY is the terminal's device number, 0 where the process has no terminal; see Terminal and Device. Foreground is the process group in
	// front of it, -1 without a terminal.
	TTY, Foreground int
	// Kernel is true of kernel threads, and Exiting of a process that has begun to end.
	Kernel, Exiting bool
	// CPU is utime, stime, cutime and cstime together, in ticks.
	CPU     int64
	Threads int
	// Start is in clock ticks since boot, RSS in bytes.
	Start uint64
	RSS   int64
}

// BootedAt is when the machine was started, by its clock as it goes now.
func BootedAt(procRoot string) (time.Time, error) {
	text, err := os.ReadFile(filepath.Join(procRoot, "stat"))
	if err != nil {
		return time.Time{}, err
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if at, ok := strings.CutPrefix(line, "btime "); ok {
			n, err := strconv.ParseInt(at, 10, 64)
			return time.Unix(n, 0), err
		}
	}
	return time.Time{}, errors.New("when the machine was started is not known")
}

// Began is when the process was started, on a machine that was started at boot.
func (s Stat) Began(boot time.Time) time.Time {
	return boot.Add(time.Duration(s.Start) * (time.Second / UserHZ))
}

// Ended reports whether nothing of the process runs any more. A leader that called pthread_exit is a zombie while its threads live on.
func (s Stat) Ended() bool {
	return (s.State == 'Z' || s.State == 'X' || s.State == 'x') && s.Threads <= 1
}

// Gone says that it has ended, or is about to: it has released what it had.
func (s Stat) Gone() bool {
	return s.Ended() || s.Exiting && s.Threads <= 1
}

// SameProcess reports whether s and o are of one process that has neither executed another program nor moved in between.
func (s Stat) SameProcess(o Stat) bool {
	return s.PID == o.PID && s.Start == o.Start && s.Comm == o.Comm && s.Parent == o.Parent && s.Group == o.Group && s.Session == o.Session
}

// Names gives one string to all equal names and folders: most processes share theirs with others.
type Names map[string]*string

// Intern is the string with these bytes.
func (n Names) Intern(text []byte) string { return *n.Pointer(text) }

// Pointer is where that string lies. It must not be changed there.
func (n Names) Pointer(text []byte) *string {
	kept, ok := n[string(text)]
	if !ok {
		kept = new(string(text))
		if n != nil {
			n[*kept] = kept
		}
	}
	return kept
}

// ParseStat reads the text of a stat file. The name in brackets may hold anything, brackets, spaces and newlines among it, so it
// ends at the last ')': all that follows is one letter and numbers. Beside an error the Stat is empty.
func ParseStat(text []byte) (Stat, error) { return Names(nil).ParseStat(text) }

// ParseStat is the function ParseStat with names that are kept once.
func (names Names) ParseStat(text []byte) (Stat, error) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 2 || end < open || text[open-1] != ' ' || len(text) < end+3 || text[end+1] != ' ' {
		return Stat{}, errStat
	}
	pid, ok := Number(text[:open-1])
	if !ok || pid <= 0 {
		return Stat{}, errStat
	}
	n := numbers{rest: text[end+3:]}
	s := Stat{PID: pid, State: text[end+2]}
	if s.State <= ' ' || s.State > '~' {
		return Stat{}, errStat
	}
	s.Parent, s.Group, s.Session = int(n.next()), int(n.next()), int(n.next())
	s.TTY, s.Foreground = int(n.next()), int(n.next())
	flags := n.next()
	s.Kernel, s.Exiting = flags&kernelThread != 0, flags&exiting != 0
	n.skip(4)
	s.CPU = n.next() + n.next() + n.next() + n.next()
	n.skip(2)
	s.Threads = int(n.next())
	n.skip(1)
	s.Start = uint64(n.next())
	n.skip(1)
	s.RSS = n.next() * pageSize
	if n.bad {
		return Stat{}, errStat
	}
	s.Comm = names.Intern(text[open+1 : end])
	return s, nil
}

// numbers takes whole numbers, one blank before each, from the front of a text.
type numbers struct {
	rest []byte
	bad  bool
}

func (n *numbers) skip(count int) {
	for range count {
		n.field()
	}
}

func (n *numbers) field() []byte {
	if len(n.rest) < 2 || n.rest[0] != ' ' {
		n.bad = true
		return nil
	}
	rest := n.rest[1:]
	end := bytes.IndexAny(rest, " \n")
	if end < 0 {
		end = len(rest)
	}
	n.rest = rest[end:]
	return rest[:end]
}

// next is the next number. What does not fit 63 bits is not a number that any of the fields used here can have.
func (n *numbers) next() int64 {
	f := n.field()
	neg := len(f) > 0 && f[0] == '-'
	if neg {
		f = f[1:]
	}
	if len(f) == 0 || len(f) > 18 {
		n.bad = true
		return 0
	}
	var v int64
	for _, c := range f {
		if c < '0' || c > '9' {
			n.bad = true
			return 0
		}
		v = v*10 + int64(c-'0')
	}
	if neg {
		return -v
	}
	return v
}

// Terminal names a terminal's device number the way ps does: pts/4, tty1, ttyS0, console; "" for no terminal. A terminal without a
// usual name is given as major:minor.
func Terminal(nr int) string {
	if nr == 0 {
		return ""
	}
	major, minor := device(nr)
	switch {
	case major >= 136 && major <= 143:
		return "pts/" + strconv.Itoa((major-136)*256+minor)
	case major == 4 && minor < 64:
		return "tty" + strconv.Itoa(minor)
	case major == 4:
		return "ttyS" + strconv.Itoa(minor-64)
	case major == 5 && minor == 1:
		return "console"
	}
	return strconv.Itoa(major) + ":" + strconv.Itoa(minor)
}

// Device is a terminal's device number as stat(2) gives it.
func Device(nr int) uint64 {
	major, minor := device(nr)
	return unix.Mkdev(uint32(major), uint32(minor))
}

// device takes apart the kernel's 32 bits of a device number (new_encode_dev in include/linux/kdev_t.h).
func device(nr int) (major, minor int) {
	dev := uint32(nr)
	return int(dev >> 8 & 0xfff), int(dev&0xff | dev>>12&0xfff00)
}

var errRan = errors.New("when it last ran is not in it")

// Ran is when the first thread of a process last ran.
type Ran struct {
	at        sched
	Processor int
}

// sched are times of a thread, on the clock of its processor (see Clocks). ran is se.exec_start: 0 in one that was moved to another processor, as it
// fell asleep too, and has not run there. counted is se.avg.last_update_time, when its load was last counted: at such a move or later; 0 is unknown.
type sched struct{ ran, counted time.Duration }

// ReadRan reads when the first thread of the process behind dir last ran. It fails where the kernel does not tell (before 6.15 without
// CONFIG_SCHED_DEBUG), and where the thread moved to another processor meanwhile.
func ReadRan(dir int, buf []byte) (Ran, error) {
	before, err := readProcessor(dir, buf)
	if err != nil {
		return Ran{}, err
	}
	at, err := readSched(dir, "sched", buf)
	if err != nil {
		return Ran{}, err
	}
	after, err := readProcessor(dir, buf)
	if err == nil && after != before {
		err = errors.New("it moved to another processor while it was read")
	}
	return Ran{at, after}, err
}

// readProcessor is field 39 of stat.
func readProcessor(dir int, buf []byte) (int, error) {
	text, err := ReadOnce(dir, "stat", buf)
	if err != nil {
		return 0, fmt.Errorf("read stat: %w", err)
	}
	n := numbers{rest: text[bytes.LastIndexByte(text, ')')+1:]}
	n.skip(36)
	if processor := n.next(); !n.bad {
		return int(processor), nil
	}
	return 0, errStat
}

func readSched(dir int, name string, buf []byte) (sched, error) {
	text, err := ReadOnce(dir, name, buf)
	if err != nil {
		return sched{}, fmt.Errorf("read sched: %w", err)
	}
	return parseSched(text)
}

// parseSched takes the times out of the text of a sched file (proc_sched_show_task in kernel/sched/debug.c): one in milliseconds with six digits
// behind the point, one in nanoseconds.
func parseSched(text []byte) (at sched, err error) {
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch string(bytes.TrimSpace(name)) {
		case "se.exec_start":
			if ms, rest, ok := bytes.Cut(value, []byte(".")); ok && len(rest) == 6 {
				at.ran = nanoseconds(string(ms) + string(rest))
			}
		case "se.avg.last_update_time":
			at.counted = nanoseconds(string(value))
		}
	}
	if at == (sched{}) {
		err = fmt.Errorf("read sched: %w", errRan)
	}
	return at, err
}

// nanoseconds is 0 for what is no time.
func nanoseconds(text string) time.Duration {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(max(0, n))
}

// Clocks are those of the processors' run queues, each read once when it is first asked for. They count while the machine is awake, leave out what
// interrupts and other guests of a host take, and so differ from one another.
type Clocks struct {
	mu   sync.Mutex
	read map[int]clock
}

type clock struct {
	now sched
	err error
}

// Since is for how long a thread has not run, at least, when the clock of its processor was first asked for. It fails where this process may not run on
// that processor.
func (c *Clocks) Since(r Ran) (time.Duration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	got, ok := c.read[r.Processor]
	if !ok {
		if c.read == nil {
			c.read = map[int]clock{}
		}
		got.now, got.err = readClock(r.Processor)
		c.read[r.Processor] = got
	}
	switch {
	case got.err != nil:
		return 0, got.err
	case r.at.ran > 0 && got.now.ran > 0:
		return max(0, got.now.ran-r.at.ran), nil
	case r.at.ran == 0 && r.at.counted > 0 && got.now.counted > 0:
		return max(0, got.now.counted-r.at.counted), nil
	}
	return 0, errRan
}

// readClock runs on that processor for a moment, and reads when it did.
func readClock(processor int) (sched, error) {
	runtime.LockOSThread()
	var before, one unix.CPUSet
	one.Set(processor)
	err := unix.SchedGetaffinity(0, &before)
	if err == nil {
		err = unix.SchedSetaffinity(0, &one)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return sched{}, fmt.Errorf("read the clock of processor %d: %w", processor, err)
	}
	now, err := readSched(unix.AT_FDCWD, "/proc/thread-self/sched", make([]byte, 8<<10))
	if unix.SchedSetaffinity(0, &before) == nil { // else the thread ends with its goroutine
		runtime.UnlockOSThread()
	}
	return now, err
}

// Scan reads every process's stat. What ends while it reads is left out, and so is what has ended.
func Scan(procRoot string) (map[int]Stat, error) {
	pids, err := PIDs(procRoot)
	if err != nil {
		return nil, err
	}
	dir, err := openFolder(procRoot)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer func() { _ = unix.Close(dir) }()
	buf, all, names := make([]byte, 8<<10), make(map[int]Stat, len(pids)), Names{}
	for _, pid := range pids {
		s, err := names.statOf(dir, pid, buf)
		switch {
		case Ended(err):
		case err != nil:
			return nil, fmt.Errorf("list processes: pid %d: %w", pid, err)
		case !s.Ended():
			all[pid] = s
		}
	}
	return all, nil
}

// Descendants lists what a process has below it, by what is directly below each, by pid.
func Descendants(sub map[int][]int, top int) (out []int) {
	seen := map[int]bool{top: true} // while processes come and go, what was read may run in a circle
	for open := []int{top}; len(open) > 0; {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		for _, pid := range sub[at] {
			if !seen[pid] {
				seen[pid] = true
				out, open = append(out, pid), append(open, pid)
			}
		}
	}
	return out
}

// PIDs lists the processes that the procfs at procRoot shows.
func PIDs(procRoot string) ([]int, error) {
	pids, err := List(unix.AT_FDCWD, procRoot, make([]byte, 64<<10))
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	return pids, nil
}

func openFolder(path string) (fd int, err error) {
	return unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// StatOf reads the stat of one process, which may be a zombie. Ended tells of its errors whether there is no such process.
func StatOf(procRoot string, pid int) (Stat, error) {
	dir, err := openFolder(procRoot)
	if err == nil {
		defer func() { _ = unix.Close(dir) }()
		var s Stat
		if s, err = Names(nil).statOf(dir, pid, make([]byte, 2048)); err == nil {
			return s, nil
		}
	}
	return Stat{}, fmt.Errorf("read stat of pid %d: %w", pid, err)
}

func (names Names) statOf(root, pid int, buf []byte) (Stat, error) {
	text, err := ReadOnce(root, strconv.Itoa(pid)+"/stat", buf)
	if err != nil {
		return Stat{}, err
	}
	return names.ParseStat(text)
}

// Hidden says that others' processes may be missing in what Scan gave, or nil: mounted with hidepid, procfs leaves them out.
func Hidden(all map[int]Stat) error {
	if _, ok := all[1]; !ok {
		return errors.New("list processes: pid 1 is not among them, so that others may be hidden too")
	}
	return nil
}

// Lineage lists pid and its ancestors, nearest first, as the procfs at procRoot shows them. It ends at the one that has no parent in this
// pid namespace: process 1, or one that was put into the namespace from outside. A parent that ends meanwhile hands its child to another, so
// then the line is read again, twice at most. Beside an error it is what was read of the line.
func Lineage(procRoot string, pid int) (line []int, err error) {
	root, err := openFolder(procRoot)
	if err != nil {
		return []int{pid}, fmt.Errorf("read the parent of pid %d: %w", pid, err)
	}
	defer func() { _ = unix.Close(root) }()
	for range 3 {
		if line, err = lineage(root, pid); err == nil {
			return line, nil
		}
	}
	return line, err
}

func lineage(root, pid int) (line []int, err error) {
	buf := make([]byte, 2048)
	for pid > 0 {
		if slices.Contains(line, pid) {
			return line, fmt.Errorf("read the parent of pid %d: it is among its own ancestors", pid)
		}
		line = append(line, pid)
		s, err := Names(nil).statOf(root, pid, buf)
		if err != nil {
			return line, fmt.Errorf("read the parent of pid %d: %w", pid, err)
		}
		pid = s.Parent
	}
	return line, nil
}
