package attack_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// stopsWithin is how long a program may take to end after the signal that should end it, on a machine with much to do.
const stopsWithin = wait.Patience

// running is a run of the program that is to be interrupted.
type running struct {
	*exec.Cmd
	stderr bytes.Buffer
	ended  chan struct{}
}

func start(t *testing.T, cmd *exec.Cmd) *running {
	t.Helper()
	r := &running{Cmd: cmd, ended: make(chan struct{})}
	if cmd.Stderr == nil {
		cmd.Stderr = &r.stderr
	}
	must(t, cmd.Start())
	go func() { _ = cmd.Wait(); close(r.ended) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-r.ended })
	return r
}

func (r *running) endsWithin(d time.Duration) bool {
	select {
	case <-r.ended:
		return true
	case <-time.After(d):
		return false
	}
}

// hangingWorld is a home whose git, or tmux, never answers: a script that waits for a child of its own.
type hangingWorld struct {
	dir, program string
	env, args    []string
}

func newHangingWorld(t *testing.T, program, hangs string) *hangingWorld {
	t.Helper()
	dir, err := os.MkdirTemp(machine.Temp(), "winnow-hang-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &hangingWorld{dir: dir, program: program}
	w.env = []string{"HOME=" + dir, "TERM=dumb", "LC_ALL=C.UTF-8", "SHELL=/bin/sh", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"}
	run := func(name string, args ...string) {
		cmd := exec.Command(name, args...)
		cmd.Env = append(w.env, "PATH="+os.Getenv("PATH"), "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@localhost")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
	}
	repo, socket := filepath.Join(dir, "repo"), filepath.Join(dir, "socket")
	run("git", "init", "-q", "-b", "main", repo)
	run("git", "-C", repo, "commit", "-q", "--allow-empty", "-m", "start")
	run("git", "-C", repo, "worktree", "add", "-q", "--detach", filepath.Join(dir, "wt", "repo-review-1a2b3c4d"))
	if hangs == "tmux" {
		run("tmux", "-S", socket, "-f", "/dev/null", "new-session", "-d", "-s", "worker-1")
		t.Cleanup(func() { _ = exec.Command("tmux", "-S", socket, "kill-server").Run() })
	}
	bin := filepath.Join(dir, "bin")
	must(t, os.Mkdir(bin, 0o700))
	executable.Write(t, filepath.Join(bin, hangs), "#!/bin/sh\nsleep 1000 &\necho $$ $! $PPID >> "+dir+"/pids\nwait\n")
	w.env = append(w.env, "PATH="+bin+":"+os.Getenv("PATH"))
	config := filepath.Join(dir, "config.yaml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, "version: 1\nstate: %s/state\n"+
		"collect: {tmux: {sockets: [%s]}, herdr: {sockets: []}, vscode: {sockets: []}, shepherd: {stores: []}, codev: {homes: []}, dirs: {roots: [%s/wt], agent_folders: [], discover: false}, timeout: 10m}\n"+
		"rules: {grace: {dir: 0s}, steady_for: 0s}\n", dir, socket, dir), 0o600))
	w.args = []string{"--config", config}
	return w
}

func (w *hangingWorld) command(args ...string) *exec.Cmd {
	cmd := exec.Command(w.program, append(args, w.args...)...)
	cmd.Dir, cmd.Env = w.dir, w.env
	return cmd
}

// hung waits until something hangs that the program with that pid started, and gives the processes that do.
func (w *hangingWorld) hung(t *testing.T, program int) (pids []int) {
	t.Helper()
	wait.Eventually(t, "a program that hangs", func() bool {
		pids = w.begun(program)
		return len(pids) >= 2
	})
	must(t, os.Remove(filepath.Join(w.dir, "pids")))
	t.Cleanup(func() { w.end(pids) })
	return pids
}

