package herdr

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// asked gives pane.process_info in short: whether the shell is in front, and who is, and "omitted" when that is missing.
func asked(t *testing.T, s *Server, p PaneState) string {
	t.Helper()
	info := must(t, s, "pane.process_info", params("pane_id", p.ID))["process_info"].(map[string]any)
	if info["pane_id"] != p.ID || p.PID > 0 && info["shell_pid"] != float64(p.PID) {
		t.Errorf("%v of %v", info, p)
	}
	who := any([]string{"omitted"})
	if list, ok := info["foreground_processes"]; ok {
		who = column(list, "name")
	}
	return fmt.Sprint(info["foreground_process_group_id"] == info["shell_pid"], who)
}

func TestIdleShell(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	tab := s.Tab(s.Workspace("work"), "")
	p := s.Panes(tab)[0]
	if got := asked(t, s, p); got != "true [sh]" {
		t.Error(got)
	}
	if got := procs.Session(p.PID); len(got) != 1 || got[0].PID != p.PID {
		t.Errorf("its session: %v", got)
	}
	s.Type(p.ID, "sleep 1000 &\n")
	wait.Eventually(t, "a job in the session", func() bool { return len(procs.Session(p.PID)) == 2 && procs.Session(p.PID)[1].Name == "sleep" })
	if got := asked(t, s, p); got != "true [sh]" {
		t.Errorf("with a job in the background: %s", got)
	}
	s.Type(p.ID, "sleep 1001\n")
	wait.Eventually(t, "a command in front", func() bool { return asked(t, s, p) == "false [sleep]" })
	again := s.Panes(tab)[0]
	s.LaunchAgain(p.ID)
	if got := s.Panes(tab)[0]; got.PID == again.PID || got.Terminal != again.Terminal || asked(t, s, got) != "true [sh]" {
		t.Errorf("launched again: %v, then %v", again, got)
	}
	if procs.Lives(again.PID) {
		t.Error("the shell before is alive")
	}
	s.Split(tab, still)
	other := s.Split(tab, Pane{})
	s.LaunchAgain(other)
	if got := must(t, s, "pane.current", "{}")["pane"].(map[string]any)["pane_id"]; got != other {
		t.Errorf("%v has the focus after %s was launched again", got, other)
	}
}

// TestOnlyTheShellsDescendantsAreInFront: a member of the group whose parent has gone belongs to another tree.
func TestOnlyTheShellsDescendantsAreInFront(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	dir := t.TempDir()
	tab := s.Tab(s.Workspace("work"), "", Pane{Argv: []string{"sh", "-c", "(sh -c 'echo $$ >away; exec sleep 1000' &) ; sleep 1000; :"}, Dir: dir})
	p := s.Panes(tab)[0]
	away := started(t, dir, "away")[0]
	wait.Eventually(t, "forked twice", func() bool {
		q, err := procs.Read(away)
		return err == nil && q.Parent != p.PID && q.Name == "sleep" && q.Group == p.PID && asked(t, s, p) == "true [sh sleep]"
	})
}

func TestCommandsThatLookLikeShells(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	script := filepath.Join(t.TempDir(), "build.sh")
	if err := os.WriteFile(script, []byte("sleep 1000\n:\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tab := s.Tab(s.Workspace("work"), "", Pane{Argv: []string{"bash", script}}, Pane{})
	direct, typed := s.Panes(tab)[0], s.Panes(tab)[1]
	wait.Eventually(t, "running", func() bool { return asked(t, s, direct) == "true [bash sleep]" })
	s.Type(typed.ID, "bash "+script+"\n")
	wait.Eventually(t, "running", func() bool { return asked(t, s, typed) == "false [bash sleep]" })
}

func TestProcessInfoModes(t *testing.T) {
	t.Parallel()
	for _, nulls := range []bool{false, true} {
		s := Start(t, Options{Nulls: nulls})
		info := Info{ShellPID: 7, ForegroundPGID: 7, Foreground: []Proc{{PID: 7, Name: "zsh"}}}
		tab := s.Tab(s.Workspace("work"), "", Pane{Fake: &info})
		p := s.Panes(tab)[0]
		look := func() string {
			t.Helper()
			a := call(t, s, "pane.process_info", params("pane_id", p.ID))
			if a.Error.Code != "" {
				return a.Error.Code
			}
			return asked(t, s, p)
		}
		for _, c := range []struct {
			mode Mode
			want string
		}{
			{Real, "true [zsh]"}, {Omitted, "true [omitted]"}, {EmptyList, "true []"}, {NotFound, "pane_not_found"}, {Erring, "internal_error"},
		} {
			s.ProcessInfo(p.ID, c.mode)
			if got := look(); got != c.want {
				t.Errorf("want %s, got %s", c.want, got)
			}
		}
		// In a mode of its own a test may look at the server, and change it.
		s.ProcessInfo(p.ID, func(n int, _ Info) Info {
			s.Rename(tab, fmt.Sprint("asked ", n))
			return Info{}
		})
		must(t, s, "pane.process_info", params("pane_id", p.ID))
		must(t, s, "pane.process_info", params("pane_id", p.ID))
		if got := tabOf(t, s, tab)["label"]; got != "asked 2" {
			t.Error(got)
		}
		refused(t, s, "pane_not_found", "pane.process_info", params("pane_id", "w1:p9"))
	}
}

func TestWithoutAPaneTheFocusedOneIsMeant(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	work := s.Workspace("work")
	s.Tab(work, "", Pane{Fake: &Info{ShellPID: 7}})
	s.Focus(s.Tab(work, "", Pane{Fake: &Info{ShellPID: 8}}))
	got := must(t, s, "pane.process_info", "{}")["process_info"].(map[string]any)
	if got["pane_id"] != "w1:p2" || got["shell_pid"] != 8.0 {
		t.Error(got)
	}
}
