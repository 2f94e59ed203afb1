package proc

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