// end ends what a program left of those processes: what carries the home of this world, or works in it, is of this world.
func (w *hangingWorld) end(pids []int) {
	for _, pid := range left(pids) {
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		if cwd == w.dir || bytes.Contains(append([]byte{0}, env...), []byte("\x00HOME="+w.dir+"\x00")) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// begun are the processes that hang and that the program with that pid started. What an earlier run started may still write its own down.
func (w *hangingWorld) begun(program int) (pids []int) {
	text, _ := os.ReadFile(filepath.Join(w.dir, "pids"))
	for line := range strings.Lines(string(text)) {
		var script, child, parent int
		if n, _ := fmt.Sscan(line, &script, &child, &parent); n == 3 && parent == program {
			pids = append(pids, script, child)
		}
	}
	return pids
}

// left names those of the processes that still run. A zombie does not: its parent may take a while to wait for it.
func left(pids []int) (out []int) {
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil && !bytes.Contains(text[bytes.LastIndexByte(text, ')'):], []byte(") Z ")) {
			out = append(out, pid)
		}
	}
	return out
}

// gone waits a while until the processes have ended. On a busy machine a killed process may take a moment to end.
func gone(pids []int) bool {
	return wait.Until(stopsWithin, func() bool { return len(left(pids)) == 0 })
}

func TestAttackWhatHangsUnderASignal(t *testing.T) {
	t.Parallel()
	program := attack.Winnow(t)
	once := attack.New(t, "a git or tmux that never answers, and one signal: it ends in order, and nothing is done or left running")
	twice := attack.New(t, "who reads the output never does, and two signals: it ends at once")
	for _, hangs := range []string{"git", "tmux"} {
		if _, err := exec.LookPath(hangs); err != nil {
			continue
		}
		w := newHangingWorld(t, program, hangs)
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
			for _, command := range []string{"sweep", "sweep --apply", "snapshot", "doctor"} {
				if command == "doctor" && sig != syscall.SIGINT {
					continue
				}
				once.Check(w.interrupt(t, sig, strings.Fields(command)...))
			}
		}
		if _, err := os.Stat(filepath.Join(w.dir, "wt", "repo-review-1a2b3c4d")); err != nil {
			t.Errorf("the worktree went: %v", err)
		}
	}
	w := newHangingWorld(t, program, "git")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		twice.Check(w.unread(t, sig))
		twice.Check(w.unreadWhileLooking(t, sig))
	}
}

// interrupt sends one signal while the program waits for another one.
func (w *hangingWorld) interrupt(t *testing.T, sig syscall.Signal, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := w.command(args...)
	cmd.Stdout = &out
	r := start(t, cmd)
	pids := w.hung(t, r.Process.Pid)
	must(t, r.Process.Signal(sig))
	switch {
	case !r.endsWithin(stopsWithin):
		return fmt.Sprintf("winnow %q did not end %s after %v: %s", args, stopsWithin, sig, r.stderr.String())
	case args[0] != "doctor" && (r.ProcessState.ExitCode() != 1 || !strings.Contains(r.stderr.String(), "interrupted while looking; nothing was decided, remembered or done") || out.Len() > 0):
		return fmt.Sprintf("winnow %q after %v: exit %d, %q, %q", args, sig, r.ProcessState.ExitCode(), out.String(), r.stderr.String())
	case !strings.Contains(r.stderr.String(), "interrupted by SIG"):
		return fmt.Sprintf("winnow %q after %v says nothing of it: %q", args, sig, r.stderr.String())
	}
	if !gone(pids) {
		return fmt.Sprintf("winnow %q after %v left processes behind: %v", args, sig, left(pids))
	}
	return ""
}

// full is a pipe that takes nothing more.
func full(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	must(t, err)
	t.Cleanup(func() { r.Close(); w.Close() })
	fd := int(w.Fd()) // once: every call of Fd makes it wait again
	must(t, unix.SetNonblock(fd, true))
	for {
		if _, err := unix.Write(fd, make([]byte, 4096)); err != nil {
			break
		}
	}
	must(t, unix.SetNonblock(fd, false))
	return w
}

// unread has the program wait for ever to write, on stdout and on stderr.
func (w *hangingWorld) unread(t *testing.T, sig syscall.Signal) string {
	t.Helper()
	cmd := w.command("completion", "bash")
	cmd.Stdout = full(t)
	cmd.Stderr = cmd.Stdout
	return endsAtTheSecond(t, start(t, cmd), sig)
}

// unreadWhileLooking has a program of its own that hangs as well.
func (w *hangingWorld) unreadWhileLooking(t *testing.T, sig syscall.Signal) string {
	t.Helper()
	cmd := w.command("sweep", "--log-level", "trace")
	cmd.Stderr = full(t)
	r := start(t, cmd)
	wrong := endsAtTheSecond(t, r, sig)
	pids := w.begun(r.Process.Pid)
	t.Cleanup(func() { w.end(pids) })
	if wrong == "" && !gone(pids) {
		wrong = fmt.Sprintf("it left processes behind: %v", left(pids))
	}
	return wrong
}

// asleep waits until every thread of a process has slept for a while: it has come to where it waits for ever.
func asleep(t *testing.T, pid int) {
	t.Helper()
	slept := 0
	wait.Eventually(t, "a program that waits", func() bool {
		slept++
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		for _, task := range tasks {
			if text, err := os.ReadFile(task); err != nil || !bytes.Contains(text[bytes.LastIndexByte(text, ')'):], []byte(") S ")) {
				slept = 0
			}
		}
		return slept > 30
	})
}

