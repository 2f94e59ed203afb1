package processes

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/proc"
)

// pipefs is the magic number of the file system that pipes without a name live in (PIPEFS_MAGIC of the kernel's magic.h).
const pipefs = 0x50495045

// inputEnded is true where nothing can ever come to a pinned process's standard input again and all that came was read: it is a pipe that no process
// anywhere can write to any more, or one end of a pair of unix sockets whose other end was closed. It is false where that is an open pipe or
// socket, and nil for every other input and where it is not known. Servers that speak with the program that started them over such an input cannot
// be spoken with again.
func (s *scan) inputEnded(dir int) *bool {
	if !s.root.procfs {
		return nil
	}
	text, err := proc.Readlink(dir, "fd/0", s.link)
	if err != nil {
		return nil
	}
	if inode, ok := socket(text); ok {
		return s.socketEnded(dir, inode)
	}
	if bytes.HasPrefix(text, []byte("pipe:[")) {
		return pipeEnded(dir)
	}
	return nil
}

func (s *scan) socketEnded(dir int, inode uint64) *bool {
	ns, err := proc.Readlink(dir, "ns/net", s.link)
	l := s.listeners()
	if err != nil || string(ns) != l.netns {
		return nil
	}
	u, ok := l.unix[inode]
	if !ok || u.datagrams || u.listens || !u.asked {
		return nil
	}
	return &u.ended
}

// pipeEnded asks the kernel, which knows of writers in every namespace and of descriptors on their way. The pipe is opened for reading only after it
// was shown to be one without a name, for opening anything else may change something. Nothing is read from it.
func pipeEnded(dir int) *bool {
	held, err := unix.Openat(dir, "fd/0", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(held)
	var fs unix.Statfs_t
	if err := unix.Fstatfs(held, &fs); err != nil || fs.Type != pipefs {
		return nil
	}
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(held), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	asked := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	if _, err := unix.Poll(asked, 0); err != nil || asked[0].Revents&(unix.POLLNVAL|unix.POLLERR) != 0 {
		return nil
	}
	return new(asked[0].Revents&unix.POLLHUP != 0 && asked[0].Revents&unix.POLLIN == 0)
}

// takesIn reports whether a process is one that orphans are handed to, by its number or its name: it says what is worth a look, and no more.
func (s *scan) takesIn(pid int) bool {
	if pid == 1 {
		return true
	}
	name, err := proc.ReadSome(s.root.fd, strconv.Itoa(pid)+"/comm", s.link)
	return err == nil && matches(KnownNames().Subreapers, string(bytes.TrimSuffix(name, []byte("\n"))))
}
