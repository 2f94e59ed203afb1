package tower

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// Users finds, for each shellper, the processes that do not live below it and are at work in its terminal all the same: they have a terminal
// open which it keeps, or are in a session or group that it is in and does not lead. What a shell left in the background is such a process.
// What belongs to other users cannot be looked at, and is not the agent's. The error says that this could not be found out.
func Users(root string, shellpers ...int) (map[int][]int, error) {
	kept, shared := map[string]int{}, map[int]int{}
	for _, pid := range shellpers {
		dir := filepath.Join(root, strconv.Itoa(pid))
		terminals, err := keeps(dir)
		own, ended := statOf(root, pid)
		if err = errors.Join(err, unlessEnded(ended)); err != nil {
			return nil, fmt.Errorf("find out who uses the terminal that pid %d keeps open: %w", pid, err)
		}
		for _, index := range terminals {
			kept[index] = pid
		}
		for _, n := range []int{own.Session, own.Group} {
			if ended == nil && n != pid {
				shared[n] = pid
			}
		}
	}
	if len(kept) == 0 && len(shared) == 0 {
		return nil, nil
	}
	pids, err := proc.PIDs(root)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	out := map[int][]int{}
	for _, pid := range pids {
		tops := uses(filepath.Join(root, strconv.Itoa(pid), "fd"), kept)
		if len(shared) > 0 {
			s, err := statOf(root, pid)
			if unlessEnded(err) != nil {
				return nil, fmt.Errorf("find out which session pid %d is in: %w", pid, err)
			}
			tops = append(tops, shared[s.Session], shared[s.Group])
		}
		for _, top := range tops {
			if top > 0 && !slices.Contains(out[top], pid) && !isBelow(root, pid, top) {
				out[top] = append(out[top], pid)
			}
		}
	}
	return out, nil
}

// statOf reads a process's stat, and gives proc.ErrEnded where it has ended.
func statOf(root string, pid int) (proc.Stat, error) {
	s, err := proc.StatOf(root, pid)
	if err == nil && s.Ended() {
		return proc.Stat{}, proc.ErrEnded
	}
	return s, err
}

// uses lists the shellpers of whose terminals one is open in a folder of descriptors.
func uses(dir string, kept map[string]int) (out []int) {
	fds, _ := os.ReadDir(dir) // what cannot be read is another user's, or has ended
	for _, fd := range fds {
		to, err := os.Readlink(filepath.Join(dir, fd.Name()))
		if parent, index := filepath.Split(to); err == nil && filepath.Base(parent) == "pts" && kept[index] > 0 {
			out = append(out, kept[index])
		}
	}
	return out
}

// isBelow reports whether a process is top, or lives below it: as a child, as a member of a session or group that one of these leads, and so on.
func isBelow(root string, pid, top int) bool {
	seen := map[int]bool{}
	for open := []int{pid}; len(open) > 0; {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		if at == top {
			return true
		}
		if seen[at] {
			continue
		}
		seen[at] = true
		if s, err := statOf(root, at); err == nil {
			open = append(open, s.Parent, s.Session, s.Group)
		}
	}
	return false
}

// keeps gives the numbers of the pseudo terminals that a process holds the other ends of: their names below /dev/pts.
func keeps(dir string) (out []string, err error) {
	fds, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		return nil, unlessEnded(err)
	}
	for _, fd := range fds {
		to, err := os.Readlink(filepath.Join(dir, "fd", fd.Name()))
		if err == nil && filepath.Base(to) != "ptmx" {
			continue
		}
		var index string
		if err == nil {
			var info []byte
			if info, err = os.ReadFile(filepath.Join(dir, "fdinfo", fd.Name())); err == nil {
				index, err = ttyIndex(info)
			}
		}
		switch {
		case err == nil:
			out = append(out, index)
		case unlessEnded(err) != nil:
			return nil, err
		}
	}
	return out, nil
}

// unlessEnded leaves out an error that says that the process has ended, or that the descriptor was closed.
func unlessEnded(err error) error {
	if err == nil || proc.Ended(err) {
		return nil
	}
	return err
}

// ttyIndex reads from a descriptor's info which pseudo terminal it is the other end of (tty_show_fdinfo in drivers/tty/tty_io.c).
func ttyIndex(info []byte) (string, error) {
	for line := range bytes.Lines(info) {
		if rest, ok := bytes.CutPrefix(line, []byte("tty-index:")); ok {
			index := string(bytes.TrimSpace(rest))
			if _, err := strconv.ParseUint(index, 10, 32); err != nil {
				return "", fmt.Errorf("read tty-index: %w", err)
			}
			return index, nil
		}
	}
	return "", errors.New("this kernel does not say which")
}
