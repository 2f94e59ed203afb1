package processes

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/proc"
)

// interactive says whether a shell of this user's takes commands from the person at its terminal, see snapshot.Process. Nil is not
// known. Its command line is read into a buffer, and nothing else of it is kept.
func (s *scan) interactive(dir int, st proc.Stat, p *snapshot.Process) *bool {
	if len(s.o.Shells) == 0 || *p.UID != s.uid || st.Kernel || st.Gone() {
		return nil
	}
	kind := s.shell(p)
	if kind == "" {
		return nil
	}
	text, err := proc.ReadSome(dir, "cmdline", s.text)
	if err != nil {
		return nil
	}
	how := started(kind, arguments(text))
	switch {
	case how == told:
		return new(false)
	case how == unclear || len(text) == len(s.text): // what follows was not read
		return nil
	}
	return s.listens(dir, kind, st, p)
}

// shell is the name of the shell that a process is, "" for another program: by the file that it was started from, for it may go by the name of a
// script, and by its own name.
func (s *scan) shell(p *snapshot.Process) string {
	if p.Exe != nil {
		if file := path.Base(strings.TrimSuffix(*p.Exe, deleted)); slices.Contains(s.o.Shells, file) {
			return file
		}
	}
	if slices.Contains(s.o.Shells, p.Name) {
		return p.Name
	}
	return ""
}

// listens says whether what the shell reads commands from is its terminal, and nothing shows that it does something else just now. One
// that is not in front of its terminal waits for the process that is, which shows nothing.
func (s *scan) listens(dir int, kind string, st proc.Stat, p *snapshot.Process) *bool {
	if *p.TTY == "" {
		return new(false)
	}
	link, err := proc.Readlink(dir, input(kind), s.link)
	switch {
	case err != nil:
		return nil
	case string(link) != "/dev/tty" && string(link) != "/dev/"+*p.TTY:
		return new(false)
	case st.Foreground != st.Group:
		return new(true)
	case st.State != 'S': // it works, or is stopped
		return nil
	case s.waitsElsewhere(dir):
		return new(false)
	case slices.Contains(editors, kind) && !s.edits(dir, kind, st):
		return nil
	}
	return new(true)
}

// input is the descriptor that a shell reads commands from. Those of csh's family move it away from 0 (FSHIN in their sh.h).
func input(kind string) string {
	if kind == "csh" || kind == "tcsh" {
		return "fd/16"
	}
	return "fd/0"
}

// waits are the beginnings of the kernel's names for where a process sleeps that are never those of a shell at its prompt, which
// selects, polls or reads from its terminal: in a pipe or FIFO, or when one is opened (fs/pipe.c), in a socket, in a sleep. So a script
// that was sourced shows itself.
var waits = []string{"pipe_", "anon_pipe_", "fifo_", "wait_for_partner", "unix_stream_", "unix_accept", "sk_wait_", "inet_", "hrtimer_nanosleep", "do_nanosleep"}

func (s *scan) waitsElsewhere(dir int) bool {
	where, err := proc.ReadOnce(dir, "wchan", s.link)
	return err == nil && slices.ContainsFunc(waits, func(w string) bool { return bytes.HasPrefix(where, []byte(w)) })
}

// editors are the shells that edit lines unless a person turned that off.
var editors = []string{"bash", "fish", "zsh"}

// edits reports whether the shell's terminal is as one that edits lines has it while it waits for a command, and only then: it does not
// hand over whole lines (ICANON, see termios(3)). Asking changes nothing, and does not make it the controlling terminal of this process.
func (s *scan) edits(dir int, kind string, st proc.Stat) bool {
	// It is only opened once it is held and positively that terminal: opening a FIFO wakes the process that waits at its other end.
	held, err := unix.Openat(dir, input(kind), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(held) }()
	var device unix.Stat_t
	if unix.Fstat(held, &device) != nil || device.Mode&unix.S_IFMT != unix.S_IFCHR || device.Rdev != proc.Device(st.TTY) {
		return false
	}
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(held), unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	mode, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil && mode.Lflag&unix.ICANON == 0
}
