package panes

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
)

// Places after the name in brackets, which ends at the last ')', and the flag of kernel threads (proc_pid_stat(5),
// include/linux/sched.h).
const (
	fieldState      = 0
	fieldParent     = 4 - 3
	fieldGroup      = 5 - 3
	fieldSession    = 6 - 3
	fieldTTY        = 7 - 3
	fieldForeground = 8 - 3
	fieldFlags      = 9 - 3
	fieldThreads    = 20 - 3
	fieldStart      = 22 - 3
	fieldRSS        = 24 - 3
	kernelThread    = 0x200000
)

// Stat is what a process's stat file says.
type Stat struct {
	Comm                   string
	State                  byte
	Parent, Group, Session int
	// TTY is 0 where the process has no terminal; Foreground is the process group in front of it.
	TTY, Foreground int
	// Kernel is true of kernel threads.
	Kernel  bool
	Threads int
	// Start is in clock ticks since boot, RSS in bytes.
	Start uint64
	RSS   int64
}

// Over reports whether nothing of the process runs any more: a zombie's other threads may live on.
func (s Stat) Over() bool {
	return (s.State == 'Z' || s.State == 'X' || s.State == 'x') && s.Threads <= 1
}

// ParseStat reads a stat's text. The name may hold anything; what follows its last parenthesis is letters and numbers only. Beside
// an error the Stat is empty.
func ParseStat(text []byte) (Stat, error) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return Stat{}, errors.New("read stat: no name in it")
	}
	fields := bytes.Fields(text[end+1:])
	if len(fields) <= fieldRSS || len(fields[fieldState]) != 1 {
		return Stat{}, errors.New("read stat: cut short")
	}
	var bad error
	number := func(i int) int {
		n, err := strconv.ParseInt(string(fields[i]), 10, 64)
		bad = cmp.Or(bad, err)
		return int(n)
	}
	s := Stat{Comm: string(text[open+1 : end]), State: fields[fieldState][0], Parent: number(fieldParent), Group: number(fieldGroup),
		Session: number(fieldSession), TTY: number(fieldTTY), Foreground: number(fieldForeground), Kernel: number(fieldFlags)&kernelThread != 0,
		Threads: number(fieldThreads), Start: uint64(number(fieldStart)), RSS: int64(number(fieldRSS)) * int64(os.Getpagesize())}
	if bad != nil {
		return Stat{}, fmt.Errorf("read stat: %w", bad)
	}
	return s, nil
}
