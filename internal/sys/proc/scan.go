package proc

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

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

// tries is how often a line of parents is read again that changes while it is read.
const tries = 3

// Lineage lists pid and its ancestors, nearest first, as the procfs at procRoot shows them. It ends at the one that has no parent in this
// pid namespace: process 1, or one that was put into the namespace from outside. A parent that ends meanwhile hands its child to another, so
// then the line is read again. Beside an error it is what was read of the line.
func Lineage(procRoot string, pid int) (line []int, err error) {
	root, err := openFolder(procRoot)
	if err != nil {
		return []int{pid}, fmt.Errorf("read the parent of pid %d: %w", pid, err)
	}
	defer func() { _ = unix.Close(root) }()
	for range tries {
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
