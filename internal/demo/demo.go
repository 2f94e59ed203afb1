// Package demo makes a machine with things that agents left, for winnow demo.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/text"
)

// marker ties the demo's processes to the demo: no other process carries it, so no other is in scope.
const marker = "WINNOW_DEMO"

// World is what the demo made, and how to end each part of it.
type World struct {
	Dir       string
	Out       io.Writer
	Paint     text.Paint
	tmux, git bool
	processes []process
}

type process struct {
	what string
	// handle pins the process: its pid cannot come to mean another one.
	handle *os.Process
}

func (w *World) Title(s string) { fmt.Fprintf(w.Out, "\n%s\n\n", w.Paint.Bold(s)) }

func (w *World) socket() string { return filepath.Join(w.Dir, "tmux") }

func (w *World) worktrees() string { return filepath.Join(w.Dir, "worktrees") }

// Config is the default configuration, narrowed to the demo's world and made impatient: nothing that is really the user's is in reach
// of any rule.
func (w *World) Config() (*config.Config, error) {
	file := filepath.Join(w.Dir, "config.yaml")
	sockets := "[]"
	if w.tmux {
		sockets = "[" + w.socket() + "]"
	}
	text := fmt.Sprintf(`version: 1
state: %s
collect:
  tmux: {sockets: %s}
  herdr: {sockets: []}
  vscode: {sockets: []}
  shepherd: {stores: []}
  codev: {homes: []}
  processes: {markers: [%s, TMUX, STY, ZELLIJ]}
  dirs: {roots: [%s], agent_folders: [], discover: false}
rules:
  agents: [demo-agent]
  id_markers: [%s]
  session_names: {prefix: [worker-]}
  worktree_folders: []
  grace: {dir: 0s, process: 0s, session: 0s}
  confirm_after: 1s
  confirm_process_after: 1s
  landed_after: 0s
  steady_for: 0s
`, filepath.Join(w.Dir, "state"), sockets, marker, w.worktrees(), marker)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write the demo's configuration: %w", err)
	}
	return config.Load(file, nil)
}

func (w *World) Build(ctx context.Context) error {
	if err := os.MkdirAll(w.worktrees(), 0o700); err != nil {
		return fmt.Errorf("build the demo: %w", err)
	}
	for _, part := range []struct {
		program string
		made    *bool
		build   func(context.Context) error
	}{{"git", &w.git, w.buildWorktrees}, {"tmux", &w.tmux, w.buildSessions}} {
		if _, err := exec.LookPath(part.program); err != nil {
			fmt.Fprintf(w.Out, "  %s is not installed: that part of the demo is left out\n", part.program)
			continue
		}
		if err := part.build(ctx); err != nil {
			return fmt.Errorf("build the demo: %w", err)
		}
		*part.made = true
	}
	return w.buildProcesses(ctx)
}

// run executes a program in the demo's folder, apart from the operator's own git and tmux settings.
func (w *World) run(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = filepath.Join(w.Dir, dir)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.Dir, "SHELL=/bin/sh", "TERM=xterm", "LC_ALL=C.UTF-8",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=demo", "GIT_AUTHOR_EMAIL=demo@localhost",
		"GIT_COMMITTER_NAME=demo", "GIT_COMMITTER_EMAIL=demo@localhost"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", program, args[0], err, strings.TrimSpace(string(out)))
	}
	return strings.TrimSpace(string(out)), nil
}

func (w *World) buildWorktrees(ctx context.Context) error {
	type step struct{ dir, args string }
	for _, s := range []step{
		{"", "init --quiet --bare --initial-branch=main origin.git"},
		{"", "clone --quiet origin.git project"},
		{"project", "commit --quiet --allow-empty --message=start"},
		{"project", "push --quiet origin HEAD:main"},
		{"project", "remote set-head origin main"},
		{"project", "worktree add --quiet -b landed ../worktrees/landed"},
		{"worktrees/landed", "commit --quiet --allow-empty --message=done"},
		{"worktrees/landed", "push --quiet origin landed:main"},
		{"project", "worktree add --quiet -b unsaved ../worktrees/unsaved"},
		{"project", "worktree add --quiet -b started ../worktrees/started"},
		{"project", "worktree add --quiet --detach ../worktrees/project-review-1a2b3c4d"},
	} {
		if _, err := w.run(ctx, s.dir, "git", strings.Fields(s.args)...); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(w.worktrees(), "unsaved", "notes.txt"), []byte("not committed yet\n"), 0o600)
}

