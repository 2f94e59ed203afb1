package processes_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/collectors/processes/holders"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/parts"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func TestMain(m *testing.M) { parts.Main(m, plays) }

var plays = map[string]func(args []string) error{
	"idle": parts.Idle, "hider": parts.Hide, "listen": playListen, "dial": playDial, "unix": playUnix, "headless": playHeadless, "hidden": playHidden,
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

// playHidden mounts a procfs that hides others, in a mount namespace of its own, and reads it as a plain user.
func playHidden(args []string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("proc", args[0], "proc", 0, "hidepid="+args[1]+",gid=4242"); err != nil {
		return err
	}
	if err := parts.BecomePlain(); err != nil {
		return err
	}
	part, err := processes.New(processes.Options{Root: args[0]}).Read(contextOf())
	_, known, herr := holders.Find(contextOf(), holders.Options{Root: args[0]}, []string{"/nonexistent"})
	own := 0
	for _, p := range part.Processes {
		if p.PID == os.Getpid() {
			own++
		}
	}
	return json.NewEncoder(os.Stdout).Encode(hidden{part.Partial, fmt.Sprint(err), own, known, fmt.Sprint(herr)})
}

type hidden struct {
	Partial bool
	Error   string
	Own     int
	Known   bool
	Holders string
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
