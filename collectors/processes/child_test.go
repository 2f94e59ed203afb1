package processes_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// part names what this test binary plays when it is started as a child.
const part = "PROCESSES_TEST_PART"

func TestMain(m *testing.M) {
	play, ok := parts[os.Getenv(part)]
	if !ok {
		machine.Alone()
		machine.CloseOnExec()
		wait.Mostly()
		os.Exit(m.Run())
	}
	if err := play(os.Args[1:]); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// parts are what a child does before it waits for its standard input to close. It says one line when it is ready.
var parts = map[string]func(args []string) error{
	"idle":      func([]string) error { fmt.Println("ready"); return nil },
	"listen":    playListen,
	"dial":      playDial,
	"unix":      playUnix,
	"open":      playOpen,
	"begins":    playBegins,
	"headless":  playHeadless,
	"elsewhere": playElsewhere,
	"hidden":    playHidden,
	"hider":     playHider,
	"way":       playWay,
	"ask":       playAsk,
	"wrap":      playWrap,
}

func playListen([]string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	six, err := net.Listen("tcp", "[::1]:0")
	if err == nil {
		fmt.Println(l.Addr().(*net.TCPAddr).Port, six.Addr().(*net.TCPAddr).Port)
	} else {
		fmt.Println(l.Addr().(*net.TCPAddr).Port)
	}
	go func() { _, _ = l.Accept() }()
	return nil
}

// playUnix has one unix socket of each sort: args[0] listens at a path, args[1] takes datagrams there, @args[2] listens; a pair without a
// name, and one that is bound to nothing, do not count.
func playUnix(args []string) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	if _, err := unix.Write(pair[0], []byte{1}); err != nil {
		return err
	}
	for i, name := range args {
		kind := unix.SOCK_STREAM
		if i == 1 {
			kind = unix.SOCK_DGRAM
		}
		fd, err := unix.Socket(unix.AF_UNIX, kind, 0)
		if err != nil {
			return err
		}
		if err := unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err != nil {
			return err
		}
		if kind == unix.SOCK_STREAM {
			if err := unix.Listen(fd, 1); err != nil {
				return err
			}
		}
	}
	fmt.Println("ready")
	return nil
}

var kept *os.File

func playOpen(args []string) error {
	var err error
	kept, err = os.Open(args[0])
	fmt.Println("ready")
	return err
}

// playBegins has the folder args[0] open for a moment, and then becomes the program args[1], which has not.
func playBegins(args []string) error {
	if err := playOpen(args); err != nil {
		return err
	}
	time.Sleep(10 * time.Millisecond)
	return syscall.Exec(args[1], []string{args[1], "60"}, os.Environ())
}

// playHeadless ends the process's first thread and lives on in others: a zombie by its state, with a working directory.
func playHeadless([]string) error {
	ended := make(chan struct{})
	for range 200 {
		go func() {
			runtime.LockOSThread()
			if unix.Gettid() == os.Getpid() {
				close(ended)
				_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
			}
			time.Sleep(20 * time.Millisecond)
			runtime.UnlockOSThread()
		}()
	}
	select {
	case <-ended:
	case <-time.After(wait.Patience):
		return fmt.Errorf("the first thread took no part")
	}
	for {
		text, err := os.ReadFile("/proc/self/task/" + fmt.Sprint(os.Getpid()) + "/stat")
		if err != nil || strings.Contains(string(text), ") Z ") {
			break
		}
		time.Sleep(time.Millisecond)
	}
	fmt.Println("ready")
	return nil
}

// playElsewhere, in a mount namespace of its own, works in a part of the folder args[0] under another name.
func playElsewhere(args []string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount(args[0]+"/src", args[1], "", unix.MS_BIND, ""); err != nil {
		return err
	}
	if err := os.Chdir(args[1] + "/deep"); err != nil {
		return err
	}
	fmt.Println("ready")
	return nil
}

// playHidden mounts a procfs that hides others, in a mount namespace of its own, and reads it as a plain user.
func playHidden(args []string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("proc", args[0], "proc", 0, "hidepid="+args[1]+",gid=4242"); err != nil {
		return err
	}
	if err := becomePlain(); err != nil {
		return err
	}
	part, err := processes.New(processes.Options{Root: args[0]}).Read(contextOf())
	_, known, herr := processes.Holders(contextOf(), processes.HolderOptions{Root: args[0]}, []string{"/nonexistent"})
	own := 0
	for _, p := range part.Processes {
		if p.PID == os.Getpid() {
			own++
		}
	}
	return json.NewEncoder(os.Stdout).Encode(hidden{part.Partial, fmt.Sprint(err), own, known, fmt.Sprint(herr)})
}

// becomePlain gives up root's rights, in this order.
func becomePlain() error {
	return cmp.Or(syscall.Setgroups(nil), syscall.Setgid(65534), syscall.Setuid(65534))
}

type hidden struct {
	Partial bool
	Error   string
	Own     int
	Known   bool
	Holders string
}

// playHider runs as it is and cannot be read by its own user.
func playHider([]string) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	fmt.Println("ready")
	return nil
}

// child is a running part.
type child struct {
	*exec.Cmd
	// said is the line that it was ready with.
	said string
}

// start runs a part, waits until it is ready and ends it with the test.
func start(t *testing.T, play string, change func(*exec.Cmd), args ...string) child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe, args...)
	c.Env = []string{part + "=" + play, "HOME=/nonexistent", "SECRET=not to be kept"}
	c.Stderr = os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{}
	if change != nil {
		change(c)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.HasPrefix(said, "failed:") {
		t.Fatalf("child %s said %q: %v", play, said, err)
	}
	return child{c, strings.TrimSpace(said)}
}

// look reads one child out of this machine's /proc.
func look(t *testing.T, o processes.Options, pid int) snapshot.Process {
	t.Helper()
	o.Root, o.Classes = "/proc", []string{processes.Marked, processes.CwdDeleted}
	got, err := processes.New(o).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for id, p := range got.Processes {
		if p.PID == pid {
			if want := snapshot.ProcessID(pid, p.StartTicks); id != want {
				t.Errorf("id %q, want %q", id, want)
			}
			return *p
		}
	}
	t.Fatalf("process %d is not in the snapshot", pid)
	return snapshot.Process{}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
}
