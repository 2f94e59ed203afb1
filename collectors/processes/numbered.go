package processes

import (
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// The numbers of the devices (the kernel's devices.txt): a process's own terminal by any name (/dev/tty), the masters of pseudo-terminals (/dev/ptmx), and
// the pseudo-terminals, whose minor number is theirs (/dev/pts).
const (
	ttyDevice, ttyMinor = 5, 0
	ptmxMinor           = 2
	ptsDevice           = 136

	masterLink  = "ptmx"
	eventfdLink = "anon_inode:[eventfd]"
)

// The lines of proc_pid_fdinfo(5) that number what a descriptor leads to: of a master the terminal that it is the other end of, of an eventfd itself.
const terminalNumber, eventfdNumber = "tty-index", "eventfd-id"

// terminalChannel is a terminal that a process has open, and that is not its own: whoever has the other end of a pseudo-terminal types there, and reads what is
// printed. It lost its name when the last one closed the other end.
func (s *scan) terminalChannel(dir int, name string, st *unix.Statx_t, own string) channel {
	number := int(st.Rdev_minor)
	switch {
	case st.Rdev_major == ptsDevice && st.Nlink > 0 && own != "pts/"+strconv.Itoa(number):
		return channel{open: new(true), end: end{link: masterLink, number: number + 1}}
	case st.Rdev_major == ttyDevice && st.Rdev_minor == ttyMinor && own == "":
		return unknownChannel // which one it was is not shown
	case st.Rdev_major == ttyDevice && st.Rdev_minor == ptmxMinor:
		number, err := numberOf(dir, "fdinfo/"+name, terminalNumber, s.Text)
		if err != nil {
			return unknownChannel
		}
		return channel{open: new(true), end: end{link: strconv.Itoa(number), number: number + 1}}
	}
	return noChannel
}

// eventfdChannel is an eventfd: whoever else has it wakes the process, or is woken by it.
func (s *scan) eventfdChannel(dir int, name string) channel {
	number, err := numberOf(dir, "fdinfo/"+name, eventfdNumber, s.Text)
	if err != nil {
		return unknownChannel
	}
	return channel{open: new(true), end: end{link: eventfdLink, number: number + 1}}
}

func numberOf(dir int, name, key string, buf []byte) (int, error) {
	text, err := proc.ReadOnce(dir, name, buf)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(proc.Word(text, key))
}

// atNumber reports whether a descriptor is that eventfd, or an end of that pseudo-terminal. A terminal of another container with its number counts too: that keeps more.
func (e end) atNumber(fds int, name string, buf []byte) bool {
	key := terminalNumber
	switch e.link {
	case eventfdLink:
		key = eventfdNumber
	default:
		var st unix.Statx_t
		if err := unix.Statx(fds, name, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
			return false
		}
		if e.link != masterLink {
			return st.Rdev_major == ptsDevice && int(st.Rdev_minor) == e.number-1
		}
	}
	number, err := numberOf(fds, "../fdinfo/"+name, key, buf)
	return err == nil && number == e.number-1
}
