package subject_test

import (
	"testing"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// things is a snapshot with one candidate of each kind, whose identities are all known.
func things() *snapshot.Snapshot {
	return look(func(s *snapshot.Snapshot) {
		s.Host.BootID, s.Host.PIDNamespace = "boot", new(uint64(9))
		s.Processes["process:5@6"] = &snapshot.Process{
			PID: 5, StartTicks: 6, UID: new(1000), Name: "node", Exe: new("/bin/node"), Cwd: new("/w"), RSS: new(int64(4096)), Inode: new(uint64(77)), ArgvDigest: "d",
		}
		s.Dirs["dir:/w/a"] = snapshot.Dir{
			Path: "/w/a", Root: "/w", Device: new(uint64(1)), Inode: new(uint64(2)), BornAt: ago(9), MountID: new(uint64(3)), Symlink: new(false), Checkout: new(true),
			Git: &snapshot.Git{Head: "abc", Worktree: new(true), Main: "/m", CommonDir: "/m/.git", AdminDir: "/m/.git/worktrees/a"},
		}
		s.Sessions["session:tmux/default/$4"] = snapshot.Session{
			ID: "$4", Name: "work", CreatedAt: ago(8), Attached: new(0),
			Server: &snapshot.Server{Socket: "/tmp/s", PID: 50, StartTicks: new(uint64(51))},
			Panes: []snapshot.Pane{
				{ID: "%2", ShellPID: new(12), ShellStartTicks: new(uint64(13)), Cwd: "/w", SessionPIDs: []int{12, 14}},
				{ID: "%1", ShellPID: new(99), ShellStartTicks: new(uint64(98)), Dead: new(true), SessionPIDs: []int{99}},
			},
		}
		s.Sources["herdr/default"] = snapshot.Source{
			Kind: "herdr", Status: snapshot.OK, Server: &snapshot.Server{Socket: "/run/h.sock", PID: 40, Protocol: new(19)},
		}
		s.Tabs["tab:herdr/default/w1:t1"] = snapshot.Tab{
			Source: "herdr/default", ID: "w1:t1", Workspace: "w1", Label: "l",
			Panes: []snapshot.Pane{{ID: "w1:p2", Terminal: "b"}, {
				ID: "w1:p1", Terminal: "a", ShellPID: new(12), ShellStartTicks: new(uint64(13)), Cwd: "/w", SessionPIDs: []int{12, 14},
			}},
		}
		s.Sources["codev/default"] = snapshot.Source{
			Kind: "codev", Status: snapshot.OK, Path: "/home/u/.agent-farm", Server: &snapshot.Server{Socket: "http://127.0.0.1:4100"},
		}
		s.Terminals["terminal:codev/default/x"] = snapshot.Terminal{
			Source: "codev/default", ID: "x", Role: "builder-1", RoleKind: "builder", Status: "running", Listed: new(true), PID: new(5), StartTicks: new(uint64(6)),
		}
	})
}

func TestIdentityHasEveryPart(t *testing.T) {
	t.Parallel()
	j := subject.Join(things(), config())
	same(t, "process", decision.Identity{
		Key: `process "boot" 9 5 6 77 1000 "node" "/bin/node" "d"`,
		Process: &decision.Process{
			BootID: "boot", PIDNamespace: 9, PID: 5, StartTicks: 6, Inode: 77, UID: 1000, Name: "node", Exe: "/bin/node", Cwd: "/w", ArgvDigest: "d", RSS: 4096,
		},
	}, j.Identity("process:5@6"))
	same(t, "dir", decision.Identity{
		Key: `dir 1 2 2026-11-20T17:59:51Z "/w/a" "abc"`,
		Dir: &decision.Dir{
			Path: "/w/a", Root: "/w", Device: 1, Inode: 2, BornAt: *ago(9), MountID: 3, Head: "abc", Worktree: true, Main: "/m", CommonDir: "/m/.git", AdminDir: "/m/.git/worktrees/a",
		},
	}, j.Identity("dir:/w/a"))
	same(t, "session", decision.Identity{
		Key: `session "/tmp/s" 50 51 "$4" 2026-11-20T17:59:52Z "%1" 0 0 "%2" 12 13`,
		Session: &decision.Session{
			Socket: "/tmp/s", ServerPID: 50, ServerTicks: 51, ID: "$4", Name: "work", CreatedAt: *ago(8),
			Panes: []decision.Pane{{ID: "%2", PID: 12, StartTicks: 13, Cwd: "/w", Members: []int{12, 14}}, {ID: "%1"}},
		},
	}, j.Identity("session:tmux/default/$4"))
	same(t, "tab", decision.Identity{
		Key: `tab "/run/h.sock" "w1:t1" "l" "a" "b"`,
		Tab: &decision.Tab{
			Socket: "/run/h.sock", ServerPID: 40, Protocol: 19, ID: "w1:t1", Workspace: "w1", Label: "l", Panes: []decision.Pane{
				{ID: "w1:p1", Terminal: "a", PID: 12, StartTicks: 13, Cwd: "/w", Members: []int{12, 14}}, {ID: "w1:p2", Terminal: "b"},
			},
		},
	}, j.Identity("tab:herdr/default/w1:t1"))
	same(t, "terminal", decision.Identity{
		Key: `terminal "/home/u/.agent-farm" "x" 5 6`,
		Terminal: &decision.Terminal{
			Source: "codev/default", Folder: "/home/u/.agent-farm", Tower: "http://127.0.0.1:4100", ID: "x", Role: "builder-1", RoleKind: "builder",
			Status: "running", Listed: true, Process: j.Identity("process:5@6").Process,
		},
	}, j.Identity("terminal:codev/default/x"))
	sub, _ := j.Subject("process:5@6")
	same(t, "the document's", j.Identity("process:5@6").Key, sub.Identity)
}

func TestIdentityIsUnknownWithoutAPart(t *testing.T) {
	t.Parallel()
	dir := func(change func(*snapshot.Dir)) func(*snapshot.Snapshot) string {
		return func(s *snapshot.Snapshot) string {
			alter(s.Dirs, "dir:/w/a", change)
			return "dir:/w/a"
		}
	}
	process := func(change func(*snapshot.Snapshot, *snapshot.Process)) func(*snapshot.Snapshot) string {
		return func(s *snapshot.Snapshot) string {
			change(s, s.Processes["process:5@6"])
			return "process:5@6"
		}
	}
	session := func(change func(*snapshot.Session)) func(*snapshot.Snapshot) string {
		return func(s *snapshot.Snapshot) string {
			alter(s.Sessions, "session:tmux/default/$4", change)
			return "session:tmux/default/$4"
		}
	}
	tab := func(change func(*snapshot.Snapshot, *snapshot.Tab)) func(*snapshot.Snapshot) string {
		return func(s *snapshot.Snapshot) string {
			alter(s.Tabs, "tab:herdr/default/w1:t1", func(x *snapshot.Tab) { change(s, x) })
			return "tab:herdr/default/w1:t1"
		}
	}
	terminal := func(change func(*snapshot.Snapshot, *snapshot.Terminal)) func(*snapshot.Snapshot) string {
		return func(s *snapshot.Snapshot) string {
			alter(s.Terminals, "terminal:codev/default/x", func(x *snapshot.Terminal) { change(s, x) })
			return "terminal:codev/default/x"
		}
	}
	for name, change := range map[string]func(*snapshot.Snapshot) string{
		"boot":              process(func(s *snapshot.Snapshot, _ *snapshot.Process) { s.Host.BootID = "" }),
		"pid namespace":     process(func(s *snapshot.Snapshot, _ *snapshot.Process) { s.Host.PIDNamespace = nil }),
		"uid":               process(func(_ *snapshot.Snapshot, p *snapshot.Process) { p.UID = nil }),
		"read in part":      process(func(_ *snapshot.Snapshot, p *snapshot.Process) { p.Partial = true }),
		"device":            dir(func(d *snapshot.Dir) { d.Device = nil }),
		"inode":             dir(func(d *snapshot.Dir) { d.Inode = nil }),
		"birth":             dir(func(d *snapshot.Dir) { d.BornAt = nil }),
		"symlink":           dir(func(d *snapshot.Dir) { d.Symlink = new(true) }),
		"symlink unknown":   dir(func(d *snapshot.Dir) { d.Symlink = nil }),
		"path":              dir(func(d *snapshot.Dir) { d.Path = "" }),
		"head":              dir(func(d *snapshot.Dir) { d.Git.Head = "" }),
		"worktree":          dir(func(d *snapshot.Dir) { d.Git.Worktree = nil }),
		"git of a checkout": dir(func(d *snapshot.Dir) { d.Git = nil }),
		"git, or not":       dir(func(d *snapshot.Dir) { d.Git, d.Checkout = nil, nil }),
		"server":            session(func(s *snapshot.Session) { s.Server = nil }),
		"server's ticks":    session(func(s *snapshot.Session) { s.Server.StartTicks = nil }),
		"server's pid":      session(func(s *snapshot.Session) { s.Server.PID = 0 }),
		"session id":        session(func(s *snapshot.Session) { s.ID = "" }),
		"creation":          session(func(s *snapshot.Session) { s.CreatedAt = nil }),
		"attachment":        session(func(s *snapshot.Session) { s.Attached = nil }),
		"panes":             session(func(s *snapshot.Session) { s.Panes = nil }),
		"a pane's pid":      session(func(s *snapshot.Session) { s.Panes[0].ShellPID = nil }),
		"a pane's ticks":    session(func(s *snapshot.Session) { s.Panes[0].ShellStartTicks = nil }),
		"tab's terminal":    tab(func(s *snapshot.Snapshot, x *snapshot.Tab) { x.Panes[1].Terminal = "" }),
		"tab's panes":       tab(func(s *snapshot.Snapshot, x *snapshot.Tab) { x.Panes = nil }),
		"tab's id":          tab(func(s *snapshot.Snapshot, x *snapshot.Tab) { x.ID = "" }),
		"tab's server": tab(func(s *snapshot.Snapshot, x *snapshot.Tab) {
			s.Sources["herdr/default"] = snapshot.Source{Kind: "herdr", Status: snapshot.OK}
		}),
		"terminal's process":       terminal(func(_ *snapshot.Snapshot, x *snapshot.Terminal) { x.StartTicks = nil }),
		"terminal's process there": terminal(func(_ *snapshot.Snapshot, x *snapshot.Terminal) { x.StartTicks = new(uint64(7)) }),
		"terminal without a pid":   terminal(func(_ *snapshot.Snapshot, x *snapshot.Terminal) { x.PID = nil }),
		"terminal's id":            terminal(func(_ *snapshot.Snapshot, x *snapshot.Terminal) { x.ID = "" }),
		"terminal's place":         terminal(func(_ *snapshot.Snapshot, x *snapshot.Terminal) { x.Listed = nil }),
		"terminal's Tower": terminal(func(s *snapshot.Snapshot, _ *snapshot.Terminal) {
			s.Sources["codev/default"] = snapshot.Source{Kind: "codev", Status: snapshot.OK, Path: "/home/u/.agent-farm"}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := things()
			id := change(s)
			j := subject.Join(s, config())
			same(t, "identity", decision.Identity{}, j.Identity(id))
			if sub, ok := j.Subject(id); !ok || sub.Identity != "" {
				t.Errorf("identity %q", sub.Identity)
			}
		})
	}
}

func TestAnExitedTerminalNeedsNoProcess(t *testing.T) {
	t.Parallel()
	s := things()
	alter(s.Terminals, "terminal:codev/default/x", func(x *snapshot.Terminal) { x.PID, x.StartTicks, x.Status = nil, nil, "exited" })
	id := subject.Join(s, config()).Identity("terminal:codev/default/x")
	same(t, "key", `terminal "/home/u/.agent-farm" "x" "exited"`, id.Key)
	if id.Terminal.Process != nil {
		t.Errorf("a process of none: %+v", id.Terminal.Process)
	}
}

func TestAFolderWithoutGitHasAnIdentity(t *testing.T) {
	t.Parallel()
	s := things()
	alter(s.Dirs, "dir:/w/a", func(d *snapshot.Dir) { d.Git, d.Checkout = nil, new(false) })
	if id := subject.Join(s, config()).Identity("dir:/w/a"); id.Key == "" || id.Dir.Head != "" || id.Dir.Worktree {
		t.Errorf("have %+v", id)
	}
}
