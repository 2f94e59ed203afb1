package processes

import (
	"bytes"
	"errors"
	"strconv"
)

// flagKthread is PF_KTHREAD in field 9 of stat, from the kernel's include/linux/sched.h.
const flagKthread = 0x200000

var errStat = errors.New("its stat is no text of proc_pid_stat(5)")

// stat is what is needed of /proc/<pid>/stat.
type stat struct {
	comm    string
	state   byte
	flags   uint64
	threads int
	// start is in clock ticks since boot.
	start uint64
}

func (s stat) kernel() bool { return s.flags&flagKthread != 0 }

// dead reports whether nothing of the process runs any more. A leader that called pthread_exit is a zombie while its threads
// live on.
func (s stat) dead() bool {
	return s.threads <= 1 && (s.state == 'Z' || s.state == 'X' || s.state == 'x')
}

// parseStat reads a stat's text. The name may hold anything, a closing parenthesis and newlines too: what follows the last
// parenthesis is letters and numbers only.
func parseStat(text []byte) (stat, error) {
	from, to := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if from < 0 || to < from {
		return stat{}, errStat
	}
	s := stat{comm: string(text[from+1 : to])}
	// fields[0] is field 3 of proc_pid_stat(5); nothing is needed after field 22.
	var fields [20][]byte
	n := 0
	for f := range bytes.FieldsSeq(text[to+1:]) {
		if fields[n] = f; n == len(fields)-1 {
			break
		}
		n++
	}
	if n != len(fields)-1 || len(fields[0]) != 1 {
		return stat{}, errStat
	}
	s.state = fields[0][0]
	var err [3]error
	s.flags, err[0] = strconv.ParseUint(string(fields[9-3]), 10, 64)
	s.threads, err[1] = strconv.Atoi(string(fields[20-3]))
	s.start, err[2] = strconv.ParseUint(string(fields[22-3]), 10, 64)
	if err != [3]error{} {
		return stat{}, errStat
	}
	return s, nil
}
