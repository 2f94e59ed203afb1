package act

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func TestSignalFallsBackToThePidfd(t *testing.T) {
	t.Parallel()
	c := exec.Command("sleep", "1000")
	must.Do(t, c.Start())
	t.Cleanup(func() { _, _ = c.Process.Kill(), c.Wait() })
	h := must.Get(Hold("/proc", c.Process.Pid))(t)
	defer h.Close()
	// A kernel that takes no folder answers EBADF, as this one does for an O_PATH descriptor.
	path, err := unix.Open(filepath.Join("/proc", strconv.Itoa(h.PID)), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must.Do(t, err)
	defer func() { _ = unix.Close(path) }()
	if err := unix.PidfdSendSignal(path, 0, nil, 0); !errors.Is(err, unix.EBADF) {
		t.Skipf("this kernel answers %v to an O_PATH descriptor", err)
	}
	_, pidfd := h.FDs()
	must.Do(t, send(path, pidfd, unix.SIGKILL))
	_ = c.Wait()
	if err := h.Signal(0); !errors.Is(err, proc.ErrEnded) {
		t.Errorf("a signal to a process that has ended: %v", err)
	}
}

type never struct{ err error }

func (n never) Check(int, int, string, bool) error { return n.err }

func TestAllowed(t *testing.T) {
	t.Parallel()
	h := must.Get(Hold("/proc", os.Getpid()))(t)
	defer h.Close()
	for _, want := range []error{nil, errors.New("no")} {
		if got := h.Allowed(never{want}, h.Was); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}
