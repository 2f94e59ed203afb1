package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/collectors/wake"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/daemon"
	"github.com/winnow-reaper/winnow/internal/look"
	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/herdr"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/tmux"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// loops runs the daemon's loop in this process until the test ends. It sweeps at its start and for events, not on schedule.
func (w *steadyWorld) loops(t *testing.T) {
	t.Helper()
	r := &w.d.Cfg.Run
	r.Every, r.Rest, r.Settle, r.Burst, r.Share = time.Hour, 50*time.Millisecond, 20*time.Millisecond, time.Second, 1
	w.d.Pace.Options = w.d.PaceOptions()
	unlock, err := w.d.Alone(t.Context()) // as winnow run
	musts.Do(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.d.Loop(ctx) }()
	t.Cleanup(func() { musts.Do(t, unlock()) })
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the loop ended with %v", err)
			}
		case <-time.After(wait.Patience):
			t.Error("the loop does not end")
		}
	})
}

// wakes does something until an event of the source is heard and a sweep that began after it has ended.
func (w *steadyWorld) wakes(t *testing.T, what, source string, do func(n int)) {
	t.Helper()
	before := w.d.Status()
	n := 0
	if !wait.Until(wait.Patience, func() bool { n++; do(n); return w.d.Status().Wakes[source] > before.Wakes[source] }) {
		t.Fatalf("%s: not woken; the sources of events are %+v", what, w.d.Status().Events)
	}
	wait.Eventually(t, what+": swept", func() bool { now := w.d.Status(); return now.Sweeps > before.Sweeps && !now.Sweeping })
}

// TestEventSourcesComeBack: each is ended under the daemon and begun again, and wakes it afterwards.
func TestEventSourcesComeBack(t *testing.T) {
	t.Parallel()
	w := newSteadyWorld(t, 200)
	place := tmux.Folder(t)
	o := herdr.Options{Tick: 5 * time.Millisecond, Socket: filepath.Join(place, "h")}
	serve := func() (*herdr.Server, string) {
		s := herdr.Start(t, o)
		return s, s.Tab(s.Workspace("w"), "a", herdr.Pane{Fake: &herdr.Info{}})
	}
	server, tab := serve()
	w.d.Cfg.Collect.Herdr.Sockets = []string{o.Socket}
	w.loops(t)
	listening := func() (name string) {
		for name, s := range w.d.Status().Events {
			if name != daemon.FileEvents && name != daemon.ExitEvents && s.Listening {
				return name
			}
		}
		return ""
	}
	wait.Eventually(t, "listening to herdr", func() bool { return listening() != "" && w.d.Status().Events[daemon.FileEvents].Listening })
	name := listening()
	rename := func(n int) {
		if n == 1 {
			server.Rename(tab, "new")
		}
	}
	w.wakes(t, "a tab's name", "herdr", rename)

	server.Restart()
	wait.Eventually(t, "listening to herdr after its restart", func() bool { s := w.d.Status().Events[name]; return s.Failures > 0 && s.Listening })
	w.wakes(t, "a tab's name after a restart", "herdr", rename)

	server.Stop(false)
	wait.Eventually(t, "herdr has gone", func() bool { s := w.d.Status().Events[name]; return !s.Listening })
	wait.Eventually(t, "no herdr is listened to", func() bool { w.d.Ask(); _, has := w.d.Status().Events[name]; return !has })
	server, tab = serve()
	wait.Eventually(t, "listening to a herdr that is new", func() bool { return listening() == name })
	w.wakes(t, "a tab's name of a herdr that is new", "herdr", rename)

	old := w.tmux.PID()
	w.tmux.Run("kill-server")
	wait.Eventually(t, "tmux has ended", func() bool { return !procs.Lives(old) })
	w.tmux = tmux.Start(t, w.tmux.Socket, "keeper-again")
	shell, err := strconv.Atoi(w.tmux.Run("display-message", "-p", "-t", "keeper-again:", "#{pane_pid}"))
	musts.Do(t, err)
	w.knows(t, shell)
	w.wakes(t, "the end of a shell in tmux", wake.Process, func(n int) {
		if n == 1 {
			w.tmux.Run("kill-session", "-t", "keeper-again")
		}
	})

	trees := filepath.Join(w.dir, "wt")
	musts.Do(t, os.Rename(trees, trees+"-away"))
	musts.Do(t, os.RemoveAll(trees+"-away"))
	files.Folder(t, trees)
	w.wakes(t, "a folder in one that was made again", wake.Folder, func(n int) { files.Folder(t, trees, "new-"+strconv.Itoa(n)) })
}

// knows sweeps until the daemon has found that the process matters.
func (w *steadyWorld) knows(t *testing.T, pid int) {
	t.Helper()
	var known atomic.Bool
	defer w.d.Listen(func(daemon.Ended) { // in the loop, whose the baseline is
		if w.d.Base != nil {
			_, has := w.d.Base.Known[pid]
			known.Store(has)
		}
	})()
	wait.Eventually(t, "a process is known", func() bool { w.d.Ask(); return known.Load() })
}

