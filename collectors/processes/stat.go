package processes

import (
	"bytes"
	"errors"
	"strconv"
)

// PF_KTHREAD and PF_EXITING of the kernel's include/linux/sched.h, as they stand in field 9 of stat.
const (
	kernelThread = 0x200000
	exiting      = 0x4
)

// userHZ is how many clock ticks stat counts a second. The kernel converts to it for user space, and it is 100 on every
// architecture that Go runs on, whatever the kernel's own tick.
const userHZ = 100

var errStat = errors.New("not the text of a stat file")

// stat holds what is used of /proc/N/stat, see proc_pid_stat(5).
type stat struct {
	pid     int
	comm    string
	state   byte
	ppid    int
	pgid    int
	session int
	tty     int
	// foreground is tpgid, -1 without a terminal.
	foreground int
	flags      uint64
	// cpu is utime, stime, cutime and cstime together, in ticks.
	cpu     int64
	threads int
	// start is in ticks since boot, rss in pages.
	start uint64
	rss   int64
}

// gone reports whether nothing of the process runs any more: it is a zombie, or on its way there. A leader that called
// pthread_exit is a zombie whose other threads live on.
func (s stat) gone() bool {
	return (s.state == 'Z' || s.state == 'X' || s.flags&exiting != 0) && s.threads <= 1
}

// same reports whether s and o are of one process that has neither executed another program nor moved in between.
func (s stat) same(o stat) bool {
	return s.pid == o.pid && s.start == o.start && s.comm == o.comm && s.ppid == o.ppid && s.pgid == o.pgid && s.session == o.session
}

// parseStat reads the text of a stat file. The name in brackets may hold anything, brackets, spaces and newlines among it, so it
// ends at the last ')': all that follows is one letter and numbers.
func parseStat(text []byte, intern func([]byte) string) (stat, error) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 2 || end < open || text[open-1] != ' ' || len(text) < end+3 || text[end+1] != ' ' {
		return stat{}, errStat
	}
	pid, err := strconv.Atoi(string(text[:open-1]))
	if err != nil || pid <= 0 {
		return stat{}, errStat
	}
	n := numbers{rest: text[end+3:]}
	s := stat{pid: pid, state: text[end+2]}
	if s.state <= ' ' || s.state > '~' {
		return stat{}, errStat
	}
	s.ppid, s.pgid, s.session = int(n.next()), int(n.next()), int(n.next())
	s.tty, s.foreground = int(n.next()), int(n.next())
	s.flags = uint64(n.next())
	n.skip(4)
	s.cpu = n.next() + n.next() + n.next() + n.next()
	n.skip(2)
	s.threads = int(n.next())
	n.skip(1)
	s.start = uint64(n.next())
	n.skip(1)
	s.rss = n.next()
	if n.bad {
		return stat{}, errStat
	}
	s.comm = intern(text[open+1 : end])
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

// next is the next number. What does not fit 63 bits is no number that any of the fields used here can have.
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

// terminal names a terminal's device number the way ps does: pts/4, tty1, ttyS0, console; "" for none. One that has no usual
// name is given as major:minor.
func terminal(nr int) string {
	if nr == 0 {
		return ""
	}
	dev := uint32(nr)
	major, minor := int(dev>>8&0xfff), int(dev&0xff|dev>>12&0xfff00)
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
