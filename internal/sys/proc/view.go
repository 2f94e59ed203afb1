package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// View says what another process means by a path and by a number of a process, compared with this one.
type View struct {
	// Mounts is true where it has this process's mounts and root folder, so that a path leads both to the same file.
	Mounts bool
	// PIDs is true where it is in this process's pid namespace, so that a number is the same process for both.
	PIDs bool
}

// ViewOf compares a process with this one. procRoot must show the pid namespace of this process. Any user may read what is compared: the first mount that each sees, whose number
// no other mount namespace has, and the numbers of the process (NSpid in proc_pid_status(5)).
func ViewOf(procRoot string, pid int) (View, error) {
	dir, err := openFolder(procRoot)
	if err != nil {
		return View{}, fmt.Errorf("read the mounts of pid %d: %w", pid, err)
	}
	defer func() { _ = unix.Close(dir) }()
	mounts, numbers := [2]string{}, [2]int{}
	for i, at := range []string{"self", strconv.Itoa(pid)} {
		text, err := ReadSome(dir, at+"/mountinfo", make([]byte, 16<<10))
		var inner []int
		if err == nil {
			inner, err = innerNumbers(dir, at, make([]byte, 8<<10))
		}
		if err != nil {
			return View{}, fmt.Errorf("read the mounts of pid %d: %w", pid, err)
		}
		line, _, _ := bytes.Cut(text, []byte("\n"))
		mounts[i], numbers[i] = string(line), len(inner)
	}
	return View{Mounts: mounts[0] != "" && mounts[0] == mounts[1], PIDs: numbers[0] == numbers[1]}, nil
}

// SameThere reports whether a path, absolute and clean, leads a process with other mounts or another root folder to the same file or folder as this process. Where nothing is there
// for either, the deepest folder on the path that is there is compared. An error says that this could not be found out.
func SameThere(procRoot string, pid int, path string) (bool, error) {
	root, err := unix.Open(filepath.Join(procRoot, strconv.Itoa(pid), "root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, fmt.Errorf("read the root folder of pid %d: %w", pid, err)
	}
	defer func() { _ = unix.Close(root) }()
	for ; ; path = filepath.Dir(path) {
		var here, there unix.Stat_t
		errHere, errThere := unix.Stat(path, &here), statIn(root, path, &there)
		noneHere, noneThere := errors.Is(errHere, fs.ErrNotExist), errors.Is(errThere, fs.ErrNotExist)
		switch {
		case errHere == nil && errThere == nil:
			return here.Dev == there.Dev && here.Ino == there.Ino, nil
		case noneHere && noneThere && path != "/":
		case noneHere || noneThere:
			return false, nil
		default:
			return false, fmt.Errorf("read %s, and what pid %d has there: %w", path, pid, errors.Join(errHere, errThere))
		}
	}
}

// statIn is stat of a path below another root folder, which no link of it leads out of.
func statIn(root int, path string, st *unix.Stat_t) error {
	fd, err := OpenIn(root, path)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.Fstat(fd, st)
}

// OpenIn opens a path as a place (O_PATH), below another root folder, which no link of it leads out of. The kernel walks it again where
// something anywhere on the machine was renamed meanwhile. The errors are the kernel's.
func OpenIn(root int, path string) (fd int, err error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	for range 1000 { // a bound for somebody who renames all the time
		if fd, err = unix.Openat2(root, path, &how); !errors.Is(err, unix.EAGAIN) {
			break
		}
	}
	return fd, err
}

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
	own := "" // this process's pid namespace where it is the procfs's too: then it has one number
	if numbers, err := innerNumbers(dir, "self", buf); err == nil && len(numbers) == 0 {
		link, _ := Readlink(dir, "self/ns/pid", buf)
		own = string(link)
	}
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
