package codev

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"winnow/actuators"
	"winnow/actuators/panes"
)

// program is the file that every shellper runs.
const program = "shellper-main.js"

// held is a shellper that is held.
type held struct{ *panes.Held }

// wait waits until the process is over, for at most d and until ctx ends, and reports whether it is.
func (h *held) wait(ctx context.Context, d time.Duration) bool {
	return len(panes.Await(ctx, []*panes.Held{h.Held}, d)) == 0
}

// isShellper refuses a process that is not a shellper by its command line, now.
func (h *held) isShellper() error {
	_, err := h.arguments()
	return err
}

// arguments are what follows the program in a shellper's command line: an object that holds its socket and the whole environment of what
// it started. It is matched on, and neither kept nor shown.
func (h *held) arguments() ([][]byte, error) {
	argv, err := h.Read("cmdline")
	if panes.Ended(err) {
		return nil, actuators.Gone("pid %d has ended", h.PID)
	} else if err != nil {
		return nil, actuators.Refused("read the command line of pid %d: %w", h.PID, err)
	}
	args := bytes.Split(bytes.TrimSuffix(argv, []byte{0}), []byte{0})
	for i, arg := range args {
		if filepath.Base(string(arg)) == program {
			return args[i+1:], nil
		}
	}
	return nil, actuators.Refused("pid %d is no shellper by its command line", h.PID)
}

// mark is what a shellper's command line says of whose it is.
type mark struct {
	// sockets are the folders that it listens in, farms the state folders that it was started for; the default one is not named.
	sockets, farms []string
	// architect is true where it was started for an architect, whose conversation may be resumed.
	architect bool
}

func (h *held) mark() (m mark, err error) {
	args, err := h.arguments()
	if err != nil {
		return m, err
	}
	for _, arg := range args {
		var fields map[string]json.RawMessage
		if json.Unmarshal(arg, &fields) != nil {
			return m, actuators.Refused("the command line of pid %d is not like a shellper's", h.PID)
		}
		for _, field := range fields {
			m.take(field)
		}
	}
	return m, nil
}

// take reads a field of a shellper's argument: its socket's path, or the environment.
func (m *mark) take(field json.RawMessage) {
	var text string
	var env struct {
		Farm      string `json:"CODEV_AGENT_FARM_DIR"`
		Architect string `json:"CODEV_ARCHITECT_NAME"`
	}
	if json.Unmarshal(field, &text) == nil {
		if filepath.IsAbs(text) && filepath.Ext(text) == ".sock" {
			m.sockets = append(m.sockets, filepath.Dir(text))
		}
		return
	}
	if json.Unmarshal(field, &env) == nil && env.Farm != "" {
		m.farms = append(m.farms, env.Farm)
	}
	m.architect = m.architect || env.Architect != ""
}

// isOwn refuses a shellper that is not positively of the Codev whose sockets lie in sockets and whose state folder is folder. A folder
// counts as a whole: run2 is not run.
func (h *held) isOwn(sockets, folder string) (mark, error) {
	m, err := h.mark()
	switch {
	case err != nil:
		return m, err
	case !filepath.IsAbs(sockets):
		return m, actuators.Refused("where this Codev's sockets are is not known, so that pid %d cannot be told from another's; set SHELLPER_SOCKET_DIR", h.PID)
	case len(m.sockets) != 1 || !sameFile(m.sockets[0], sockets):
		return m, actuators.Refused("the socket of pid %d is not in %s, so that it may be another Codev's; set SHELLPER_SOCKET_DIR where it is this one's", h.PID, sockets)
	}
	for _, farm := range m.farms {
		if !sameFile(farm, folder) {
			return m, actuators.Refused("pid %d was started for another state folder than %s", h.PID, folder)
		}
	}
	return m, nil
}

func sameFile(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	one, err1 := os.Stat(a)
	two, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(one, two)
}

// idle refuses a shellper that something lives below: a child, a member of its session or process group, or whoever uses a terminal that it
// keeps open. What a shell left in the background is nobody's child any more, and still there.
func (h *held) idle(procRoot string) error {
	own, err := h.Stat()
	if errors.Is(err, panes.ErrEnded) {
		return actuators.Gone("pid %d has ended", h.PID)
	} else if err != nil {
		return actuators.Refused("pid %d: %w", h.PID, err)
	}
	kept, err := h.keeps()
	if err != nil {
		return actuators.Refused("find out which terminals pid %d keeps open: %w", h.PID, err)
	}
	pids, err := pidsOf(procRoot)
	if err != nil {
		return actuators.Refused("find out what lives below pid %d: %w", h.PID, err)
	}
	for _, pid := range pids {
		if pid == h.PID {
			continue
		}
		if err := belongs(procRoot, pid, h.PID, own); err != nil {
			return err
		}
		if uses(procRoot, pid, kept) {
			return actuators.Refused("pid %d uses the terminal that pid %d keeps open", pid, h.PID)
		}
	}
	return nil
}

// belongs refuses where the process pid lives below the shellper.
func belongs(procRoot string, pid, shellper int, own panes.Stat) error {
	text, err := os.ReadFile(filepath.Join(procRoot, strconv.Itoa(pid), "stat"))
	if panes.Ended(err) {
		return nil
	}
	var s panes.Stat
	if err == nil {
		s, err = panes.ParseStat(text)
	}
	switch {
	case err != nil:
		return actuators.Refused("find out what lives below pid %d: read stat of pid %d: %w", shellper, pid, err)
	case s.Over():
	case s.Parent == shellper:
		return actuators.Refused("pid %d lives below pid %d", pid, shellper)
	case s.Session == own.Session || s.Group == own.Group:
		return actuators.Refused("pid %d is in the session or process group of pid %d", pid, shellper)
	}
	return nil
}

// uses reports whether the process has one of the terminals open. What belongs to others may not be looked at, and is not the agent's.
func uses(procRoot string, pid int, terminals map[string]bool) bool {
	if len(terminals) == 0 {
		return false
	}
	dir := filepath.Join(procRoot, strconv.Itoa(pid), "fd")
	fds, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, fd := range fds {
		to, err := os.Readlink(filepath.Join(dir, fd.Name()))
		if parent, index := filepath.Split(to); err == nil && filepath.Base(parent) == "pts" && terminals[index] {
			return true
		}
	}
	return false
}

// keeps gives the numbers of the pseudo terminals that the process holds the other ends of: their names below /dev/pts.
func (h *held) keeps() (map[string]bool, error) {
	dir, err := h.Open("fd")
	if panes.Ended(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer dir.Close()
	fds, err := dir.Readdirnames(-1)
	if err != nil && !panes.Ended(err) {
		return nil, err
	}
	out := map[string]bool{}
	for _, fd := range fds {
		to, err := linkAt(dir, fd)
		if err == nil && filepath.Base(to) != "ptmx" || panes.Ended(err) {
			continue
		}
		var info []byte
		if err == nil {
			info, err = h.Read("fdinfo/" + fd)
		}
		if panes.Ended(err) {
			continue
		} else if err != nil {
			return nil, err
		}
		index, err := ttyIndex(info)
		if err != nil {
			return nil, err
		}
		out[index] = true
	}
	return out, nil
}

// linkAt reads where a link in an open folder leads.
func linkAt(dir *os.File, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(dir.Fd()), name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
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

// pidsOf lists the processes that a procfs shows.
func pidsOf(procRoot string) ([]int, error) {
	dir, err := os.Open(procRoot)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var out []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			out = append(out, pid)
		}
	}
	return out, nil
}
