package tmux

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// server is a tmux server that a test started on a socket of its own.
type server struct {
	t      testing.TB
	socket string
}

// folderOf makes a folder whose sockets' paths stay below the 108 bytes that the kernel takes.
func folderOf(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("needs tmux")
	}
	dir, err := os.MkdirTemp("/tmp", "w")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// start starts a server with one session of the given name. Its panes run plain shells: login shells run other programs first.
func start(t testing.TB, socket, session string, args ...string) *server {
	t.Helper()
	s := &server{t, socket}
	conf := socket + ".conf"
	if err := os.WriteFile(conf, []byte("set -g default-command 'exec sh'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.run(append([]string{"-f", conf, "new-session", "-d", "-x", "80", "-y", "24", "-s", session}, args...)...)
	t.Cleanup(func() { _ = s.command("kill-server").Run() })
	return s
}

func fresh(t testing.TB, session string, args ...string) *server {
	t.Helper()
	return start(t, filepath.Join(folderOf(t), "s"), session, args...)
}

func (s *server) command(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-u", "-S", s.socket}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "SHELL=/bin/sh", "LC_ALL=C.UTF-8", "TERM=xterm"}
	return cmd
}

// run gives what tmux prints, without the last newline.
func (s *server) run(args ...string) string {
	s.t.Helper()
	out, err := s.command(args...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func (s *server) id(name string) string {
	s.t.Helper()
	return s.run("display-message", "-p", "-t", "="+name+":", "#{session_id}")
}

func (s *server) pid() int {
	s.t.Helper()
	pid, err := strconv.Atoi(s.run("display-message", "-p", "#{pid}"))
	if err != nil {
		s.t.Fatal(err)
	}
	return pid
}

// attach attaches a client on a terminal of its own and waits until the server shows it.
func (s *server) attach(target string) (keys io.Writer) {
	s.t.Helper()
	master, slave := pty(s.t)
	cmd := s.command("attach-session", "-t", target)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	_ = slave.Close()
	go func() { _, _ = io.Copy(io.Discard, master) }()
	s.t.Cleanup(func() {
		_ = master.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s.shown(target)
	return master
}

// control attaches a control client and waits until the server shows it.
func (s *server) control(target string) {
	s.t.Helper()
	cmd := s.command("-C", "attach-session", "-t", target)
	in, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s.shown(target)
}

// shown waits until one client more shows target.
func (s *server) shown(target string) {
	s.t.Helper()
	eventually(s.t, "a client attached", func() bool {
		return s.run("display-message", "-p", "-t", target+":", "#{session_attached}") != "0"
	})
}

func pty(t testing.TB) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("needs a terminal: %v", err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("never came to be: %s", what)
}

func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