// TestTheKernelTellsOfExits where it lets this user listen: also of processes beyond those that are watched one by one.
func TestTheKernelTellsOfExits(t *testing.T) {
	t.Parallel()
	w := newSteadyWorld(t, 201)
	user := exec.Command("sleep", "300")
	user.Dir = w.worktree
	musts.Do(t, user.Start())
	t.Cleanup(func() { _ = user.Process.Kill(); _ = user.Wait() })
	w.loops(t)
	wait.Eventually(t, "an answer", func() bool { s := w.d.Status().Events[daemon.ExitEvents]; return s.Listening || s.Failures > 0 })
	if s := w.d.Status().Events[daemon.ExitEvents]; !s.Listening {
		t.Skip(s.Why)
	}
	w.knows(t, user.Process.Pid)
	w.wakes(t, "its end", wake.Exit, func(n int) {
		if n == 1 {
			musts.Do(t, user.Process.Kill())
			_ = user.Wait()
		}
	})
}

// TestTmuxTellsOfASession: with run.tmux_hooks a session that begins wakes the daemon, and at the end the server's hooks are what they were.
func TestTmuxTellsOfASession(t *testing.T) {
	t.Parallel()
	w := newSteadyWorld(t, 201)
	hooks := func() string { return w.tmux.Run("show-hooks", "-g", ";", "show-hooks", "-gw") }
	before := hooks()
	w.d.Cfg.Run.TmuxHooks = true
	t.Run("the loop", func(t *testing.T) {
		w.loops(t)
		wait.Eventually(t, "listening to tmux", func() bool {
			for name, s := range w.d.Status().Events {
				if name != daemon.FileEvents && name != daemon.ExitEvents && s.Listening {
					return true
				}
			}
			return false
		})
		w.wakes(t, "a session that begins", "tmux", func(n int) { w.tmux.Run("new-session", "-d", "-s", "job-"+strconv.Itoa(n), "sleep", "900") })
		if got := w.tmux.Run("list-sessions", "-F", "#{session_attached}"); strings.Contains(got, "1") {
			t.Errorf("a session looks attended: %q", got)
		}
	})
	if after := hooks(); after != before {
		t.Errorf("the hooks are not what they were:\n%s\n%s", before, after)
	}
}

// TestWhoseEndIsWorthASweep: that of what a pane was opened with, of an agent, of what works in a worktree and was started elsewhere, and of what ran for a while; not that of what an
// agent or a shell starts and ends all the time.
func TestWhoseEndIsWorthASweep(t *testing.T) {
	t.Parallel()
	w := newSteadyWorld(t, 203)
	sleep, err := exec.LookPath("sleep")
	musts.Do(t, err)
	w.mustRun(t, "cp", sleep, filepath.Join(w.dir, "claude"))

	pids := filepath.Join(w.dir, "pids")
	files.Write(t, filepath.Join(w.dir, "pane.sh"), "sleep 300 & echo $! >>"+pids+"\n"+filepath.Join(w.dir, "claude")+" 300 & echo $! >>"+pids+"\nwait\n")
	w.tmux.Run("new-session", "-d", "-s", "busy", "sh", filepath.Join(w.dir, "pane.sh"))
	shell, err := strconv.Atoi(w.tmux.Run("display-message", "-p", "-t", "busy:", "#{pane_pid}"))
	musts.Do(t, err)
	user := exec.Command("sh", "-c", "sleep 300 & echo $! >>"+pids+"-2; wait")
	user.Dir = w.worktree
	musts.Do(t, user.Start())
	t.Cleanup(func() { _ = user.Process.Kill(); _ = user.Wait() })
	below := func(file string, n int) (out []int) {
		wait.Eventually(t, "its processes run", func() bool {
			out = out[:0]
			text, _ := os.ReadFile(file)
			for word := range strings.FieldsSeq(string(text)) {
				pid, _ := strconv.Atoi(word)
				out = append(out, pid)
			}
			return len(out) == n && procs.Name(out[n-1]) != "sh"
		})
		return out
	}
	inPane, inTree := below(pids, 2), below(pids+"-2", 1)
	t.Cleanup(func() { _ = syscall.Kill(inTree[0], syscall.SIGKILL) })

	_, err = w.d.Sweep(t.Context(), "")
	musts.Do(t, err)
	b, up := w.d.Base, host.Now().Up
	later := *up + look.Passing
	for _, c := range []struct {
		what  string
		pid   int
		tells bool
	}{
		{"what a pane was opened with", shell, true},
		{"what it started", inPane[0], false},
		{"an agent that it started", inPane[1], true},
		{"who works in a worktree", user.Process.Pid, true},
		{"what he started", inTree[0], false},
	} {
		if _, matters := b.Known[c.pid]; !matters {
			t.Errorf("%s does not matter", c.what)
		}
		if b.Tells(c.pid, up) != c.tells {
			t.Errorf("%s is watched: %v, want %v", c.what, !c.tells, c.tells)
		}
		if !b.Tells(c.pid, &later) || !b.Tells(c.pid, nil) {
			t.Errorf("%s is not watched although it has run for a while, or that is not known", c.what)
		}
	}
	for _, watched := range w.d.Targets(&snapshot.Snapshot{}, b).Processes {
		if watched.PID == inPane[0] || watched.PID == inTree[0] {
			t.Errorf("pid %d is watched", watched.PID)
		}
	}
}
