package main

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

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newDemo(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Build a small made-up world, sweep it twice with --apply, and remove it",
		Long: `Demo builds a world of its own in a temporary folder: a tmux server on a private socket, a repository with worktrees, and a few
processes. It sweeps that world twice, shows it before and after, and removes it. Nothing outside of it is looked at as a
candidate, and nothing is left behind.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context()) },
	}
}

// demoMarker ties the demo's processes to the demo: no other process carries it, so no other is in scope.
const demoMarker = "WINNOW_DEMO"

func (a *app) demo(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "winnow-demo-")
	if err != nil {
		return fmt.Errorf("make the demo's folder: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return fmt.Errorf("make the demo's folder: %w", err)
	}
	if _, err := safeopen.Folder(dir); err != nil {
		return errors.Join(fmt.Errorf("make the demo's folder: %w; nothing was made in it: set TMPDIR to a folder that no other user can change", err), os.Remove(dir))
	}
	w := &demoWorld{dir: dir, out: a.out, paint: a.paint.Paint}
	defer func() { err = errors.Join(err, w.remove()) }()
	w.title("1. A made-up world in " + text.Clean(dir))
	if err := w.build(ctx); err != nil {
		return err
	}
	w.show(ctx)

	cfg, err := w.config()
	if err != nil {
		return err
	}
	demo := *a
	demo.Cfg = cfg
	// It acts on what it made, so that it does not wait and leaves nothing in the user's home.
	demo.Acting = ledger.Acting{Name: filepath.Base(dir), Home: dir}
	e, p, err := demo.Engine(ctx)
	if err != nil {
		return err
	}
	s, err := demo.OpenSweeper(ctx, e, p, true, 0)
	if err != nil {
		return err
	}
	defer s.Close()
	f := sweep.Options{Apply: true, Show: sweep.Listing{Kinds: snapshot.KindNames(), All: true}}
	for i, title := range []string{
		"2. winnow sweep --apply: what a person may be looking at, and what runs, is only marked",
		"3. winnow sweep --apply again: seen twice, it goes",
	} {
		if i > 0 {
			if err := demo.wait(ctx, config.Seconds(cfg.Rules.ConfirmAfter)); err != nil {
				return err
			}
		}
		w.title(title)
		r, err := s.Sweep(ctx, f)
		if err != nil {
			return err
		}
		if err := r.Write(demo.out, demo.paint.Paint, demo.flags.format, f.Show.All); err != nil {
			return err
		}
	}
	w.title("4. What is left")
	w.show(ctx)
	w.title("5. The made-up world is removed")
	return nil
}

// demoWorld is what the demo made, and how to end each part of it.
type demoWorld struct {
	dir       string
	out       io.Writer
	paint     text.Paint
	tmux, git bool
	processes []demoProcess
}

type demoProcess struct {
	what string
	// handle pins the process: its pid cannot come to mean another one.
	handle *os.Process
}

func (w *demoWorld) title(s string)    { fmt.Fprintf(w.out, "\n%s\n\n", w.paint.Bold(s)) }
func (w *demoWorld) socket() string    { return filepath.Join(w.dir, "tmux") }
func (w *demoWorld) worktrees() string { return filepath.Join(w.dir, "worktrees") }

// config is the default configuration, narrowed to the demo's world and made impatient: nothing that is really the user's is in reach
// of any rule.
func (w *demoWorld) config() (*config.Config, error) {
	file := filepath.Join(w.dir, "config.yaml")
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
`, filepath.Join(w.dir, "state"), sockets, demoMarker, w.worktrees(), demoMarker)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write the demo's configuration: %w", err)
	}
	return config.Load(file, nil)
}

func (w *demoWorld) build(ctx context.Context) error {
	if err := os.MkdirAll(w.worktrees(), 0o700); err != nil {
		return fmt.Errorf("build the demo: %w", err)
	}
	for _, part := range []struct {
		program string
		made    *bool
		build   func(context.Context) error
	}{{"git", &w.git, w.buildWorktrees}, {"tmux", &w.tmux, w.buildSessions}} {
		if _, err := exec.LookPath(part.program); err != nil {
			fmt.Fprintf(w.out, "  %s is not installed: that part of the demo is left out\n", part.program)
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
func (w *demoWorld) run(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = filepath.Join(w.dir, dir)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "SHELL=/bin/sh", "TERM=xterm", "LC_ALL=C.UTF-8",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=demo", "GIT_AUTHOR_EMAIL=demo@localhost",
		"GIT_COMMITTER_NAME=demo", "GIT_COMMITTER_EMAIL=demo@localhost"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", program, args[0], err, strings.TrimSpace(string(out)))
	}
	return strings.TrimSpace(string(out)), nil
}

func (w *demoWorld) buildWorktrees(ctx context.Context) error {
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

func (w *demoWorld) buildSessions(ctx context.Context) error {
	for _, s := range [][]string{{"worker-1"}, {"worker-2", "sleep 600; :"}, {"mine"}} {
		if _, err := w.run(ctx, "", "tmux", append([]string{"-S", w.socket(), "-f", "/dev/null", "new-session", "-d", "-s"}, s...)...); err != nil {
			return err
		}
	}
	return nil
}

// buildProcesses starts an orphan whose agent is gone and one whose agent still runs.
func (w *demoWorld) buildProcesses(ctx context.Context) error {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		return fmt.Errorf("build the demo: %w", err)
	}
	if sleep, err = filepath.EvalSymlinks(sleep); err != nil {
		return fmt.Errorf("build the demo: %w", err)
	}
	// The agent is a copy of sleep under another name. Where sleep is one name of a larger program, a copy would not run.
	agent := filepath.Join(w.dir, "demo-agent")
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
		out, err := w.run(ctx, "", "sh", "-c", fmt.Sprintf("%s=%s-%d setsid %s </dev/null >/dev/null 2>&1 & echo $!", demoMarker, p.mark, os.Getpid(), p.command))
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
		w.processes = append(w.processes, demoProcess{p.what, handle})
		time.Sleep(20 * time.Millisecond) // an agent is older than what it starts
	}
	return nil
}

// show lists what is there.
func (w *demoWorld) show(ctx context.Context) {
	if w.tmux {
		names, err := w.run(ctx, "", "tmux", "-S", w.socket(), "list-sessions", "-F", "#{session_name}")
		if err != nil {
			names = "none"
		}
		fmt.Fprintf(w.out, "  sessions   %s\n", text.Clean(strings.ReplaceAll(names, "\n", ", ")))
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
		fmt.Fprintf(w.out, "  worktrees  %s\n", text.Clean(strings.Join(names, ", ")))
	}
	for _, p := range w.processes {
		if isRunning(p.handle) {
			fmt.Fprintf(w.out, "  process    %s\n", p.what)
		}
	}
}

// remove ends and deletes everything that build made, and only that.
func (w *demoWorld) remove() error {
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
	if err := os.RemoveAll(w.dir); err != nil {
		errs = append(errs, fmt.Errorf("remove the demo's folder %s: %w", w.dir, err))
	}
	return errors.Join(errs...)
}
