package herdr

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func TestTheLastTab(t *testing.T) {
	t.Parallel()
	for profile, refuses := range map[Profile]bool{V071: true, V074: true, V075: true, V080: false, Future: false} {
		t.Run(string(profile), func(t *testing.T) {
			t.Parallel()
			s := Start(t, Options{Profile: profile})
			s.Tab(s.Workspace("other"), "", still)
			tab := s.Tab(s.Workspace("work"), "", still)
			s.Expect("tab.close", tab)
			a := call(t, s, "tab.close", params("tab_id", tab))
			if got := a.Error.Code; refuses != (got == "tab_close_failed") || refuses != s.HasTab(tab) {
				t.Errorf("%q, %v", got, s.Tabs())
			}
		})
	}
}

// repository makes a main checkout, two worktrees of it, and a workspace that has nothing to do with them.
func repository(t *testing.T, o Options) (s *Server, main, linked string) {
	s = Start(t, o)
	tree := Worktree{RepoKey: "k", RepoName: "r", RepoRoot: "/r", CheckoutPath: "/r"}
	side := tree
	side.Linked, side.CheckoutPath = true, "/s"
	main = s.Tab(s.Workspace("main", tree), "", still)
	linked = s.Tab(s.Workspace("one", side), "", still)
	s.Tab(s.Workspace("two", side), "", still)
	s.Tab(s.Workspace("alone", Worktree{RepoKey: "other", RepoName: "o", RepoRoot: "/o", CheckoutPath: "/o"}), "", still)
	return s, main, linked
}

func TestWorktreeGroups(t *testing.T) {
	t.Parallel()
	t.Run("asked", func(t *testing.T) {
		t.Parallel()
		s, main, _ := repository(t, Options{})
		s.Expect("tab.close", main)
		refused(t, s, "confirmation_required", "tab.close", params("tab_id", main))
		if len(s.Tabs()) != 4 || s.Dialogs() != 1 {
			t.Errorf("%v, %d dialogs", s.Tabs(), s.Dialogs())
		}
	})
	t.Run("not asked", func(t *testing.T) {
		t.Parallel()
		s, main, _ := repository(t, Options{ConfirmCloseOff: true})
		closes(t, s, main)
		if got := s.Tabs(); !slices.Equal(got, []string{"w4:t1"}) || s.Dialogs() != 0 {
			t.Errorf("%v, %d dialogs", got, s.Dialogs())
		}
	})
	t.Run("a linked worktree goes alone", func(t *testing.T) {
		t.Parallel()
		s, _, linked := repository(t, Options{})
		closes(t, s, linked)
		if got := s.Tabs(); len(got) != 3 || s.HasTab(linked) {
			t.Error(got)
		}
	})
	t.Run("a main checkout alone", func(t *testing.T) {
		t.Parallel()
		s, _, _ := repository(t, Options{})
		closes(t, s, "w4:t1")
		if len(s.Tabs()) != 3 {
			t.Error(s.Tabs())
		}
	})
	t.Run("not the last tab", func(t *testing.T) {
		t.Parallel()
		s, main, _ := repository(t, Options{})
		s.Tab("w1", "", still)
		closes(t, s, main)
		if len(s.Tabs()) != 4 || s.Dialogs() != 0 {
			t.Errorf("%v, %d dialogs", s.Tabs(), s.Dialogs())
		}
	})
}

// started waits for files that processes write their numbers to.
func started(t *testing.T, dir string, names ...string) (pids []int) {
	t.Helper()
	for _, name := range names {
		wait.Eventually(t, name+" started", func() bool {
			text, err := os.ReadFile(filepath.Join(dir, name))
			pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
			if err == nil && pid > 0 && strings.HasSuffix(string(text), "\n") {
				pids = append(pids, pid)
				return true
			}
			return false
		})
	}
	return pids
}

func TestCloseEndsTheSessionAndNothingElse(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	dir := t.TempDir()
	keep := s.Tab(s.Workspace("work"), "")
	tab := s.Tab("w1", "", Pane{Dir: dir}, Pane{Argv: []string{"sleep", "1000"}})
	shell, command := s.Panes(tab)[0], s.Panes(tab)[1]
	// A job in the background, one that was stopped, one that takes no hint, and one that left the session.
	s.Type(shell.ID, `sh -c 'echo $$ >background; exec sleep 1000' &`+"\n")
	s.Type(shell.ID, `sh -c 'echo $$ >stubborn; trap "" HUP TERM; while :; do sleep 1000; done' &`+"\n")
	s.Type(shell.ID, `setsid sh -c 'echo $$ >away; exec sleep 1000' &`+"\n")
	s.Type(shell.ID, `sh -c 'echo $$ >stopped; kill -STOP $$; exec sleep 1000'`+"\n")
	pids := started(t, dir, "background", "stubborn", "stopped", "away")
	away := pids[3]
	wait.Eventually(t, "back at the prompt", func() bool {
		p, err := procs.Read(shell.PID)
		return err == nil && p.Foreground == shell.PID
	})
	start := time.Now()
	closes(t, s, tab)
	if d := time.Since(start); d < 2*patience {
		t.Errorf("what takes no hint was killed after %v", d)
	}
	for _, pid := range append(pids[:3], shell.PID, command.PID) {
		if procs.Lives(pid) {
			t.Errorf("%d is alive after the answer", pid)
		}
	}
	if !procs.Lives(away) {
		t.Error("what left the session was killed")
	}
	if p := s.Panes(keep)[0]; !procs.Lives(p.PID) {
		t.Error("another tab's shell was killed")
	}
}

func TestExitTakesPaneTabAndWorkspace(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	tab := s.Tab(s.Workspace("work"), "", Pane{}, Pane{Argv: []string{"sleep", "1000"}})
	s.Type(s.Panes(tab)[0].ID, "exit\n")
	wait.Eventually(t, "one pane", func() bool { return len(s.Panes(tab)) == 1 })
	if err := syscall.Kill(s.Panes(tab)[0].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait.Eventually(t, "no tab", func() bool { return len(s.Tabs()) == 0 })
}
