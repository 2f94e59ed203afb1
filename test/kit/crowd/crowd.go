// Package crowd makes machines of many processes, panes and worktrees, for benchmarks. New makes a real one, below a home of its own; Proc writes
// what /proc shows of a made-up one. It imports nothing of ours but other parts of the testkit, and only tests and benchmarks import it.
package crowd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// Size is how many there are of each. With OneFolder all worktrees are one repository's, in one folder; else they are those of a few repositories, in the
// folders of several agents, each of which is a source of its own.
type Size struct {
	Processes, Panes, Worktrees int
	OneFolder                   bool
}

func (s Size) String() string {
	return fmt.Sprintf("processes=%d,panes=%d,worktrees=%d", s.Processes, s.Panes, s.Worktrees)
}

// One process in markedEvery carries an agent's marker. A worktree has filesEach files. A tmux session has windowsEach panes, each in a window.
const (
	markedEvery = 110
	filesEach   = 100
	windowsEach = 50
	projects    = 4
)

// World is a real machine: the processes sleep, the panes are those of one tmux server, the worktrees are spread over the folders in which agents put
// theirs. All of it ends with the test.
type World struct {
	tb   testing.TB
	Size Size
	// Home is the user's home; everything lies below it.
	Home string
	// Server is the pid of the tmux server.
	Server    int
	Worktrees []string
	// Marked is how many of the processes carry an agent's marker.
	Marked int
	// Static says that the processes are a static program's; else they are sleep(1)'s, of which /proc shows more.
	Static bool

	processes []*os.Process
}

// New makes one; that takes half a minute for 10,000 processes and 1,000 worktrees. Without tmux or git the test is skipped.
func New(tb testing.TB, size Size) *World {
	tb.Helper()
	for _, program := range []string{"tmux", "git", "sleep"} {
		if _, err := exec.LookPath(program); err != nil {
			tb.Skipf("needs %s", program)
		}
	}
	root, err := os.MkdirTemp("/tmp", "crowd-") // short: the path of a socket has few bytes
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(root) })
	w := &World{tb: tb, Size: size, Home: filepath.Join(root, "home")}
	w.must(os.MkdirAll(filepath.Join(w.Home, "tmux"), 0o700))
	w.write(".gitconfig", "[user]\n\tname = u\n\temail = u@example.org\n[init]\n\tdefaultBranch = main\n")
	sleeper := w.sleeper()
	w.startPanes(sleeper)
	w.startProcesses(sleeper)
	w.makeWorktrees()
	return w
}

// Env is the environment of the user's own programs.
func (w *World) Env() []string {
	return []string{
		"HOME=" + w.Home, "PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TERM=xterm", "SHELL=/bin/sh",
		"TMUX_TMPDIR=" + filepath.Join(w.Home, "tmux"), "GIT_CONFIG_NOSYSTEM=1",
	}
}

// State is where the program keeps its own by default.
func (w *World) State() string { return filepath.Join(w.Home, ".local", "state", "winnow") }

func (w *World) must(err error) {
	w.tb.Helper()
	if err != nil {
		w.tb.Fatal(err)
	}
}

func (w *World) write(rel, text string) {
	w.tb.Helper()
	path := filepath.Join(w.Home, rel)
	w.must(os.MkdirAll(filepath.Dir(path), 0o755))
	w.must(os.WriteFile(path, []byte(text), 0o644))
}

// sleeper is a program that does nothing for good: a static one, where a C compiler makes it, so that little is mapped in each.
func (w *World) sleeper() []string {
	w.tb.Helper()
	source, program := filepath.Join(w.Home, ".sleeper.c"), filepath.Join(w.Home, "bin", "worker")
	w.write(".sleeper.c", "#include <unistd.h>\nint main(void) { for (;;) pause(); }\n")
	w.must(os.MkdirAll(filepath.Dir(program), 0o755))
	if cc, err := exec.LookPath("cc"); err == nil && exec.Command(cc, "-O1", "-static", "-o", program, source).Run() == nil {
		w.Static = true
		return []string{program}
	}
	sleep, err := exec.LookPath("sleep")
	w.must(err)
	return []string{sleep, "1000000"}
}