func (w *World) buildSessions(ctx context.Context) error {
	for _, s := range [][]string{{"worker-1"}, {"worker-2", "sleep 600; :"}, {"mine"}} {
		if _, err := w.run(ctx, "", "tmux", append([]string{"-S", w.socket(), "-f", "/dev/null", "new-session", "-d", "-s"}, s...)...); err != nil {
			return err
		}
	}
	return nil
}

// buildProcesses starts an orphan whose agent is gone and one whose agent still runs.
func (w *World) buildProcesses(ctx context.Context) error {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		return fmt.Errorf("build the demo: %w", err)
	}
	if sleep, err = filepath.EvalSymlinks(sleep); err != nil {
		return fmt.Errorf("build the demo: %w", err)
	}
	// The agent is a copy of sleep under another name. Where sleep is one name of a larger program, a copy would not run.
	agent := filepath.Join(w.Dir, "demo-agent")
	data, err := os.ReadFile(sleep)
	if err != nil {
		return fmt.Errorf("build the demo: %w", err)
	}
	if err := os.WriteFile(agent, data, 0o700); err != nil {
		return fmt.Errorf("build the demo: %w", err)
	}
	for _, p := range []struct{ what, mark, command string }{
		{"sleep, left behind by an agent that is gone", "gone", "sleep 600"},
		{"demo-agent, an agent that is alive", "alive", text.Quote(agent) + " 600"},
		{"sleep, started by the agent that is alive", "alive", "sleep 600"},
	} {
		out, err := w.run(ctx, "", "sh", "-c", fmt.Sprintf("%s=%s-%d setsid %s </dev/null >/dev/null 2>&1 & echo $!", marker, p.mark, os.Getpid(), p.command))
		if err != nil {
			return fmt.Errorf("build the demo: %w", err)
		}
		pid, err := strconv.Atoi(out)
		if err != nil {
			return fmt.Errorf("build the demo: %w", err)
		}
		handle, err := os.FindProcess(pid)
		if err != nil {
			return fmt.Errorf("build the demo: %w", err)
		}
		w.processes = append(w.processes, process{p.what, handle})
		time.Sleep(20 * time.Millisecond) // an agent is older than what it starts
	}
	return nil
}

// Show lists what is there.
func (w *World) Show(ctx context.Context) {
	if w.tmux {
		names, err := w.run(ctx, "", "tmux", "-S", w.socket(), "list-sessions", "-F", "#{session_name}")
		if err != nil {
			names = "none"
		}
		fmt.Fprintf(w.Out, "  sessions   %s\n", text.Clean(strings.ReplaceAll(names, "\n", ", ")))
	}
	if w.git {
		var names []string
		entries, err := os.ReadDir(w.worktrees())
		if err != nil {
			names = append(names, err.Error())
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		fmt.Fprintf(w.Out, "  worktrees  %s\n", text.Clean(strings.Join(names, ", ")))
	}
	for _, p := range w.processes {
		if IsRunning(p.handle) {
			fmt.Fprintf(w.Out, "  process    %s\n", p.what)
		}
	}
}

// Remove ends and deletes everything that build made, and only that.
func (w *World) Remove() error {
	var errs []error
	for _, p := range w.processes {
		if err := p.handle.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			errs = append(errs, fmt.Errorf("end %s: %w", p.what, err))
		}
		p.handle.Release()
	}
	if w.tmux {
		// The last session may have taken its server along: then there is nothing to end.
		_, _ = w.run(context.Background(), "", "tmux", "-S", w.socket(), "kill-server")
	}
	if err := os.RemoveAll(w.Dir); err != nil {
		errs = append(errs, fmt.Errorf("remove the demo's folder %s: %w", w.Dir, err))
	}
	return errors.Join(errs...)
}

// IsRunning reports whether the process that p pins still runs; a zombie does not.
func IsRunning(p *os.Process) bool {
	running := false
	err := p.WithHandle(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		for errors.Is(err, unix.EINTR) { // a signal says nothing of the process
			n, err = unix.Poll(fds, 0)
		}
		running = err == nil && n == 0
	})
	return err == nil && running
}
