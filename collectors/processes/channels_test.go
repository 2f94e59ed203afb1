package processes

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// TestInputEnded holds real programs' inputs: a pipe and a pair of sockets, each before and after the other end was closed.
func TestInputEnded(t *testing.T) {
	t.Parallel()
	for name, pair := range map[string]func() (ours, theirs *os.File, err error){
		"pipe": func() (*os.File, *os.File, error) {
			r, w, err := os.Pipe()
			return w, r, err
		},
		"sockets": func() (*os.File, *os.File, error) {
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			return os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs"), err
		},
	} {
		for _, unread := range []bool{false, true} {
			ours, theirs, err := pair()
			must.Do(t, err)
			dir := sleeper(t, theirs)
			must.Do(t, theirs.Close())
			if unread {
				_, err := ours.WriteString("a request")
				must.Do(t, err)
			}
			if ended := askInput(t, dir); ended == nil || *ended {
				t.Errorf("%s, its other end is open: ended is %v", name, text(ended))
			}
			must.Do(t, ours.Close())
			if unread {
				if ended := askInput(t, dir); ended == nil || *ended {
					t.Errorf("%s, its other end was closed and not all was read: ended is %v", name, text(ended))
				}
				continue
			}
			ends(t, name+", its other end was closed", dir)
		}
	}
}

// TestAnyOtherInputIsUnknown: what is no pipe tells nothing.
func TestAnyOtherInputIsUnknown(t *testing.T) {
	t.Parallel()
	f := must.Get(os.OpenFile(os.DevNull, os.O_RDWR, 0))(t)
	null := sleeper(t, f)
	must.Do(t, f.Close())
	if ended := askInput(t, null); ended != nil {
		t.Errorf("/dev/null: ended is %v", *ended)
	}
	datagrams := must.Get(unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0))(t)
	theirs := os.NewFile(uintptr(datagrams[1]), "theirs")
	dir := sleeper(t, theirs)
	must.Do(t, errors.Join(unix.Close(datagrams[0]), theirs.Close()))
	if ended := askInput(t, dir); ended != nil {
		t.Errorf("datagrams: ended is %v", *ended)
	}
}

// TestAnInputThatAnotherCopyOfTheWritingEndKeepsOpen: every copy counts, whoever has it.
func TestAnInputThatAnotherCopyOfTheWritingEndKeepsOpen(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	must.Do(t, err)
	dir := sleeper(t, r)
	other := exec.Command("sleep", "60")
	other.Stdout = w
	other.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must.Do(t, errors.Join(other.Start(), r.Close(), w.Close()))
	if ended := askInput(t, dir); ended == nil || *ended {
		t.Errorf("another process can write to it: ended is %v", text(ended))
	}
	must.Do(t, other.Process.Kill())
	_ = other.Wait()
	ends(t, "the last writer has ended", dir)
}

// ends waits until an input has ended: a program that another test is just starting has a copy of every descriptor for a moment.
func ends(t *testing.T, what string, dir int) {
	t.Helper()
	wait.Eventually(t, what, func() bool {
		ended := askInput(t, dir)
		return ended != nil && *ended
	})
}

func text(v *bool) any {
	if v == nil {
		return "unknown"
	}
	return *v
}

// sleeper starts a program with that input and gives its folder below /proc.
func sleeper(t *testing.T, in *os.File) int {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	cmd.Stdin, cmd.SysProcAttr = in, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	r := must.Get(host.Open("/proc"))(t)
	t.Cleanup(r.Close)
	dir := must.Get(r.Pin(cmd.Process.Pid))(t)
	t.Cleanup(func() { _ = unix.Close(dir) })
	return dir
}

func askInput(t *testing.T, dir int) *bool {
	t.Helper()
	r := must.Get(host.Open("/proc"))(t)
	defer r.Close()
	s := newScan(r, Options{Log: hclog.NewNullLogger()})
	if s.listeners().unix == nil {
		t.Skip("this machine has no socket diagnosis")
	}
	return s.inputEnded(dir)
}
