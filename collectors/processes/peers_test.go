package processes

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// spoken is what is known of who speaks with a process; nil is unknown.
type spoken struct {
	Ended, Read *bool
	Peers       *[]int
}

// shower is the name of a multiplexer's server.
const shower = "shower"

// TestPeers holds real programs against who really speaks with them. Each case starts one and says what is known of it; me is this test.
func TestPeers(t *testing.T) {
	t.Parallel()
	me := os.Getpid()
	yes, no := new(true), new(false)
	for name, begin := range map[string]func(*testing.T) (pid int, want spoken){
		"pipes that are open": func(t *testing.T) (int, spoken) {
			in, out := openPipe(t), openPipe(t)
			return run(t, in[0], out[1], nil), spoken{no, yes, &[]int{me}}
		},
		"pipes whose other ends were closed": func(t *testing.T) (int, spoken) {
			in, out := openPipe(t), openPipe(t)
			pid := run(t, in[0], out[1], nil)
			shut(t, in[1], out[0])
			return pid, spoken{yes, no, &[]int{}}
		},
		"an input that was closed, and an output that is read": func(t *testing.T) (int, spoken) {
			in, out := openPipe(t), openPipe(t)
			pid := run(t, in[0], out[1], nil)
			shut(t, in[1])
			return pid, spoken{yes, yes, &[]int{me}}
		},
		"/dev/null and a file": func(t *testing.T) (int, spoken) {
			return run(t, nil, must.Get(os.Create(filepath.Join(t.TempDir(), "log")))(t), nil), spoken{nil, no, &[]int{}}
		},
		"closed descriptors": func(t *testing.T) (int, spoken) {
			return run(t, nil, nil, nil, "sh", "-c", "exec <&- >&- 2>&-; sleep 1000"), spoken{nil, no, &[]int{}}
		},
		"something waits to be read, and nobody writes": func(t *testing.T) (int, spoken) {
			in := openPipe(t)
			pid := run(t, in[0], nil, nil)
			must.Get(in[1].WriteString("a request"))(t)
			shut(t, in[1])
			return pid, spoken{no, no, nil}
		},
		"a pair of sockets": func(t *testing.T) (int, spoken) {
			pair := openPair(t)
			return run(t, pair[0], dup(t, pair[0]), nil), spoken{no, yes, &[]int{me}}
		},
		"a pair of sockets whose other end was closed": func(t *testing.T) (int, spoken) {
			pair := openPair(t)
			pid := run(t, pair[0], dup(t, pair[0]), nil)
			shut(t, pair[1])
			return pid, spoken{yes, no, &[]int{}}
		},
		"a pair of sockets beside its output, as between Node.js and what it forks": func(t *testing.T) (int, spoken) {
			return run(t, nil, nil, openPair(t)[0]), spoken{nil, no, &[]int{me}}
		},
		"its input is a pipe that it writes to, and its output one that it reads": func(t *testing.T) (int, spoken) {
			return run(t, openPipe(t)[1], openPipe(t)[0], nil), spoken{nil, no, &[]int{me}}
		},
		"a pair of sockets for its input that nobody writes to, and somebody reads": func(t *testing.T) (int, spoken) {
			pair := openPair(t)
			pid := run(t, pair[0], nil, nil)
			must.Do(t, unix.Shutdown(int(pair[1].Fd()), unix.SHUT_WR))
			return pid, spoken{yes, no, &[]int{me}}
		},
		"a pipe beside its input that another process writes to": func(t *testing.T) (int, spoken) {
			return run(t, nil, nil, openPipe(t)[0]), spoken{nil, no, &[]int{me}}
		},
		"a pipe beside its output that another process reads": func(t *testing.T) (int, spoken) {
			return run(t, nil, nil, openPipe(t)[1]), spoken{nil, no, &[]int{me}}
		},
		"a pipe beside its input that nobody writes to": func(t *testing.T) (int, spoken) {
			p := openPipe(t)
			pid := run(t, nil, nil, p[0])
			shut(t, p[1])
			return pid, spoken{nil, no, &[]int{}}
		},
		"a pipe beside its output that nobody reads": func(t *testing.T) (int, spoken) {
			p := openPipe(t)
			pid := run(t, nil, nil, p[1])
			shut(t, p[0])
			return pid, spoken{nil, no, &[]int{}}
		},
		"a FIFO beside its input that another process writes to": func(t *testing.T) (int, spoken) {
			path := fifo(t)
			both := must.Get(os.OpenFile(path, os.O_RDWR, 0))(t)
			t.Cleanup(func() { _ = both.Close() })
			return run(t, nil, nil, must.Get(os.OpenFile(path, os.O_RDONLY, 0))(t)), spoken{nil, no, &[]int{me}}
		},
		"a FIFO beside its input that it has open for writing itself": func(t *testing.T) (int, spoken) {
			return run(t, nil, nil, must.Get(os.OpenFile(fifo(t), os.O_RDWR, 0))(t)), spoken{nil, no, nil}
		},
		"pipes of its own, as event loops have": func(t *testing.T) (int, spoken) {
			p := openPipe(t)
			pid := run(t, nil, nil, p[0], "sh", "-c", `exec 4>"$0"; sleep 1000`, fmt.Sprintf("/proc/%d/fd/%d", me, p[1].Fd()))
			wait.Eventually(t, "it has both ends", func() bool { return hasOpen(pid, 4) })
			shut(t, p[1])
			return pid, spoken{nil, no, &[]int{}}
		},
		"a pair for datagrams beside its input": func(t *testing.T) (int, spoken) {
			return run(t, nil, nil, openPairOf(t, unix.SOCK_DGRAM)[0]), spoken{nil, no, &[]int{me}}
		},
		"a pair for datagrams whose other end was closed": func(t *testing.T) (int, spoken) {
			pair := openPairOf(t, unix.SOCK_DGRAM)
			pid := run(t, nil, nil, pair[0])
			shut(t, pair[1])
			return pid, spoken{nil, no, &[]int{}}
		},
		"a pair for packets beside its input": func(t *testing.T) (int, spoken) {
			return run(t, nil, nil, openPairOf(t, unix.SOCK_SEQPACKET)[0]), spoken{nil, no, &[]int{me}}
		},
		"a pair for packets whose other end was closed": func(t *testing.T) (int, spoken) {
			pair := openPairOf(t, unix.SOCK_SEQPACKET)
			pid := run(t, nil, nil, pair[0])
			shut(t, pair[1])
			return pid, spoken{nil, no, &[]int{}}
		},
		"datagrams that it sends to a name": func(t *testing.T) (int, spoken) {
			at := &net.UnixAddr{Name: filepath.Join(t.TempDir(), "socket"), Net: "unixgram"}
			l := must.Get(net.ListenUnixgram("unixgram", at))(t)
			t.Cleanup(func() { _ = l.Close() })
			c := must.Get(net.DialUnix("unixgram", nil, at))(t)
			pid := run(t, nil, nil, must.Get(c.File())(t))
			must.Do(t, c.Close())
			return pid, spoken{nil, no, &[]int{me}}
		},
		"datagrams that it sent to a name that was closed": func(t *testing.T) (int, spoken) {
			at := &net.UnixAddr{Name: filepath.Join(t.TempDir(), "socket"), Net: "unixgram"}
			l := must.Get(net.ListenUnixgram("unixgram", at))(t)
			c := must.Get(net.DialUnix("unixgram", nil, at))(t)
			pid := run(t, nil, nil, must.Get(c.File())(t))
			must.Do(t, errors.Join(c.Close(), l.Close()))
			return pid, spoken{nil, no, &[]int{}}
		},
		"an eventfd that another process has": func(t *testing.T) (int, spoken) {
			fd := os.NewFile(uintptr(must.Get(unix.Eventfd(0, unix.EFD_CLOEXEC))(t)), "eventfd")
			t.Cleanup(func() { _ = fd.Close() })
			return run(t, nil, nil, dup(t, fd)), spoken{nil, no, &[]int{me}}
		},
		"an eventfd of its own": func(t *testing.T) (int, spoken) {
			fd := os.NewFile(uintptr(must.Get(unix.Eventfd(0, unix.EFD_CLOEXEC))(t)), "eventfd")
			return run(t, nil, nil, fd), spoken{nil, no, &[]int{}}
		},
		"a terminal for its input that another process drives": func(t *testing.T) (int, spoken) {
			pty := openTerminal(t)
			return run(t, dup(t, pty[1]), pty[1], nil), spoken{nil, no, &[]int{me}}
		},
		"a terminal beside its input that another process drives": func(t *testing.T) (int, spoken) {
			return run(t, nil, nil, openTerminal(t)[1]), spoken{nil, no, &[]int{me}}
		},
		"a terminal whose other end was closed": func(t *testing.T) (int, spoken) {
			pty := openTerminal(t)
			pid := run(t, dup(t, pty[1]), pty[1], nil)
			shut(t, pty[0])
			return pid, spoken{nil, no, &[]int{}}
		},
		"a terminal that a multiplexer shows": func(t *testing.T) (int, spoken) {
			pty := openTerminal(t)
			pid := run(t, dup(t, pty[1]), pty[1], nil)
			at := filepath.Join(t.TempDir(), shower)
			must.Do(t, os.Symlink(must.Get(exec.LookPath("sleep"))(t), at))
			other := run(t, nil, nil, pty[0], at, "120")
			wait.Eventually(t, "it has its name", func() bool { return nameOf(t, other) == shower })
			return pid, spoken{nil, no, &[]int{}}
		},
		"its own terminal": func(t *testing.T) (int, spoken) {
			pty := openTerminal(t)
			pid := runAs(t, pty[1], nil, nil, &syscall.SysProcAttr{Setsid: true, Setctty: true}, "sleep", "120")
			return pid, spoken{nil, no, &[]int{}}
		},
		"it drives the terminal of another process": func(t *testing.T) (int, spoken) {
			pty := openTerminal(t)
			pid := run(t, nil, nil, pty[0])
			return pid, spoken{nil, no, &[]int{run(t, pty[1], nil, nil)}}
		},
		"a connection to a server": func(t *testing.T) (int, spoken) {
			at := filepath.Join(t.TempDir(), "socket")
			l := must.Get(net.ListenUnix("unix", &net.UnixAddr{Name: at, Net: "unix"}))(t)
			t.Cleanup(func() { _ = l.Close() })
			c := must.Get(net.DialUnix("unix", nil, &net.UnixAddr{Name: at, Net: "unix"}))(t)
			served := must.Get(l.Accept())(t)
			t.Cleanup(func() { _ = served.Close() })
			pid := run(t, nil, must.Get(c.File())(t), nil)
			must.Do(t, c.Close())
			return pid, spoken{nil, yes, &[]int{me}}
		},
		"another program alone has the other ends": func(t *testing.T) (int, spoken) {
			in, out := openPipe(t), openPipe(t)
			pid := run(t, in[0], out[1], nil)
			other := run(t, out[0], in[1], nil)
			return pid, spoken{no, yes, &[]int{other}}
		},
		"one in another pid namespace has the other end": func(t *testing.T) (int, spoken) {
			out := openPipe(t)
			pid := run(t, nil, out[1], nil)
			other := runAs(t, out[0], nil, nil, &syscall.SysProcAttr{Setpgid: true, Cloneflags: syscall.CLONE_NEWPID}, "sleep", "120")
			if other == 0 {
				t.Skip("this user may make no pid namespace")
			}
			return pid, spoken{nil, yes, &[]int{other}}
		},
		"an end that is on its way and that no process has": func(t *testing.T) (int, spoken) {
			out, pair := openPipe(t), openPair(t)
			pid := run(t, nil, out[1], nil)
			must.Do(t, unix.Sendmsg(int(pair[0].Fd()), []byte("x"), unix.UnixRights(int(out[0].Fd())), nil, 0))
			shut(t, out[0])
			return pid, spoken{nil, yes, nil}
		},
		"what lives below it reads its output": func(t *testing.T) (int, spoken) {
			path := fifo(t)
			return run(t, nil, nil, nil, "sh", "-c", `cat "$0" >/dev/null & exec >"$0"; rm "$0"; sleep 1000`, path), spoken{nil, no, &[]int{}}
		},
		"what lives below it reads its output, which has a path": func(t *testing.T) (int, spoken) {
			return run(t, nil, nil, nil, "sh", "-c", `cat "$0" >/dev/null & exec >"$0"; sleep 1000`, fifo(t)), spoken{nil, nil, nil}
		},
		"what lives below it speaks with another one": func(t *testing.T) (int, spoken) {
			out := openPipe(t)
			return run(t, nil, out[1], nil, "sh", "-c", "sleep 1000 & exec >/dev/null; sleep 1000"), spoken{nil, no, &[]int{}}
		},
		"a FIFO that another one writes to": func(t *testing.T) (int, spoken) {
			path := fifo(t)
			both := must.Get(os.OpenFile(path, os.O_RDWR, 0))(t)
			pid := run(t, must.Get(os.OpenFile(path, os.O_RDONLY, 0))(t), nil, nil)
			t.Cleanup(func() { _ = both.Close() })
			return pid, spoken{no, no, &[]int{me}}
		},
		"a FIFO that nobody writes to": func(t *testing.T) (int, spoken) {
			path := fifo(t)
			both := must.Get(os.OpenFile(path, os.O_RDWR, 0))(t)
			pid := run(t, must.Get(os.OpenFile(path, os.O_RDONLY, 0))(t), nil, nil)
			shut(t, both)
			return pid, spoken{nil, no, &[]int{}}
		},
		"a FIFO that it has open for writing itself": func(t *testing.T) (int, spoken) {
			return run(t, must.Get(os.OpenFile(fifo(t), os.O_RDWR, 0))(t), nil, nil), spoken{no, no, nil}
		},
		"a FIFO of its own without a path": func(t *testing.T) (int, spoken) {
			path := fifo(t)
			both := must.Get(os.OpenFile(path, os.O_RDWR, 0))(t)
			must.Do(t, os.Remove(path))
			return run(t, both, nil, nil), spoken{no, no, &[]int{}}
		},
		"a FIFO that another one reads": func(t *testing.T) (int, spoken) {
			path := fifo(t)
			both := must.Get(os.OpenFile(path, os.O_RDWR, 0))(t)
			t.Cleanup(func() { _ = both.Close() })
			return run(t, nil, must.Get(os.OpenFile(path, os.O_WRONLY, 0))(t), nil), spoken{nil, yes, &[]int{me}}
		},
		"a FIFO that nobody reads": func(t *testing.T) (int, spoken) {
			path := fifo(t)
			both := must.Get(os.OpenFile(path, os.O_RDWR, 0))(t)
			pid := run(t, nil, must.Get(os.OpenFile(path, os.O_WRONLY, 0))(t), nil)
			shut(t, both)
			return pid, spoken{nil, no, &[]int{}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pid, want := begin(t)
			var got spoken
			// A program that another test is just starting has a copy of every descriptor for a moment.
			if !wait.Until(wait.Patience, func() bool { got = ask(t, pid, pid); return cmp.Equal(want, got) }) {
				t.Errorf("who speaks with it (-want +got):\n%s", cmp.Diff(want, got))
			}
			// A look at everything knows as much, but for who it is, which it need not know.
			other := want
			if want.Peers != nil && len(*want.Peers) > 0 {
				other.Peers = nil
			}
			if !wait.Until(wait.Patience, func() bool { got = ask(t, pid); return cmp.Equal(other, got) || cmp.Equal(want, got) }) {
				t.Errorf("what a look at everything knows (-want +got):\n%s", cmp.Diff(want, got))
			}
		})
	}
}

