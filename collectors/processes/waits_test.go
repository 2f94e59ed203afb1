package processes

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// TestWaits: a program that waits without an end does something by itself where what it has open wakes it.
func TestWaits(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "waiter")
	executable.Waiter(t, program)
	for name, open := range map[string]func() (int, error){
		"":            func() (int, error) { return unix.EpollCreate1(unix.EPOLL_CLOEXEC) },
		"a timer":     func() (int, error) { return unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC) },
		"inotify":     func() (int, error) { return unix.InotifyInit1(unix.IN_CLOEXEC) },
		"a FIFO":      func() (int, error) { return unix.Open(fifo(t), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0) },
		"/dev/ptmx":   func() (int, error) { return unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0) },
		"a namespace": func() (int, error) { return unix.Open("/proc/self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0) },
	} {
		pid := run(t, nil, nil, os.NewFile(uintptr(must.Get(open())(t)), name), program)
		wait.Eventually(t, "how it waits with "+name, func() bool {
			p := askRecord(t, pid, pid)
			return p.Waits != nil && *p.Waits == (name == "")
		})
	}
}
