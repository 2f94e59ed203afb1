package machine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/testkit/must"
)

// The names under which the test's own program plays other programs: process 1 of the machine, an agent that starts what it is told to,
// a program that only waits, and one that listens on a port. It goes by its name, since that is what /proc shows.
const (
	inside   = "WINNOW_TEST_MACHINE" // set for the test in the namespace
	source   = "WINNOW_TEST_SOURCE"  // the folder of the test's package
	roleVar  = "WINNOW_TEST_ROLE"    // what a started program plays
	initName = "init"
)

// Source is the folder of the test's package.
func Source() string { return os.Getenv(source) }

// Main runs the tests, or plays the program that it was started as.
func Main(m *testing.M) {
	switch {
	case filepath.Base(os.Args[0]) == initName && os.Getpid() == 1:
		os.Exit(beInit())
	case os.Getenv(roleVar) != "":
		play(os.Getenv(roleVar))
	}
	os.Exit(m.Run())
}

// Enter runs the calling test once more, in a process namespace of its own in which process 1 is an init, and reports whether this is that run. The
// other one fails when that fails, and has nothing more to do. Where the machine allows no such namespace the test is skipped.
func Enter(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inside) != "" {
		return true
	}
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("needs tmux")
	}
	cmd := must.Get(again(t.Context(), t.TempDir(), "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1"))(t)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == noNamespace, err != nil && exit == nil:
		t.Skipf("this machine allows no process namespace of its own: %v %s", err, out)
	case err != nil:
		t.Fatalf("in a process namespace of its own: %v\n%s", err, out)
	}
	t.Logf("%s", out)
	return false
}

// again is this program once more with other arguments, in namespaces of its own; dir is for the program that is process 1 there.
func again(ctx context.Context, dir string, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	wd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	first := filepath.Join(dir, initName)
	if err := copyFile(self, first); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, first, append([]string{self}, args...)...)
	// No process of the machine works in a repository that is not the machine's.
	cmd.Dir, cmd.Env = "/", append(os.Environ(), inside+"=1", source+"="+wd)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return cmd, nil
}

// Inside reports whether this is a run in namespaces of its own.
func Inside() bool { return os.Getenv(inside) != "" }

// MainInside is Main of a package whose tests all run in one process namespace of their own. Where the machine allows none they run all the same, and
// Inside is false.
func MainInside(m *testing.M) {
	if filepath.Base(os.Args[0]) == initName && os.Getpid() == 1 || Inside() {
		Main(m)
	}
	code := func() int {
		dir, err := os.MkdirTemp("", "machine-init-")
		if err != nil {
			return noNamespace
		}
		defer os.RemoveAll(dir)
		runtime.LockOSThread() // Pdeathsig is about the thread that started the child
		defer runtime.UnlockOSThread()
		cmd, err := again(context.Background(), dir, os.Args[1:]...)
		if err != nil {
			return noNamespace
		}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		err = cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			fmt.Fprintln(os.Stderr, err)
			return noNamespace
		}
		return cmd.ProcessState.ExitCode()
	}()
	if code != noNamespace {
		os.Exit(code)
	}
	Main(m)
}

// noNamespace is how the first process ends where it may not mount the namespace's /proc.
const noNamespace = 77

// beInit is process 1: it starts the one command that it was given, takes note of every orphan's end, and ends with the command's code.
// Everything else in the namespace then ends by the kernel's hand.
func beInit() int {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return noNamespace
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return noNamespace
	}
	p, err := os.StartProcess(os.Args[1], os.Args[1:], &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Env: os.Environ()})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, 0, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 1
		}
		if pid == p.Pid {
			if ws.Exited() {
				return ws.ExitStatus()
			}
			return 1
		}
	}
}

// play is what the programs of the machine do. Each ends at SIGTERM.
func play(role string) {
	end := make(chan os.Signal, 1)
	signal.Notify(end, unix.SIGTERM, unix.SIGHUP)
	switch role {
	case "listen":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		defer l.Close()
	case "busy":
		go func() {
			for time.Now().After(time.Time{}) {
			}
		}()
	case "starter":
		defer runtime.KeepAlive(lockThread())
		start()
	case "quit":
		os.Exit(0)
	}
	<-end
	os.Exit(0)
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(to, text, 0o755)
}
