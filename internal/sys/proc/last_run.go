package proc

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

var (
	errRan   = errors.New("when it last ran is not in it")
	errMoved = errors.New("it moved to another processor while it was read")
)

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
		err = errMoved
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
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		runtime.UnlockOSThread()
		return sched{}, fmt.Errorf("read the clock of processor %d: %w", processor, err)
	}
	one.Set(processor)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		runtime.UnlockOSThread()
		return sched{}, fmt.Errorf("read the clock of processor %d: %w", processor, err)
	}
	now, err := readSched(unix.AT_FDCWD, "/proc/thread-self/sched", make([]byte, 8<<10))
	if unix.SchedSetaffinity(0, &before) == nil { // else the thread ends with its goroutine
		runtime.UnlockOSThread()
	}
	return now, err
}
