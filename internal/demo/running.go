package demo

import (
	"os"

	"golang.org/x/sys/unix"
)

// IsRunning reports whether the process that p pins still runs; a zombie does not.
func IsRunning(p *os.Process) bool {
	running := false
	err := p.WithHandle(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		running = err == nil && n == 0
	})
	return err == nil && running
}