// TestPeersOfAnother: what has another start is another process, and not reported.
func TestPeersOfAnother(t *testing.T) {
	t.Parallel()
	r := must.Get(host.Open("/proc"))(t)
	defer r.Close()
	s := newScan(r, Options{Log: hclog.NewNullLogger()})
	pid := run(t, nil, nil, nil)
	must.Do(t, s.all(t.Context()))
	for _, f := range s.found {
		if f.PID == pid {
			f.depth, f.PPID = full, new(1)
			f.StartTicks++
			must.Do(t, s.peers(t.Context()))
			must.Equal(t, spoken{}, spoken{f.InputEnded, f.OutputRead, f.Peers}, "another process")
			return
		}
	}
	t.Error("it was not found")
}

// ask looks at a process as if it had been handed over, in a look that is about all processes or only about some.
func ask(t *testing.T, pid int, only ...int) spoken {
	t.Helper()
	r := must.Get(host.Open("/proc"))(t)
	defer r.Close()
	s := newScan(r, Options{Only: only, Servers: []string{shower}, Log: hclog.NewNullLogger()})
	if s.listeners().unix == nil {
		t.Skip("this machine has no socket diagnosis")
	}
	must.Do(t, s.all(t.Context()))
	for _, f := range s.found {
		if f.PID == pid {
			f.depth, f.PPID = full, new(1)
			must.Do(t, s.peers(t.Context()))
			return spoken{f.InputEnded, f.OutputRead, f.Peers}
		}
	}
	t.Fatalf("process %d is gone", pid)
	return spoken{}
}

