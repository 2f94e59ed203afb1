package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// The names under which the test's own program plays other programs: process 1 of the machine, an agent that starts what it is told to,
// a program that only waits, and one that listens on a port. It goes by its name, since that is what /proc shows.
const (
	inside    = "TEST_IN_NAMESPACE" // set for the test in the namespace: the pid of the run outside
	source    = "TEST_SOURCE"       // the folder of the test's package
	temporary = "TEST_TEMPORARY"    // where process 1 may mount a file system for temporary files
	startsIn  = "TEST_STARTS_IN"    // the folder in which the test is started
	roleVar   = "WINNOW_TEST_ROLE"  // what a started program plays
	initName  = "init"
)

// Source is the folder of the test's package.
func Source() string { return os.Getenv(source) }

// Inside reports whether this is a run in namespaces of its own.
func Inside() bool { return os.Getenv(inside) != "" }

// Temp is a folder for temporary files that has a short path and that all users may enter: /tmp, or the one of the namespace.
func Temp() string {
	if Inside() {
		return os.TempDir()
	}
	return "/tmp"
}

// Unique is a number that no other run of tests has at the same time: the pid, of the run outside where this one is in a namespace of its own.
func Unique() int {
	if pid, err := strconv.Atoi(os.Getenv(inside)); err == nil {
		return pid
	}
	return os.Getpid()
}

// Main runs the tests, or plays the program that it was started as.
func Main(m *testing.M) {
	playInit()
	if role := os.Getenv(roleVar); role != "" {
		disguise()
		play(role)
	}
	CloseOnExec()
	defaultSignals()
	os.Exit(m.Run())
}

// CloseOnExec has nothing that the tests start get a descriptor that the tests were started with by mistake: a pipe of whoever runs the tests would have him
// speak with every process of theirs.
func CloseOnExec() { _ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) }

// defaultSignals ends that signals are ignored, as after nohup, or in the background of a script. What the tests start would ignore them too, and
// what ignores SIGHUP counts as meant to outlive what started it. A signal that is caught here has its default in what is started (execve(2)).
func defaultSignals() {
	for _, s := range []os.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// playInit is process 1, where this program was started as that.
func playInit() {
	if filepath.Base(os.Args[0]) == initName && os.Getpid() == 1 {
		os.Exit(beInit())
	}
}

// Enter runs the calling test once more, in a process namespace of its own in which process 1 is an init, and reports whether this is that run. The
// other one fails when that fails, and has nothing more to do. Where the machine allows no such namespace the test is skipped.
func Enter(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inside) != "" {
		return true
	}
	stage.NeedProgram(t, "tmux")
	cmd := must.Get(again(t.Context(), t.TempDir(), true, "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1"))(t)
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

// again is this program once more with other arguments, in namespaces of its own; dir is for the program that is process 1 there, and for temporary files. As root it is a made-up machine, in which a user
// plays root; else he remains who he is, and only process 1 may mount.
func again(ctx context.Context, dir string, asRoot bool, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	wd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	first, temp := filepath.Join(dir, initName), filepath.Join(dir, "t")
	if err := errors.Join(copyFile(self, first), os.Mkdir(temp, 0o755), os.Chmod(dir, 0o755)); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, first, append([]string{self}, args...)...)
	place := wd
	if asRoot { // no process of a made-up machine works in a repository that is not the machine's
		place = "/"
	}
	cmd.Dir, cmd.Env = "/", append(os.Environ(), inside+"="+strconv.Itoa(os.Getpid()), source+"="+wd, temporary+"="+temp, startsIn+"="+place)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	if os.Geteuid() != 0 {
		uid, gid := os.Geteuid(), os.Getegid()
		if asRoot {
			uid, gid = 0, 0
		} else {
			cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
		}
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: os.Getegid(), Size: 1}}
	}
	return cmd, nil
}

// Alone is for the TestMain of a package whose tests run the program, which looks at all processes: it runs the tests once more in namespaces of their own, where
// no other process of the machine is and none uses their temporary files, and ends as they do. In that run it
// returns. It returns too where the machine allows no such namespaces: then Inside is false, and the tests run beside all that the machine runs.
// Before it come the roles that the test's program plays.
func Alone() {
	playInit()
	if Inside() {
		return
	}
	CloseOnExec()
	defaultSignals()
	if code := runAlone(); code != noNamespace {
		os.Exit(code)
	}
	fmt.Fprintln(os.Stderr, "this machine allows no process namespace of its own: the tests see its other processes")
}

// runAlone gives the exit code of the tests in namespaces of their own, noNamespace where there are none.
func runAlone() int {
	dir, err := os.MkdirTemp("", "w")
	if err != nil {
		return noNamespace
	}
	defer os.RemoveAll(dir)
	runtime.LockOSThread() // Pdeathsig is about the thread that started the child
	defer runtime.UnlockOSThread()
	cmd, err := again(context.Background(), dir, false, os.Args[1:]...)
	if err != nil {
		return noNamespace
	}
	out := struct{ io.Writer }{os.Stdout} // has exec make a pipe: a process that writes a regular file counts as at work
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, out, out
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, err)
		return noNamespace
	}
	if !cmd.ProcessState.Exited() {
		return 1
	}
	return cmd.ProcessState.ExitCode()
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
	if err := mountTemp(os.Getenv(temporary)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return noNamespace
	}
	runtime.LockOSThread() // capabilities are those of the thread that starts the tests
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	p, err := os.StartProcess(os.Args[1], os.Args[1:], &os.ProcAttr{Dir: os.Getenv(startsIn), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Env: os.Environ()})
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

// mountTemp has temporary files lie where winnow knows that no process outside of the namespace uses them: on the root's mount, or on a temporary file system. Where
// they do not, one that only the namespace has is mounted at a folder, if the kernel keeps birth times on such a one.
func mountTemp(at string) error {
	if alone, err := unshared(os.TempDir()); err != nil || alone {
		return err
	}
	if err := unix.Mount("tests", at, "tmpfs", 0, "mode=1777"); err != nil {
		return err
	}
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, at, 0, unix.STATX_BTIME, &st); err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return unix.Unmount(at, 0)
	}
	return os.Setenv("TMPDIR", at)
}

// unshared reports whether a folder lies on the root's mount or on a temporary file system.
func unshared(dir string) (bool, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Type == unix.TMPFS_MAGIC {
		return err == nil, err
	}
	var here, root unix.Statx_t
	err := errors.Join(unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_MNT_ID, &here), unix.Statx(unix.AT_FDCWD, "/", 0, unix.STATX_MNT_ID, &root))
	return here.Mnt_id == root.Mnt_id, err
}

// play is what the programs of the machine do. Each ends at SIGTERM.
func play(role string) {
	end := make(chan os.Signal, 1)
	signal.Notify(end, unix.SIGTERM)
	if !signal.Ignored(unix.SIGHUP) { // as after nohup
		signal.Notify(end, unix.SIGHUP)
	}
	defer runtime.KeepAlive(lockThread())
	switch role {
	case "listen":
		network, at := "tcp", "127.0.0.1:0"
		if path := os.Getenv(socketVar); path != "" {
			network, at = "unix", path
		}
		l, err := net.Listen(network, at)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		defer l.Close()
		say(l.Addr().String())
	case "connect":
		defer connected().Close()
	case "work":
		go work()
	case "parent":
		defer runtime.KeepAlive(parent())
	case "busy":
		go func() {
			for time.Now().After(time.Time{}) {
			}
		}()
	case "starter":
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
