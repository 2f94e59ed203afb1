package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/test/kit/herdr"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// killedAtEveryStep kills the program at every step of an act, in a new world each time, lets the next sweep settle the act, and has check
// say what must be true then. An act has least steps.
func killedAtEveryStep(t *testing.T, least, step int, world func() (w *crashWorld, check func(n int))) {
	t.Helper()
	for n, spared := 1, 0; ; n += step {
		w, check := world()
		killed := w.sweepKilledAt(t, n)
		if _, err := os.Stat(w.worktree); w.kind == "dir" && !killed && err == nil && spared < 5 {
			// On a busy machine a look may have a gap, and what is not known is kept: that was not an act.
			spared++
			n -= step
			continue
		}
		w.mustRun(t, "winnow", "sweep", "--config", w.config, "--kind", w.kind, "--apply")
		check(n)
		if open := w.unsettled(t); open != 0 {
			t.Errorf("killed at step %d: %d acts are still open after the next sweep", n, open)
		}
		if !killed {
			if n < least {
				t.Fatalf("an act has %d steps only: the steps are not counted", n-1)
			}
			t.Logf("killed before step %d", n)
			return
		}
	}
}

// TestKilledAtEveryStep demands of an act on a folder that nothing is lost: the folder is where it was, or restore brings it back, to the
// byte as git sees it.
func TestKilledAtEveryStep(t *testing.T) {
	startsOften(t)
	t.Parallel()
	killedAtEveryStep(t, 5, stage.Trials(5, 1), func() (*crashWorld, func(n int)) {
		w := newCrashFolder(t)
		before := w.state(t)
		return w, func(n int) {
			// Where it stayed it was put back, or never went, and the sweep after that did not take it either: that would have been another act.
			how := "the folder stayed and"
			if _, err := os.Stat(w.worktree); err != nil {
				w.restoreAll(t)
				how = "restored, it"
			}
			if diff := cmp.Diff(before, w.state(t)); diff != "" {
				t.Errorf("killed at step %d: %s is not what it was (-want +got):\n%s", n, how, diff)
			}
		}
	})
}

type crashWorld struct {
	dir, worktree, config string
	kind                  string
	env                   []string
}

// newCrashWorld has a configuration of its own in dir.
func newCrashWorld(t *testing.T, dir, kind, config string, env ...string) *crashWorld {
	t.Helper()
	w := &crashWorld{dir: dir, config: filepath.Join(dir, "config.yaml"), kind: kind}
	// No look and no decision is given up here because the machine is busy: with the race detector one may take many seconds.
	w.env = append(append(os.Environ(), "HOME="+dir, "XDG_RUNTIME_DIR="+dir), env...)
	config = strings.Replace(config, "collect: {", "collect: {timeout: 10m, ", 1)
	musts.Do(t, os.WriteFile(w.config, []byte("version: 1\npolicy: {timeout: 10m}\nstate: "+dir+"/state\n"+config), 0o600))
	return w
}

