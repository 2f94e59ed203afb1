package processes

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// The numbers of the devices (the kernel's devices.txt): a process's own terminal by whatever name (/dev/tty), the masters of pseudo-terminals (/dev/ptmx), and
// the pseudo-terminals, whose minor number is theirs (/dev/pts).
const (
	ttyDevice, ttyMinor = 5, 0
	ptmxMinor           = 2
	ptsDevice           = 136

	masterLink = "ptmx"
)

// terminalChannel is a terminal that a process has open, and that is not its own: whoever has the other end of a pseudo-terminal types there, and reads what is
// printed. It lost its name when the last one closed the other end.
func (s *scan) terminalChannel(dir int, name string, st *unix.Statx_t, own string) channel {
	number := int(st.Rdev_minor)
	switch {
	case st.Rdev_major == ptsDevice && st.Nlink > 0 && own != "pts/"+strconv.Itoa(number):
		return channel{open: new(true), end: end{link: masterLink, terminal: number + 1}}
	case st.Rdev_major == ttyDevice && st.Rdev_minor == ttyMinor && own == "":
		return unknownChannel // which one it was is not shown
	case st.Rdev_major == ttyDevice && st.Rdev_minor == ptmxMinor:
		number, err := masterOf(dir, "fdinfo/"+name, s.text)
		if err != nil {
			return unknownChannel
		}
		return channel{open: new(true), end: end{link: strconv.Itoa(number), terminal: number + 1}}
	}
	return noChannel
}

// masterOf is the number of the terminal that a master is the other end of (tty-index, proc_pid_fdinfo(5)).
func masterOf(dir int, name string, buf []byte) (int, error) {
	text, err := proc.ReadOnce(dir, name, buf)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if number, ok := bytes.CutPrefix(line, []byte("tty-index:")); ok {
			return strconv.Atoi(string(bytes.TrimSpace(number)))
		}
	}
	return 0, unix.ENODATA
}

// atTerminal reports whether a descriptor is an end of the pseudo-terminal. One of another container with its number counts too: that keeps more.
func (e end) atTerminal(fds int, name string, buf []byte) bool {
	var st unix.Statx_t
	if err := unix.Statx(fds, name, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return false
	}
	if e.link != masterLink {
		return st.Rdev_major == ptsDevice && int(st.Rdev_minor) == e.terminal-1
	}
	number, err := masterOf(fds, "../fdinfo/"+name, buf)
	return err == nil && number == e.terminal-1
}
