package processes

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// The ways through a descriptor, as the mode of its link in /proc/<pid>/fd shows them.
const (
	toRead  = 0o400
	toWrite = 0o200
)

// channel is what a process has at a descriptor, as a way by which others can speak with it.
type channel struct {
	// open is true where some process has the other end, or something waits to be read; false where no process has it, and for what has no other
	// end: a file, /dev/null, a terminal, a closed descriptor. nil is unknown.
	open *bool
	// private is true for a pipe and for one of a pair of sockets: no process can open the other end by its name.
	private bool
	end
}

// end is the other end of a channel, as the descriptors of its holders show it.
type end struct {
	// link is what a holder's link says: pipe:[inode], socket:[inode of the other socket], or the last name in the path of a FIFO or a terminal.
	link string
	// fifo is the FIFO, zero for all else.
	fifo fifoID
	// named is true for a FIFO that has a path, by which any process may open it.
	named bool
	// way is what a holder of a pipe or a FIFO must be able to do with it.
	way uint32
	// number is that of a pseudo-terminal or of an eventfd, and one more: 0 for all else.
	number int
}

// fifoID identifies a FIFO under all its names.
type fifoID struct{ dev, ino uint64 }

// opposite is what the holder of the other end can do.
func opposite(way uint32) uint32 { return toRead ^ toWrite ^ way }

var (
	unknownChannel = channel{}
	noChannel      = channel{open: new(false)}
)

// inputEnded is true where nothing can ever come to a pinned process's standard input again and all that came was read: it is a pipe that no process
// anywhere can write to any more, or one end of a pair of unix sockets whose other end was closed. It is false where that, or a FIFO, is open, and
// nil for every other input and where it is not known. Servers that speak with the program that started them over such an input cannot be
// spoken with again.
func (s *scan) inputEnded(dir int) *bool { return s.channel(dir, "0", toRead).ended() }

func (c channel) ended() *bool {
	if c.open == nil || !*c.open && !c.private {
		return nil // who opens a FIFO by its path speaks with the process
	}
	return new(!*c.open)
}

// channel is what a pinned process can read from, or write to, at one of its descriptors.
func (s *scan) channel(dir int, fd string, way uint32) channel {
	if !s.root.Procfs {
		return unknownChannel
	}
	var st unix.Stat_t
	err := unix.Fstatat(dir, "fd/"+fd, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) || err == nil && st.Mode&way == 0 {
		return noChannel
	}
	if err != nil {
		return unknownChannel
	}
	text, err := proc.Readlink(dir, "fd/"+fd, s.Link)
	if err != nil {
		return unknownChannel
	}
	if inode, ok := proc.SocketInode(text); ok {
		return s.listeners().channel(inode, way)
	}
	if bytes.HasPrefix(text, []byte("pipe:[")) {
		return channel{open: pipeOpen(dir, "fd/"+fd, way), private: true, end: end{link: string(text), way: opposite(way)}}
	}
	return s.fileChannel(dir, "fd/"+fd, string(text), way)
}

// journal is the socket to which services, and what they start, print for the machine's log. It is a file to them: no program answers there.
const journal = "/run/systemd/journal/stdout"

// channel is a unix socket as what a process reads from or writes to. One of another network namespace may be unknown.
func (l listeners) channel(inode uint64, way uint32) channel {
	u := l.unix[inode]
	switch {
	case !u.asked || u.datagrams || u.listens:
		return unknownChannel
	case way == toWrite && l.unix[u.peer].name == journal:
		return noChannel
	}
	over := u.ended
	if way == toWrite {
		over = u.unheard
	}
	return channel{open: new(!over), private: true, end: end{link: socketLink(u.peer)}}
}

// datagramSinks are names to which datagrams are no conversation: logs, and what a service manager is told.
var datagramSinks = []string{
	"/dev/log", "/run/systemd/journal/dev-log", "/run/systemd/journal/socket", "/run/systemd/journal/syslog", "/run/systemd/notify", "/run/rsyslog/dev/log",
}

// pair is a unix socket as what a process has at any of its descriptors: one that was made together with its other end, neither of which has a name, and one
// for datagrams that is connected, whose other end may have a name. The connections of all others are counted (talk).
func (l listeners) pair(inode uint64) channel {
	u, ok := l.unix[inode]
	other := l.unix[u.peer]
	switch {
	case !ok || u.listens:
		return noChannel
	case u.datagrams && !u.asked:
		return unknownChannel
	case u.datagrams && (u.peer == 0 || slices.Contains(datagramSinks, other.name)),
		!u.datagrams && (!u.asked || u.name != "" || other.name != "" || u.ended && u.unheard):
		return noChannel
	}
	return channel{open: new(true), end: end{link: socketLink(u.peer)}}
}