// run starts a program, sleep by itself, with that input, that output and that at descriptor 3, which are closed here; nil is /dev/null.
func run(t *testing.T, in, out, also *os.File, args ...string) int {
	t.Helper()
	if len(args) == 0 {
		args = []string{"sleep", "120"}
	}
	pid := runAs(t, in, out, also, &syscall.SysProcAttr{Setpgid: true}, args...)
	if pid == 0 {
		t.Fatal("it did not start")
	}
	return pid
}

func runAs(t *testing.T, in, out, also *os.File, how *syscall.SysProcAttr, args ...string) int {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.SysProcAttr = how
	if in != nil {
		cmd.Stdin = in
	}
	if out != nil {
		cmd.Stdout = out
	}
	if also != nil {
		cmd.ExtraFiles = []*os.File{also}
	}
	err := cmd.Start()
	for _, f := range []*os.File{in, out, also} {
		if f != nil {
			_ = f.Close()
		}
	}
	if err != nil {
		t.Log(err)
		return 0
	}
	t.Cleanup(func() {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

func openPipe(t *testing.T) [2]*os.File {
	t.Helper()
	r, w, err := os.Pipe()
	return closedAfter(t, r, w, err)
}

func openPair(t *testing.T) [2]*os.File {
	t.Helper()
	return openPairOf(t, unix.SOCK_STREAM)
}

func openPairOf(t *testing.T, kind int) [2]*os.File {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	return closedAfter(t, os.NewFile(uintptr(fds[0]), "one"), os.NewFile(uintptr(fds[1]), "other"), err)
}

// openTerminal gives the master of a pseudo-terminal, and the terminal.
func openTerminal(t *testing.T) [2]*os.File {
	t.Helper()
	master := must.Get(os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0))(t)
	must.Do(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number := must.Get(unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN))(t)
	terminal, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	return closedAfter(t, master, terminal, err)
}

func hasOpen(pid, fd int) bool {
	_, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
	return err == nil
}

func nameOf(t *testing.T, pid int) string {
	t.Helper()
	return strings.TrimSpace(string(must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)))(t)))
}

func closedAfter(t *testing.T, one, other *os.File, err error) [2]*os.File {
	t.Helper()
	must.Do(t, err)
	t.Cleanup(func() { _, _ = one.Close(), other.Close() })
	return [2]*os.File{one, other}
}

func dup(t *testing.T, f *os.File) *os.File {
	t.Helper()
	return os.NewFile(uintptr(must.Get(unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0))(t)), f.Name())
}

func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	must.Do(t, unix.Mkfifo(path, 0o600))
	return path
}

func shut(t *testing.T, files ...*os.File) {
	t.Helper()
	for _, f := range files {
		must.Do(t, f.Close())
	}
}

// TestDatagramsAtAName: others may send to a name that a program gave, and not to one that the kernel gave to a sender.
func TestDatagramsAtAName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"/run/x": true, "@server": true, "@0001f": false, "@0001g": true, "@00001f": true, "0001f": true, "": false} {
		must.Equal(t, want, datagrams(unix.SOCK_DGRAM, name), "%s", name)
		must.Equal(t, false, datagrams(unix.SOCK_STREAM, name), "%s", name)
	}
}
