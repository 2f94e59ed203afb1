package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"

	"github.com/winnow-reaper/winnow/engine/eval"
	"golang.org/x/sys/unix"
)

const (
	// wallFactor is by how many times the memory of one evaluation the process that judges apart may grow in all. The watchdog stops
	// an evaluation at one; what gets by it, in one step of a built-in function, ends at the wall.
	wallFactor = 2
	// minWall is what it may grow in any case: loading policies takes memory too.
	minWall = 160 << 20
	// maxStack is how many bytes the stack of one goroutine may have: a parser that is led in deeper ends.
	maxStack = 64 << 20
	// maxOpen is how many files the process may have open: its pipes and what the runtime needs.
	maxOpen = 32
)

// settleIn takes from this process what judging does not need: files of its own, a folder to stand in, a dump of its memory. It is called while nothing runs but the process's own code.
func settleIn() error {
	_ = os.WriteFile("/proc/self/comm", []byte("winnow-judge"), 0) // else it is called exe; no more than a name
	if err := os.Chdir("/"); err != nil {
		return err
	}
	debug.SetMaxStack(maxStack)
	for what, most := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_NOFILE: maxOpen} {
		if err := unix.Setrlimit(what, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("set limit %d: %w", what, err)
		}
	}
	return nil
}

// wall bounds the memory that this process may still take. The kernel holds it: a Go program that gets no more memory ends.
func wall(l eval.Limits) error {
	writable, resident, err := memory()
	if err != nil {
		return fmt.Errorf("bound memory: %w", err)
	}
	l = l.WithDefaults()
	if l.HeapBytes > math.MaxInt64/4 {
		return nil
	}
	debug.SetMemoryLimit(int64(resident + l.HeapBytes)) // collect garbage before the wall is reached
	// What the runtime has taken and does not use yet is as good as used.
	most := max(resident+max(wallFactor*l.HeapBytes, minWall), writable+l.HeapBytes)
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: most, Max: most}); err != nil {
		return fmt.Errorf("bound memory: %w", err)
	}
	return nil
}

// memory is what RLIMIT_DATA counts, the pages that this process can write and shares with no other, and what of them and of all
// others it has in memory, in bytes.
func memory() (writable, resident uint64, err error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, 0, err
	}
	fields := bytes.Fields(text) // proc_pid_statm(5): size resident shared text lib data dt
	if len(fields) < 6 {
		return 0, 0, errors.New("/proc/self/statm has another form")
	}
	resident, err1 := strconv.ParseUint(string(fields[1]), 10, 64)
	writable, err2 := strconv.ParseUint(string(fields[5]), 10, 64)
	page := uint64(os.Getpagesize())
	return writable * page, resident * page, errors.Join(err1, err2)
}

// endWith ends this process when the other end of its pipe is closed: the process that asked has ended, and no answer is awaited.
func endWith(fd uintptr) {
	for {
		p := []unix.PollFd{{Fd: int32(fd)}} // no events: an end is told unasked
		n, err := unix.Poll(p, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n > 0 {
			os.Exit(0)
		}
	}
}
