// Package tmux starts real tmux servers for tests, each on a socket of its own.
package tmux

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"

	"golang.org/x/sys/unix"
)

// Server is a tmux server that a test started. It is killed, by its process, when the test has ended.
type Server struct {
	T      testing.TB
	Socket string
}

// Folder makes a folder whose sockets' paths stay below the 108 bytes that the kernel takes. It skips the test where there is no tmux.
func Folder(t testing.TB) string {
	t.Helper()
	stage.NeedProgram(t, "tmux")
	dir, err := os.MkdirTemp("/tmp", "w")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Fresh is Start with a socket in a new folder.
func Fresh(t testing.TB, session string, args ...string) *Server {
	t.Helper()
	return Start(t, filepath.Join(Folder(t), "s"), session, args...)
}

// Start starts a server with one session of the given name. Its panes run plain shells: login shells run other programs first.
func Start(t testing.TB, socket, session string, args ...string) *Server {
	t.Helper()
	s := &Server{t, socket}
	conf := socket + ".conf"
	if err := os.WriteFile(conf, []byte("set -g default-command 'exec sh'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Run(append([]string{"-f", conf, "new-session", "-d", "-x", "80", "-y", "24", "-s", session}, args...)...)
	s.End(s.PID())
	return s
}

// End has the process that has this pid now be killed when the test has ended, also when it is stopped or its socket is gone.
func (s *Server) End(pid int) {
	s.T.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		_ = unix.Close(fd)
	})
}

// Command is a client of the server.
func (s *Server) Command(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-u", "-S", s.Socket}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "SHELL=/bin/sh", "LC_ALL=C.UTF-8", "TERM=xterm"}
	return cmd
}

// Run gives what tmux prints, without the last newline.
func (s *Server) Run(args ...string) string {
	s.T.Helper()
	out, err := s.Command(args...).CombinedOutput()
	if err != nil {
		s.T.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// Has tells whether the server has a session of exactly that name; false without a server.
func (s *Server) Has(name string) bool {
	out, err := s.Command("list-sessions", "-F", "#{session_name}").Output()
	return err == nil && slices.Contains(strings.Split(string(out), "\n"), name)
}

// ID is the id of the session of that name.
func (s *Server) ID(name string) string {
	s.T.Helper()
	return s.Run("display-message", "-p", "-t", "="+name+":", "#{session_id}")
}

// PID is the server's own.
func (s *Server) PID() int {
	s.T.Helper()
	pid, err := strconv.Atoi(s.Run("display-message", "-p", "#{pid}"))
	if err != nil {
		s.T.Fatal(err)
	}
	return pid
}

// Attach attaches a client on a terminal of its own, waits until the server shows it, and gives what types there. With flags it is such a
// client: -CC.
func (s *Server) Attach(target string, flags ...string) (keys io.Writer) {
	s.T.Helper()
	master, slave := procs.TerminalOf(s.T)
	cmd := s.Command(append(flags, "attach-session", "-t", target)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	s.start(cmd, master)
	_ = slave.Close()
	go func() { _, _ = io.Copy(io.Discard, master) }()
	s.shown(target)
	return master
}

// Control attaches a control client without a terminal, waits until the server shows it, and gives its two ends.
func (s *Server) Control(target string) (in io.Writer, out io.Reader) {
	s.T.Helper()
	cmd := s.Command("-C", "attach-session", "-t", target)
	to, err := cmd.StdinPipe()
	if err != nil {
		s.T.Fatal(err)
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		s.T.Fatal(err)
	}
	cmd.Stdout = theirs
	s.start(cmd, to, ours)
	_ = theirs.Close()
	s.shown(target)
	return to, ours
}

// start starts a client, and ends it and closes its ends when the test has ended.
func (s *Server) start(cmd *exec.Cmd, ends ...io.Closer) {
	s.T.Helper()
	if err := cmd.Start(); err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() {
		for _, end := range ends {
			_ = end.Close()
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// Waits says whether a session's shell has printed its prompt, and sleeps: between the two it still sets its terminal.
func (s *Server) Waits(session string) bool {
	s.T.Helper()
	stat, _ := os.ReadFile("/proc/" + s.Run("display-message", "-p", "-t", "="+session+":", "#{pane_pid}") + "/stat")
	return strings.Contains(string(stat), ") S ") && strings.TrimSpace(s.Run("capture-pane", "-p", "-t", "="+session+":")) != ""
}

func (s *Server) shown(target string) {
	s.T.Helper()
	wait.Eventually(s.T, "a client attached", func() bool {
		return s.Run("display-message", "-p", "-t", target+":", "#{session_attached}") != "0"
	})
}

// Eventually and Within are those of package wait.
var (
	Eventually = wait.Eventually
	Within     = wait.Within
)
