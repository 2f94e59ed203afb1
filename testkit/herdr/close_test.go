package herdr

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
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

func TestPaneCloseTakesTabAndWorkspace(t *testing.T) {
	t.Parallel()
	for _, profile := range []Profile{V071, V080} {
		s := Start(t, Options{Profile: profile})
		s.Tab(s.Workspace("work"), "", still, still)
		s.Tab("w1", "", still)
		for i, want := range []string{"[w1:t1 w1:t2]", "[w1:t2]", "[]"} {
			id := "w1:p" + itoa(i+1)
			s.Expect("pane.close", id)
			must(t, s, "pane.close", params("pane_id", id))
			if got := fmt.Sprint(s.Tabs()); got != want {
				t.Errorf("%s, after %s: want %s, got %s", profile, id, want, got)
			}
		}
		if got := must(t, s, "workspace.list", "{}")["workspaces"]; len(got.([]any)) != 0 {
			t.Errorf("%v", got)
		}
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
		s.Expect("pane.close", "w1:p1")
		refused(t, s, "confirmation_required", "pane.close", params("pane_id", "w1:p1"))
		if len(s.Tabs()) != 4 || s.Dialogs() != 2 {
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
	t.Run("workspace.close never asks", func(t *testing.T) {
		t.Parallel()
		s, _, _ := repository(t, Options{})
		s.Expect("workspace.close", "w1")
		must(t, s, "workspace.close", params("workspace_id", "w1"))
		if got := s.Tabs(); !slices.Equal(got, []string{"w4:t1"}) {
			t.Error(got)
		}
	})
}

func TestATerminalIsNeverWithoutWorkspace(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{TUI: true})
	tab := s.Tab(s.Workspace("work"), "", still)
	closes(t, s, tab)
	if got := s.Tabs(); !slices.Equal(got, []string{"w2:t1"}) || s.Panes("w2:t1")[0].PID == 0 {
		t.Error(got)
	}
}

func TestLenientIDsCloseSomethingElse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ method, id, gone string }{
		{"tab.close", "w2:1", "w2:t2"}, {"tab.close", "2:1", "w2:t2"}, {"tab.close", "t_2_1", "w2:t2"}, {"tab.close", "t_w2_2", "w2:t3"},
		{"tab.close", "w_2:2", "w2:t3"}, {"tab.close", "2:t2", "w2:t2"}, {"tab.close", "w_2:t3", "w2:t3"}, {"tab.close", "w2:+2", "w2:t3"},
		{"tab.close", "+2:1", "w2:t2"}, {"tab.close", "w_+2:t2", "w2:t2"}, {"tab.close", "w2:01", "w2:t2"}, {"pane.close", "2:p2", "w2:t2"},
		{"pane.close", "w_2:p3", "w2:t3"}, {"pane.close", "w2-+3", "w2:t3"}, {"pane.close", "p_+3", "w2:t2"}, {"pane.close", "2-2", "w2:t2"}, {"pane.close", "w2-3", "w2:t3"},
		{"pane.close", "p_3", "w2:t2"}, {"pane.close", "p_2_3", "w2:t2"}, {"workspace.close", "1", "w1:t1"},
	} {
		t.Run(c.method+" "+c.id, func(t *testing.T) {
			t.Parallel()
			s := Start(t, Options{})
			s.Tab(s.Workspace("one"), "", still)
			work := s.Workspace("two")
			gone := s.Tab(work, "", still)
			s.Tab(work, "", still)
			s.Tab(work, "", still)
			s.CloseTab(gone) // so that numbers and positions differ
			before := s.Tabs()
			key := strings.TrimSuffix(c.method, ".close") + "_id"
			s.Expect(c.method, c.id)
			must(t, s, c.method, params(key, c.id))
			if s.HasTab(c.gone) || len(s.Tabs()) != len(before)-1 {
				t.Errorf("of %v there are %v", before, s.Tabs())
			}
		})
	}
	s := Start(t, Options{})
	s.Tab(s.Workspace("one"), "", still)
	for _, id := range []string{"", "w1", "w1:t2", "w1:0", "w1:2", "w1:-1", "w1:+", "w1:++1", "0:1", "+0:1", "1:tI", "w1:t", "w1:+t1", "t_1_t1", "w_w1:t1", "t_1", "t_1_9", "w9:1", "w1:t01", "w1:T1", "W1:T1"} {
		s.Expect("tab.close", id)
		refused(t, s, "tab_not_found", "tab.close", params("tab_id", id))
	}
	for _, id := range []string{"", "w1", "1-2", "9-1", "p_", "p_2", "p_2_1", "p_9_1", "w1:p2", "1:pI", "w1:+p1", "w1:p+1"} {
		s.Expect("pane.close", id)
		refused(t, s, "pane_not_found", "pane.close", params("pane_id", id))
	}
}

// started waits for files that processes write their numbers to.
func started(t *testing.T, dir string, names ...string) (pids []int) {
	t.Helper()
	for _, name := range names {
		eventually(t, name+" started", func() bool {
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
	eventually(t, "back at the prompt", func() bool {
		p, err := readProcess(shell.PID)
		return err == nil && p.tpgid == shell.PID
	})
	start := time.Now()
	closes(t, s, tab)
	if d := time.Since(start); d < 2*patience {
		t.Errorf("what takes no hint was killed after %v", d)
	}
	for _, pid := range append(pids[:3], shell.PID, command.PID) {
		if alive(pid) {
			t.Errorf("%d is alive after the answer", pid)
		}
	}
	if !alive(away) {
		t.Error("what left the session was killed")
	}
	if p := s.Panes(keep)[0]; !alive(p.PID) {
		t.Error("another tab's shell was killed")
	}
}

func TestExitTakesPaneTabAndWorkspace(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	tab := s.Tab(s.Workspace("work"), "", Pane{}, Pane{Argv: []string{"sleep", "1000"}})
	s.Type(s.Panes(tab)[0].ID, "exit\n")
	eventually(t, "one pane", func() bool { return len(s.Panes(tab)) == 1 })
	if err := syscall.Kill(s.Panes(tab)[0].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no tab", func() bool { return len(s.Tabs()) == 0 })
}