func endsAtTheSecond(t *testing.T, r *running, sig syscall.Signal) string {
	t.Helper()
	asleep(t, r.Process.Pid)
	must(t, r.Process.Signal(sig))
	if r.endsWithin(300 * time.Millisecond) {
		return fmt.Sprintf("it ended at the first %v: the test attacks nothing", sig)
	}
	must(t, r.Process.Signal(syscall.SIGINT))
	if !r.endsWithin(stopsWithin) {
		return fmt.Sprintf("it did not end %s after %v and SIGINT", stopsWithin, sig)
	}
	if code := r.ProcessState.ExitCode(); code != 128+int(syscall.SIGINT) {
		return fmt.Sprintf("after %v and SIGINT: want exit %d, got %d", sig, 128+int(syscall.SIGINT), code)
	}
	return ""
}

// TestASecondSignalLeavesNothing: at the second signal what the program started ends with it.
func TestASecondSignalLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newHangingWorld(t, attack.Winnow(t), "git")
	for range 3 {
		r := start(t, w.command("sweep"))
		pids := w.hung(t, r.Process.Pid)
		// Stopped, it hears neither signal; both are there when it goes on.
		must(t, r.Process.Signal(syscall.SIGSTOP))
		must(t, r.Process.Signal(syscall.SIGINT))
		must(t, r.Process.Signal(syscall.SIGTERM))
		must(t, r.Process.Signal(syscall.SIGCONT))
		if !r.endsWithin(stopsWithin) {
			t.Fatal("it did not end after two signals")
		}
		if !gone(pids) {
			t.Fatalf("it left processes behind: %v", left(pids))
		}
	}
}

func TestAnInterruptedStdin(t *testing.T) {
	t.Parallel()
	w := newHangingWorld(t, attack.Winnow(t), "git")
	in, out, err := os.Pipe()
	must(t, err)
	defer in.Close()
	defer out.Close()
	cmd := w.command("decide", "-")
	cmd.Stdin = in
	r := start(t, cmd)
	asleep(t, r.Process.Pid)
	must(t, r.Process.Signal(syscall.SIGINT))
	if !r.endsWithin(stopsWithin) || r.ProcessState.ExitCode() != 1 || !strings.Contains(r.stderr.String(), "interrupted by SIGINT") {
		t.Errorf("want exit 1 and a word, got %v: %s", r.ProcessState, r.stderr.String())
	}
}

// TestNohup: who starts a program with SIGHUP ignored wants it to outlive the terminal.
func TestNohup(t *testing.T) {
	t.Parallel()
	w := newHangingWorld(t, attack.Winnow(t), "git")
	cmd := exec.Command("sh", append([]string{"-c", `trap "" HUP; exec "$@"`, "sh", w.program, "sweep"}, w.args...)...)
	cmd.Dir, cmd.Env = w.dir, w.env
	r := start(t, cmd)
	w.hung(t, r.Process.Pid)
	must(t, r.Process.Signal(syscall.SIGHUP))
	if r.endsWithin(500 * time.Millisecond) {
		t.Fatalf("it ended: %s", r.stderr.String())
	}
	must(t, r.Process.Signal(syscall.SIGTERM))
	if !r.endsWithin(stopsWithin) || !strings.Contains(r.stderr.String(), "interrupted by SIGTERM") {
		t.Errorf("want an end by SIGTERM, got %v: %s", r.ProcessState, r.stderr.String())
	}
}

// TestAClosedPipe: winnow ... | head -1.
func TestAClosedPipe(t *testing.T) {
	t.Parallel()
	w := newHostileWorld(t, attack.Winnow(t), "plain")
	for _, args := range [][]string{{"sweep", "--all"}, {"sweep", "--format", "json"}, {"doctor"}, {"snapshot"}, {"sweep", "--apply", "--kind", "dir", "--all"}} {
		r, out, err := os.Pipe()
		must(t, err)
		r.Close()
		cmd := exec.Command(w.program, append(args, "--config", w.config, "--state", w.state)...)
		var errs bytes.Buffer
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.dir, w.env, out, &errs
		_ = cmd.Run()
		out.Close()
		if code := cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGPIPE) || strings.Contains(errs.String(), "pipe") {
			t.Errorf("winnow %q: want exit 141 and no word, got %v: %s", args, cmd.ProcessState, errs.String())
		}
	}
	if out, _, _ := w.winnow("history", "--config", w.config, "--state", w.state); bytes.Contains(out, []byte("not finished")) || !bytes.Contains(out, []byte("apply")) {
		t.Errorf("want every sweep finished, got\n%s", out)
	}
	devFull, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer devFull.Close()
	cmd := exec.Command(w.program, "holds", "--config", w.config, "--state", w.state)
	var errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.dir, w.env, devFull, &errs
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(errs.String(), "no space left") {
		t.Errorf("a full disk: want exit 1 and a word, got %v: %s", err, errs.String())
	}
}
