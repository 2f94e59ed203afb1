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
	// At is on the clock of the processor on which it did, see Clocks.
	At        time.Duration
	Processor int
}

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

func readSched(dir int, name string, buf []byte) (time.Duration, error) {
	text, err := ReadOnce(dir, name, buf)
	if err != nil {
		return 0, fmt.Errorf("read sched: %w", err)
	}
	return parseSched(text)
}

// parseSched takes se.exec_start out of the text of a sched file (proc_sched_show_task in kernel/sched/debug.c): milliseconds, with six digits behind
// the point. It is 0 in a thread that is being moved to another processor.
func parseSched(text []byte) (time.Duration, error) {
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		if string(bytes.TrimSpace(name)) != "se.exec_start" {
			continue
		}
		ms, rest, ok := bytes.Cut(bytes.TrimSpace(value), []byte("."))
		if n, err := strconv.ParseInt(string(ms)+string(rest), 10, 64); ok && len(rest) == 6 && err == nil && n > 0 {
			return time.Duration(n), nil
		}
	}
	return 0, fmt.Errorf("read sched: %w", errRan)
}

// Clocks are those of the processors' run queues, each read once when it is first asked for. They count while the machine is awake, leave out what
// interrupts and other guests of a host take, and so differ from one another.
type Clocks struct {
	mu   sync.Mutex
	read map[int]clock
}

type clock struct {
	now time.Duration
	err error
}

// Now is the time on the clock of a processor when it was first asked for. It fails where this process may not run on that processor.
func (c *Clocks) Now(processor int) (time.Duration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if got, ok := c.read[processor]; ok {
		return got.now, got.err
	}
	if c.read == nil {
		c.read = map[int]clock{}
	}
	var got clock
	got.now, got.err = readClock(processor)
	c.read[processor] = got
	return got.now, got.err
}

// readClock runs on that processor for a moment, and reads when it did.
func readClock(processor int) (time.Duration, error) {
	runtime.LockOSThread()
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		runtime.UnlockOSThread()
		return 0, fmt.Errorf("read the clock of processor %d: %w", processor, err)
	}
	one.Set(processor)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		runtime.UnlockOSThread()
		return 0, fmt.Errorf("read the clock of processor %d: %w", processor, err)
	}
	now, err := readSched(unix.AT_FDCWD, "/proc/thread-self/sched", make([]byte, 8<<10))
	if unix.SchedSetaffinity(0, &before) == nil { // else the thread ends with its goroutine
		runtime.UnlockOSThread()
	}
	return now, err
}