// newCrashFolder is a world with one worktree that may go.
func newCrashFolder(t *testing.T) *crashWorld {
	t.Helper()
	dir := musts.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	w := newCrashWorld(t, dir, "dir", fmt.Sprintf("collect: {tmux: {sockets: []}, dirs: {roots: [%s/wt], agent_folders: [], discover: false}}\n"+
		"rules: {grace: {dir: 0s}, steady_for: 0s}\n", dir), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@localhost")
	w.worktree = filepath.Join(dir, "wt", "project-review-1a2b3c4d")
	for _, line := range []string{
		"init -q -b main project",
		"-C project commit -q --allow-empty -m start",
		"-C project worktree add -q --detach ../wt/project-review-1a2b3c4d",
	} {
		w.mustRun(t, "git", strings.Fields(line)...)
	}
	musts.Do(t, os.MkdirAll(filepath.Join(w.worktree, "node_modules", "x"), 0o755))
	for name, text := range map[string]string{"node_modules/x/y": "built", "../../project/.git/info/exclude": "node_modules\n"} {
		musts.Do(t, os.WriteFile(filepath.Join(w.worktree, name), []byte(text), 0o644))
	}
	return w
}

// run executes git, or the program.
func (w *crashWorld) run(extra []string, program string, args ...string) ([]byte, error) {
	if program == "winnow" {
		program = itself()
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(w.env, extra...)
	cmd.Dir = w.dir
	return cmd.CombinedOutput()
}

func (w *crashWorld) mustRun(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := w.run(nil, program, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// sweepKilledAt reports whether the program was killed: there are only so many steps.
func (w *crashWorld) sweepKilledAt(t *testing.T, n int) bool {
	t.Helper()
	out, err := w.run([]string{fmt.Sprintf("%s=%d", stopAt, n)}, "winnow", "sweep", "--config", w.config, "--kind", w.kind, "--apply")
	if err == nil {
		return false
	}
	exit, ok := err.(*exec.ExitError)
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("sweep to be killed at step %d: %v\n%s", n, err, out)
	}
	return true
}

// state is the folder as git and the file system show it.
func (w *crashWorld) state(t *testing.T) string {
	t.Helper()
	status := w.mustRun(t, "git", "-C", w.worktree, "status", "--porcelain=v2", "--branch", "--ignored")
	files := w.mustRun(t, "find", w.worktree, "-printf", "%P %m %s %i\n")
	trees := w.mustRun(t, "git", "-C", filepath.Join(w.dir, "project"), "worktree", "list", "--porcelain")
	refs := w.mustRun(t, "git", "-C", filepath.Join(w.dir, "project"), "for-each-ref")
	return status + files + trees + refs
}

func (w *crashWorld) restoreAll(t *testing.T) {
	t.Helper()
	kept := w.kept(t)
	if len(kept) != 1 {
		t.Fatalf("the folder is gone and the trash does not hold it once: %v", kept)
	}
	w.mustRun(t, "winnow", "restore", "--no-hold", "--config", w.config, kept[0])
}

// kept are the acts that have something in the trash.
func (w *crashWorld) kept(t *testing.T) (ids []string) {
	t.Helper()
	var kept struct {
		Acts []struct{ Intent struct{ ID string } }
	}
	out := w.mustRun(t, "winnow", "trash", "--config", w.config, "--format", "json")
	if err := json.Unmarshal([]byte(out), &kept); err != nil {
		t.Fatalf("the trash: %v\n%s", err, out)
	}
	for _, k := range kept.Acts {
		ids = append(ids, k.Intent.ID)
	}
	return ids
}

// unsettled counts the acts without a recorded outcome.
func (w *crashWorld) unsettled(t *testing.T) int {
	t.Helper()
	var h struct {
		Acts []struct {
			Outcome *json.RawMessage `json:"outcome"`
		} `json:"acts"`
	}
	musts.Do(t, json.Unmarshal([]byte(w.mustRun(t, "winnow", "history", "--config", w.config, "--format", "json")), &h))
	n := 0
	for _, a := range h.Acts {
		if a.Outcome == nil {
			n++
		}
	}
	return n
}

// TestSessionKilledAtEveryStep does the same for an act on a tmux session: it is there, or what stood in it can be brought back.
func TestSessionKilledAtEveryStep(t *testing.T) {
	stage.NeedSecond(t, "it kills the program at step after step")
	startsOften(t)
	t.Parallel()
	killedAtEveryStep(t, 3, 1, func() (*crashWorld, func(n int)) {
		w := newCrashSession(t)
		return w, func(n int) {
			if _, err := w.run(nil, "tmux", "-S", w.worktree, "has-session", "-t", "=worker-1"); err == nil {
				return
			}
			if saved, listed := w.brought(t, "worker-1"); !saved || !listed {
				t.Errorf("killed at step %d: the session is gone, its text is kept: %v, the trash lists it: %v", n, saved, listed)
			}
		}
	})
}

// brought says of what is gone whether its text is kept in the trash, and whether the trash lists it.
func (w *crashWorld) brought(t *testing.T, name string) (saved, listed bool) {
	t.Helper()
	text, _ := filepath.Glob(filepath.Join(w.dir, "state", "trash", "*", "*"))
	saved = slices.ContainsFunc(text, func(file string) bool {
		data, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(data), "what stood here")
	})
	return saved, strings.Contains(w.mustRun(t, "winnow", "trash", "--config", w.config), name)
}

// newCrashSession is a world with one idle session, which was seen once; its worktree is the server's socket.
func newCrashSession(t *testing.T) *crashWorld {
	t.Helper()
	dir := musts.Get(os.MkdirTemp("", "wc"))(t)
	socket := filepath.Join(dir, "s")
	w := newCrashWorld(t, dir, "session", fmt.Sprintf("collect: {tmux: {sockets: [%s]}, dirs: {agent_folders: [], discover: false}}\n"+
		"rules: {session_names: {exact: [worker-1]}, grace: {session: 0s}, confirm_after: 0s, steady_for: 0s}\n", socket),
		"SHELL=/bin/sh", "TMUX=", "LC_ALL=C.UTF-8")
	w.worktree = socket
	t.Cleanup(func() {
		_, _ = w.run(nil, "tmux", "-S", w.worktree, "kill-server")
		os.RemoveAll(dir)
	})
	w.mustRun(t, "tmux", "-S", w.worktree, "-f", "/dev/null", "new-session", "-d", "-s", "worker-1", "-x", "80", "-y", "24")
	w.mustRun(t, "tmux", "-S", w.worktree, "send-keys", "-t", "worker-1", "echo what stood here", "Enter")
	for range 100 {
		screen := w.mustRun(t, "tmux", "-S", w.worktree, "capture-pane", "-p", "-t", "worker-1")
		if strings.Count(screen, "what stood here") == 2 {
			time.Sleep(50 * time.Millisecond)
			w.mustRun(t, "winnow", "sweep", "--config", w.config, "--kind", "session")
			return w
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the shell did not print the text")
	return nil
}

// TestTabKilledAtEveryStep does the same for an act on a herdr tab, which the server closes once at most.
func TestTabKilledAtEveryStep(t *testing.T) {
	stage.NeedSecond(t, "it kills the program at step after step")
	startsOften(t)
	t.Parallel()
	killedAtEveryStep(t, 3, 1, func() (*crashWorld, func(n int)) {
		w, s, tab := newCrashTab(t)
		return w, func(n int) {
			saved, listed := w.brought(t, "review TASK-1")
			if there := s.HasTab(tab); there == saved || there == listed {
				t.Errorf("killed at step %d: the tab is there: %v, its text is kept: %v, the trash lists it: %v", n, there, saved, listed)
			}
		}
	})
}

// newCrashTab is a world with one husk of a helper's tab, which was seen once.
func newCrashTab(t *testing.T) (*crashWorld, *herdr.Server, string) {
	t.Helper()
	s := herdr.Start(t, herdr.Options{})
	ws := s.Workspace("acme")
	s.Tab(ws, "main")
	tab := s.Tab(ws, "review TASK-1")
	w := newCrashWorld(t, t.TempDir(), "tab", fmt.Sprintf("collect: {herdr: {sockets: [%s]}, tmux: {sockets: []}, dirs: {agent_folders: [], discover: false}}\n"+
		"rules: {confirm_after: 0s, steady_for: 0s}\n", s.Socket()), "HERDR_SOCKET_PATH=", "HERDR_PANE_ID=", "HERDR_TAB_ID=")
	pane := s.Panes(tab)[0].ID
	s.Type(pane, "echo what stood here\n")
	for range 200 {
		if strings.Count(s.Output(pane), "what stood here") == 2 {
			time.Sleep(50 * time.Millisecond)
			w.mustRun(t, "winnow", "sweep", "--config", w.config, "--kind", "tab")
			s.Expect("tab.close", tab)
			return w, s, tab
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the shell did not print the text")
	return nil, nil, ""
}

// TestKilledInABatch kills a sweep that sets two folders aside together. When the first of them moves both intents are in the ledger; afterwards each of
// them is where it was, or restore brings it back.
func TestKilledInABatch(t *testing.T) {
	stage.NeedSecond(t, "it kills the program at step after step")
	t.Parallel()
	startsOften(t)
	opened := false
	for n, spared := 1, 0; ; n += 3 {
		w := newCrashFolder(t)
		two := *w
		two.worktree = filepath.Join(w.dir, "wt", "project-review-5e6f7a8b")
		w.mustRun(t, "git", "-C", "project", "worktree", "add", "-q", "--detach", two.worktree)
		before := w.state(t) + two.state(t)
		killed := w.sweepKilledAt(t, n)
		if open := w.unsettled(t); open == 1 && spared < 5 {
			// On a busy machine a look may have a gap, and one of them stays: that was no batch.
			spared++
			n -= 3
			continue
		} else if open != 0 && open != 2 {
			t.Errorf("killed at step %d: %d intents are open, want those of both or of none", n, open)
		} else if open == 2 {
			opened = true
		}
		w.mustRun(t, "winnow", "sweep", "--config", w.config, "--kind", w.kind, "--apply")
		if open := w.unsettled(t); open != 0 {
			t.Errorf("killed at step %d: %d acts are still open after the next sweep", n, open)
		}
		for _, id := range w.kept(t) {
			w.mustRun(t, "winnow", "restore", "--no-hold", "--config", w.config, id)
		}
		if diff := cmp.Diff(before, w.state(t)+two.state(t)); diff != "" {
			t.Fatalf("killed at step %d: it is not what it was (-want +got):\n%s", n, diff)
		}
		if !killed {
			if n < 10 || !opened {
				t.Errorf("%d steps, intents were open: %v", n, opened)
			}
			return
		}
	}
}

// What is held while a sweep acts counts before the next act: here the hold is placed when the look has said that the folder may go, and the act
// on it is written down.
func TestAHoldBetweenLookAndActCounts(t *testing.T) {
	t.Parallel()
	w := newCrashFolder(t)
	line := itself() + " retain --config " + w.config + " dir:" + w.worktree + " --reason later"
	out, err := w.run([]string{runAt + "=dir.refs:" + line}, "winnow", "sweep", "--config", w.config, "--kind", "dir", "--apply")
	if _, gone := os.Stat(w.worktree); gone != nil {
		t.Fatalf("it was held, and went all the same: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), "held by") {
		t.Errorf("the act does not say why it was not done: %v\n%s", err, out)
	}
}
