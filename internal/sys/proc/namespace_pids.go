package proc

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// errNumbers says that the text of a status file does not tell a process's numbers.
var errNumbers = errors.New("its numbers are not known")

// Inner gives the processes of pid namespaces below that of the procfs at procRoot, by each number that they have there. Those of this process's own
// namespace have none, where that is the procfs's: of them a link is read, and of all others what tells their numbers. What ends meanwhile is left out.
func Inner(procRoot string) (map[int][]Stat, error) {
	pids, err := PIDs(procRoot)
	if err != nil {
		return nil, err
	}
	dir, err := openFolder(procRoot)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer func() { _ = unix.Close(dir) }()
	buf, inner := make([]byte, 8<<10), map[int][]Stat{}
	own := outer(dir, buf)
	for _, pid := range pids {
		at := strconv.Itoa(pid)
		if own != "" {
			if link, err := Readlink(dir, at+"/ns/pid", buf); err == nil && string(link) == own {
				continue
			}
		}
		numbers, err := innerNumbers(dir, at, buf)
		var s Stat
		if err == nil && len(numbers) > 0 {
			s, err = Names(nil).statOf(dir, pid, buf)
		}
		if Ended(err) || err == nil && s.Ended() {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the numbers of pid %d: %w", pid, err)
		}
		for _, n := range numbers {
			inner[n] = append(inner[n], s)
		}
	}
	return inner, nil
}

// outer names this process's pid namespace where it is the procfs's too, "" elsewhere: then it has one number.
func outer(dir int, buf []byte) string {
	if numbers, err := innerNumbers(dir, "self", buf); err != nil || len(numbers) > 0 {
		return ""
	}
	link, _ := Readlink(dir, "self/ns/pid", buf)
	return string(link)
}

// innerNumbers are those of a process, or a thread, in the namespaces below (NSpid in proc_pid_status(5)).
func innerNumbers(dir int, at string, buf []byte) (numbers []int, err error) {
	text, err := ReadOnce(dir, at+"/status", buf)
	if err != nil {
		return nil, err
	}
	fields, ok := statusField(text, "NSpid")
	if !ok || len(fields) == 0 {
		return nil, errNumbers
	}
	for _, f := range fields[1:] {
		n, ok := Number(f)
		if !ok {
			return nil, errNumbers
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// Leads reports whether a number is a process's, and not one of its further threads', which have a folder too that is not listed.
func Leads(procRoot string, pid int) (bool, error) {
	dir, err := openFolder(procRoot)
	if err == nil {
		defer func() { _ = unix.Close(dir) }()
		var text []byte
		if text, err = ReadOnce(dir, strconv.Itoa(pid)+"/status", make([]byte, 8<<10)); err == nil {
			if number := Word(text, "Tgid"); number != "" {
				return number == strconv.Itoa(pid), nil
			}
			err = errNumbers
		}
	}
	return false, fmt.Errorf("read status of pid %d: %w", pid, err)
}

// Word is the one word of a line of a status file, but for its first line; "" where there is no such line, or not one word.
func Word(text []byte, name string) string {
	f, _ := statusField(text, name)
	if len(f) != 1 {
		return ""
	}
	return string(f[0])
}

// statusField are the words of a line of a status file.
func statusField(text []byte, name string) ([][]byte, bool) {
	_, rest, ok := bytes.Cut(text, []byte("\n"+name+":"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return bytes.Fields(line), ok
}