func (w *World) startPanes(sleeper []string) {
	w.tb.Helper()
	if w.Size.Panes == 0 {
		return
	}
	tmux := func(args ...string) string {
		w.tb.Helper()
		cmd := exec.Command("tmux", args...)
		cmd.Dir, cmd.Env = w.Home, w.Env()
		out, err := cmd.CombinedOutput()
		if err != nil {
			w.tb.Fatalf("tmux: %v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	command := strings.Join(sleeper, " ")
	for made := 0; made < w.Size.Panes; {
		args := []string{"-f", "/dev/null", "new-session", "-d", "-c", w.Home, command}
		for made++; made%windowsEach != 0 && made < w.Size.Panes; made++ {
			args = append(args, ";", "new-window", "-d", "-c", w.Home, command)
		}
		tmux(args...)
		if w.Server == 0 {
			pid, err := strconv.Atoi(tmux("display-message", "-p", "#{pid}"))
			w.must(err)
			w.Server = pid
			w.tb.Cleanup(func() {
				tmux("kill-server")
				wait.Until(wait.Patience, func() bool { _, err := os.Stat("/proc/" + strconv.Itoa(pid)); return err != nil })
			})
		}
	}
}

// startProcesses starts what agents leave, with as much in their environments as a person's shell has (61 variables) and five open files.
func (w *World) startProcesses(sleeper []string) {
	w.tb.Helper()
	env := w.Env()
	for i := len(env); i < 60; i++ {
		env = append(env, fmt.Sprintf("SOME_VARIABLE_OF_THE_SHELL_%d=/usr/local/share/some-program/%d:/usr/share", i, i))
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	w.must(err)
	defer null.Close()
	w.tb.Cleanup(func() {
		for _, p := range w.processes {
			_ = p.Kill()
		}
		for _, p := range w.processes {
			_, _ = p.Wait()
		}
	})
	for i := range w.Size.Processes {
		dir := filepath.Join(w.Home, "work", strconv.Itoa(i%20))
		if i < 20 {
			w.must(os.MkdirAll(dir, 0o755))
		}
		last := "MARKED=0"
		if i%markedEvery == 0 {
			last = "CLAUDECODE=1"
			w.Marked++
		}
		p, err := os.StartProcess(sleeper[0], sleeper, &os.ProcAttr{Dir: dir, Env: append(env[:len(env):len(env)], last), Files: []*os.File{null, null, null, null, null}})
		w.must(err)
		w.processes = append(w.processes, p)
	}
}

// makeWorktrees makes a few repositories, and the worktrees in the layouts of several agents in turn.
func (w *World) makeWorktrees() {
	w.tb.Helper()
	if w.Size.Worktrees == 0 {
		return
	}
	projects := projects
	if w.Size.OneFolder {
		projects = 1
	}
	for p := range projects {
		name := fmt.Sprintf("project%d", p)
		for i := range filesEach {
			w.write(fmt.Sprintf("code/%s/folder%d/file%d.txt", name, i%10, i), strings.Repeat(fmt.Sprintf("line of file %d\n", i), 20))
		}
		repo := filepath.Join(w.Home, "code", name)
		w.git(repo, "init", "-q")
		w.git(repo, "add", "-A")
		w.git(repo, "commit", "-q", "-m", "first")
	}
	for i := range w.Size.Worktrees {
		project, id := fmt.Sprintf("project%d", i%projects), fmt.Sprintf("%04x", i)
		repo := filepath.Join(w.Home, "code", project)
		var path string
		layout := i / projects % 5
		if w.Size.OneFolder {
			layout = 0
		}
		switch layout {
		case 0:
			path = filepath.Join(repo, ".claude", "worktrees", id)
		case 1:
			path = filepath.Join(w.Home, ".claude-worktrees", project, id)
		case 2:
			path = filepath.Join(w.Home, ".cursor", "worktrees", project, id)
		case 3:
			path = filepath.Join(w.Home, ".local", "share", "opencode", "worktree", project, id)
		case 4:
			path = filepath.Join(w.Home, ".superset", "worktrees", project, id)
		}
		w.git(repo, "worktree", "add", "-q", "-b", "work-"+id, path)
		w.Worktrees = append(w.Worktrees, path)
	}
}

func (w *World) git(dir string, args ...string) string {
	w.tb.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, w.Env()
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.tb.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Age sets the times of all worktrees, and of what git keeps for each, so far back. Their indexes stay fresh: git need not read the files again.
func (w *World) Age(by time.Duration) {
	w.tb.Helper()
	at := time.Now().Add(-by)
	for _, path := range w.Worktrees {
		w.must(setTimes(path, at))
		w.git(path, "update-index", "-q", "--refresh")
		// After the files' time, or git would take every file for one that may have changed while the index was written.
		w.must(setTimes(w.git(path, "rev-parse", "--absolute-git-dir"), at.Add(time.Minute)))
	}
}

func setTimes(tree string, at time.Time) error {
	return filepath.Walk(tree, func(path string, _ os.FileInfo, err error) error {
		return errors.Join(err, os.Chtimes(path, at, at))
	})
}