func socketLink(inode uint64) string { return "socket:[" + strconv.FormatUint(inode, 10) + "]" }

// pipeOpen asks the kernel, which knows of readers and writers in every namespace and of descriptors on their way. The pipe or FIFO is opened only in the
// way in which the process has it open itself, which wakes no process that waits for the other side. Nothing is read or written: tee(2) tells what a read
// would find.
func pipeOpen(dir int, name string, way uint32) *bool {
	held, err := unix.Openat(dir, name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(held)
	var st unix.Stat_t
	if err := unix.Fstat(held, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
		return nil
	}
	flags := unix.O_RDONLY
	if way == toWrite {
		flags = unix.O_WRONLY
	}
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(held), flags|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if way == toWrite && errors.Is(err, unix.ENXIO) {
		return new(false)
	}
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	if way == toWrite {
		return hasReader(fd)
	}
	return hasWriter(fd)
}

func hasReader(fd int) *bool {
	asked := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	if _, err := unix.Poll(asked, 0); err != nil || asked[0].Revents&unix.POLLNVAL != 0 {
		return nil
	}
	return new(asked[0].Revents&unix.POLLERR == 0)
}

// hasWriter is true too where something waits to be read.
func hasWriter(fd int) *bool {
	var into [2]int
	if unix.Pipe2(into[:], unix.O_CLOEXEC) != nil {
		return nil
	}
	defer unix.Close(into[0])
	defer unix.Close(into[1])
	switch n, err := unix.Tee(fd, into[1], 1, unix.SPLICE_F_NONBLOCK); {
	case err == nil:
		return new(n > 0)
	case errors.Is(err, unix.EAGAIN):
		return new(true)
	}
	return nil
}

// fileChannel is what has a path, or no name at all. A FIFO that no process has open for writing gives its reader the end of the input, so that a
// program which waits for whoever opens the path keeps it open for writing itself. The file system is not asked, for it may be one that does not answer.
func (s *scan) fileChannel(dir int, name, link string, way uint32) channel {
	var st unix.Statx_t
	if err := unix.Statx(dir, name, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_NLINK|unix.STATX_INO, &st); err != nil {
		return unknownChannel
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG, unix.S_IFDIR, unix.S_IFBLK:
		return noChannel
	case unix.S_IFCHR:
		if plainDevice(st.Rdev_major, st.Rdev_minor) {
			return noChannel
		}
	case unix.S_IFIFO:
		if s.answers(st.Dev_major, st.Dev_minor) {
			at := end{link: path.Base(strings.TrimSuffix(link, proc.Deleted)), fifo: fifoID{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino}, named: st.Nlink > 0, way: opposite(way)}
			return channel{open: pipeOpen(dir, name, way), end: at}
		}
	}
	return unknownChannel
}

// local are the file systems that need no other program, and no other machine, to answer.
var local = []string{"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "bcachefs", "tmpfs", "ramfs", "devtmpfs", "overlay"}

// answers reports whether a file system is surely one of those.
func (s *scan) answers(major, minor uint32) bool {
	device := fmt.Sprintf("%d:%d", major, minor)
	return slices.ContainsFunc(s.mounts(), func(m proc.Mount) bool { return m.Device == device && slices.Contains(local, m.Kind) })
}

// plainDevice is true for /dev/null and its like, and for a terminal: other facts tell whether a person sits there. It is false for the other side of
// terminals (/dev/ptmx). The numbers are those of the kernel's devices.txt.
func plainDevice(major, minor uint32) bool {
	const mem, tty, console, ptmx, firstPTS, lastPTS = 1, 4, 5, 2, 136, 143
	return major == mem || major == tty || major == console && minor != ptmx || major >= firstPTS && major <= lastPTS
}

// takesIn reports whether a process is one that orphans are handed to, by its number or its name: it says what is worth a look, and no more.
func (s *scan) takesIn(pid int) bool {
	takes, known := s.taking[pid]
	if !known && pid != 1 {
		name, err := proc.ReadSome(s.root.FD, strconv.Itoa(pid)+"/comm", s.Link)
		takes = err == nil && matches(host.KnownNames().Subreapers, string(bytes.TrimSuffix(name, []byte("\n"))))
		s.taking[pid] = takes
	}
	return takes || pid == 1
}

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
