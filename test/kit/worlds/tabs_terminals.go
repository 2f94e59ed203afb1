package worlds

import (
	"fmt"
	"strconv"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// every is a configuration under which each of the shipped rules can say something.
func Every() *subject.Config {
	c := Config()
	c.HelperLabels = subject.Names{Exact: []string{"probe"}, Prefix: []string{"review "}}
	c.ToolSessions = subject.Names{Exact: []string{"scratch"}, Prefix: []string{"mine-"}}
	c.EditorNames = subject.Names{Exact: []string{"Codex"}, Prefix: []string{"Claude"}}
	c.HerdrProtocols, c.AgentIdle = []int{19}, []string{"unknown"}
	c.Grace.Terminal, c.Grace.Shellper, c.TerminalIdle, c.SessionIdle = 300, 600, 3600, 3000
	c.WorktreeFolders = []string{"worktrees", ".builders"}
	c.RecordedFolders = []subject.RecordedFolder{{Name: "kept", Format: "json"}}
	c.DisposableContent = []string{"/w/*/out", "/w/acme-review-*"}
	c.Runaway = subject.Runaway{MinAge: 3600, MinCPU: 0.5}
	c.TrimAfter, c.TrimMin, c.NamedFiles = 3600, 1000, 2
	c.Interpreters = []string{"node", "python3"}
	c.Families = []subject.Family{{Family: "mcp-server", Scripts: []string{"mcp-*"}}, {Family: "package-runner", Scripts: []string{"npx"}}, {Family: "build", Scripts: []string{"vite"}}}
	c.PersonalDaemons = []subject.PersonalDaemon{{Name: "gpg-agent", Is: "a daemon of keys"}}
	return c
}

// further is a world of n tabs and terminals: a third each of herdr's tabs, of an editor's, and of Codev's terminals.
func (m *Maker) Further(n int) *snapshot.Snapshot {
	s := &snapshot.Snapshot{
		Schema: snapshot.Schema, TakenAt: Now, Host: m.host(), Sources: m.sources(), Tabs: map[string]snapshot.Tab{}, Terminals: map[string]snapshot.Terminal{},
		Processes: map[string]*snapshot.Process{"process:1@1": {PID: 1, StartTicks: 1, PPID: new(0), Name: "systemd", UID: new(0), State: "S"}},
		Sightings: map[string]snapshot.Sighting{},
	}
	for name, server := range map[string]snapshot.Server{
		"herdr/default": {Socket: "/run/herdr.sock", PID: 600, StartTicks: maybe(m, uint64(60)), Protocol: maybe(m, pick(m, 19, 19, 19, 18)),
			Lacks: maybe(m, pick(m, []string{}, []string{"tab.close"}))},
		"vscode/3f9a01bc": {Socket: "/run/3f9a01bc.sock", PID: 900001, StartTicks: maybe(m, uint64(90000100))},
		"codev/default":   {Socket: "http://127.0.0.1:4100"},
	} {
		if m.has() {
			s.Sources[name] = snapshot.Source{Kind: name, Status: pick(m, snapshot.OK, snapshot.OK, snapshot.OK, snapshot.OK, text(m, snapshot.OK)), Server: &server}
		}
	}
	w := snapshot.Workspace{Source: "codev/default", Path: "/w/acme"}
	for i := range n {
		switch key := strconv.Itoa(i); i % 3 {
		case 0:
			s.Tabs["tab:herdr/default/w1:t"+key] = m.tab(i)
		case 1:
			s.Tabs["tab:vscode/3f9a01bc/"+key] = m.editorTab(i)
		default:
			id := fmt.Sprintf("0b9e5a38-0000-4000-8000-%012d", i)
			s.Terminals["terminal:codev/default/"+id] = m.codev(id, i)
			if m.chance(0.3) {
				w.Builders = append(w.Builders, snapshot.Builder{ID: "builder-" + key, Key: key})
			}
			if m.chance(0.3) {
				w.Worktrees = append(w.Worktrees, snapshot.Builder{ID: key, Key: key})
			}
		}
	}
	if m.has() {
		s.Workspaces = []snapshot.Workspace{w}
	}
	j := subject.Join(s, Every())
	for id := range s.Tabs {
		m.See(s, j, id, "reap.tabs.idle_shell", "reap.tabs.ended", "reap.tabs.ownerless")
	}
	for id := range s.Terminals {
		m.See(s, j, id, "reap.terminals.ownerless", "reap.terminals.exited", "reap.terminals.husk")
	}
	return s
}

func (m *Maker) See(s *snapshot.Snapshot, j *subject.Index, id string, rules ...string) {
	if key := j.Identity(id).Key; m.chance(0.8) && m.has() {
		s.Sightings[id] = snapshot.Sighting{
			Rule: pick(m, rules...), Identity: key, FirstAt: Now.Add(-pick(m, time.Minute, time.Minute, time.Second)), LastAt: Now.Add(-time.Second), Count: 1,
		}
	}
}

// tab is one of herdr's.
func (m *Maker) tab(i int) snapshot.Tab {
	t := snapshot.Tab{
		Source: "herdr/default", ID: text(m, fmt.Sprintf("w1:t%d", i)), Label: text(m, pick(m, "review TASK-7", "review x", "probe", "main")), Workspace: "w1",
		LastInWorkspace: maybe(m, m.chance(0.1)), GroupParent: maybe(m, m.chance(0.1)), Focused: maybe(m, m.chance(0.1)), Own: maybe(m, m.chance(0.02)),
	}
	for k := range pick(m, 1, 1, 1, 2) {
		p := m.pane(i, k)
		p.Terminal, p.Dead, p.AgentStatus = text(m, fmt.Sprintf("term_%d_%d", i, k)), maybe(m, false), text(m, pick(m, "unknown", "unknown", "unknown", "working"))
		t.Panes = append(t.Panes, p)
	}
	t.PaneCount = maybe(m, len(t.Panes)+pick(m, 0, 0, 0, 0, 0, 1))
	return t
}

// editorTab is one of a window of an editor.
func (m *Maker) editorTab(i int) snapshot.Tab {
	e := &snapshot.EditorTab{
		Window: text(m, "3f9a01bc"), Shape: text(m, pick(m, "shell", "pty")), Name: "a tab", OpenedAt: m.ago(9000), Typed: maybe(m, m.chance(0.5)), Error: maybe(m, ""),
		Markers: pick(m, []string{}, []string{}, []string{"CLAUDECODE"}), Program: maybe(m, pick(m, "", "zsh", "claude")),
		CreationName: maybe(m, pick(m, "", "Codex", "Claude Code", "build")), Session: []snapshot.EditorProc{},
	}
	if m.has() {
		e.Folders = []string{"/w/acme"}
	}
	if m.chance(0.05) {
		e.Error, e.Session = maybe(m, "its window did not say"), nil
	}
	if m.chance(0.1) {
		e.Session = []snapshot.EditorProc{{PID: 300000 + i, Name: "node"}}
	}
	if e.Shape == "pty" {
		key := strconv.Itoa(i + 1) // the key of the terminal that is made after it
		if m.has() {
			e.Codev = &snapshot.CodevTab{Kind: pick(m, "builder", "dev"), ID: "builder-" + key, Key: key}
		}
	} else {
		e.PID, e.StartTicks = maybe(m, pick(m, 200000+i, 200000+i, 200000+i, 1)), maybe(m, uint64(1))
	}
	label := ""
	if e.CreationName != nil {
		label = *e.CreationName
	}
	return snapshot.Tab{State: "s", Source: "vscode/3f9a01bc", ID: strconv.Itoa(i), Label: label, Focused: maybe(m, m.chance(0.1)), Editor: e}
}

// codev is a terminal of Codev's.
func (m *Maker) codev(id string, i int) snapshot.Terminal {
	t := snapshot.Terminal{
		State: "s", Source: "codev/default", ID: id, RoleKind: text(m, pick(m, "builder", "builder", "dev", "shellper", "architect", "shell")), Role: text(m, fmt.Sprintf("builder-%d", i)),
		Status: text(m, pick(m, "running", "running", "exited")), Listed: maybe(m, m.chance(0.8)), Recorded: maybe(m, m.chance(0.5)), Label: text(m, "a terminal"),
		Workspace: text(m, "/w/acme"), Scoped: maybe(m, m.chance(0.95)), CreatedAt: m.ago(9000), StartedAt: m.ago(9000, 9000, 9000, 10), LastDataAt: m.ago(7200, 10), Error: maybe(m, ""),
	}
	if t.Status != "exited" || m.chance(0.5) {
		t.PID, t.StartTicks = maybe(m, 400000+i), maybe(m, uint64(400000+i))
		t.Below = maybe(m, pick(m, []snapshot.PaneProc{}, []snapshot.PaneProc{{PID: 500000 + i, Name: pick(m, "bash", "claude", "npm", "gitstatusd"), Interactive: maybe(m, m.chance(0.8)), Rest: rest(i)}}))
	} else if m.chance(0.8) {
		t.StartedAt = nil
	}
	if t.RoleKind == "shellper" {
		t.Listed, t.Recorded = maybe(m, m.chance(0.1)), maybe(m, m.chance(0.1))
		return t
	}
	if m.has() {
		t.Owner = &snapshot.TerminalOwner{
			ID: text(m, fmt.Sprintf("builder-%d", i)), Key: strconv.Itoa(i), How: text(m, pick(m, "row", "row", "label", "memory", "folder")), Recorded: maybe(m, m.chance(0.3)),
			SeenAt: m.ago(8000), Worktree: text(m, "/w/acme/.builders/x"), Gone: maybe(m, m.chance(0.7)), Unregistered: maybe(m, m.chance(0.2)),
		}
	}
	return t
}

// excepted is an entry of chance that keeps.
func (m *Maker) excepted() []subject.Excepted {
	return []subject.Excepted{{
		Why: pick(m, "", "it is mine"), Who: pick(m, "", "me"), Until: pick(m, "", "never", "2027-01-01"), Left: maybe(m, pick(m, -1.0, 60)), File: pick(m, "", "exceptions.yaml"),
		Line: pick(m, 0, 3), Rules: maybe(m, pick(m, []string{}, []string{"reap.tabs.idle_shell", "reap.sessions.idle_shell", "reap.dirs.disposable"})),
		Unknown: pick(m, []string{}, []string{"label"}),
	}}
}

// odd is a copy of a subject with facts of chance that no join would make of such a world: what the rare rules are about.
func (m *Maker) Odd(of *subject.Subject) *subject.Subject {
	s := *of
	if m.chance(0.2) {
		s.Exceptions = m.excepted()
	}
	if m.chance(0.2) {
		s.Projects = []subject.Project{{
			Path: pick(m, "", "/w/acme"), File: "/w/acme/.winnow/config.yaml", Keeps: maybe(m, pick(m, []subject.Excepted{}, m.excepted())),
			Off: maybe(m, pick(m, []string{}, []string{"reap.tabs.idle_shell", "reap.sessions.idle_shell", "reap.dirs.disposable"})),
		}}
	}
	switch {
	case s.Process != nil:
		p := *s.Process
		p.InputEnded, p.CwdDeleted, p.Daemon = maybe(m, m.chance(0.7)), maybe(m, m.chance(0.6)), pick(m, nil, nil, nil, new(""), new("x"))
		p.OutputEnded, p.Waits = maybe(m, m.chance(0.8)), maybe(m, m.chance(0.8))
		p.Cwd, p.Clients = maybe(m, pick(m, "/w/worktrees/x", "/w/acme")), maybe(m, pick(m, 0, 0, 1))
		p.ForegroundPGID, p.Kernel, p.Partial = maybe(m, 7), pick(m, nil, nil, nil, new(true)), m.chance(0.03)
		p.Listening, p.TTY = maybe(m, pick(m, []int{}, []int{}, []int{5173})), maybe(m, pick(m, "", "", "pts/4"))
		s.Process, s.Lineage, s.Busy, s.Age = &p, m.lineage(), maybe(m, subject.Processors(pick(m, 0.1, 0.9))), maybe(m, pick(m, 100.0, 7200, 7200))
	case s.Dir != nil:
		s.Dir, s.Idle, s.Signs = m.oddDir(s.Dir), maybe(m, pick(m, 100.0, 90000, 400000, 400000)), pick(m, nil, []string{}, []string{"its remote branch is gone"})
		if m.chance(0.3) {
			s.Asked = &subject.Asked{By: "user", UID: pick(m, 1000, 1000, 0), Mine: m.chance(0.5)}
		}
		if m.chance(0.5) {
			s.Made, s.Entries = maybe(m, pick(m, 100.0, 7200, 7200)), []subject.Entry{{
				Source: "registry/one", ID: pick(m, "e-1", "e-2"), By: "path", Own: maybe(m, true), Path: s.Dir.Path, Terminal: maybe(m, m.chance(0.8)), Ended: maybe(m, 3600.0), Endless: maybe(m, m.chance(0.2)),
			}}
		}
	case s.Session != nil, s.Tab != nil:
		panes := pick(m, s.Session, nil)
		if panes != nil {
			t := *panes
			t.Panes = m.oddPanes(t.Panes)
			s.Session, s.Shells = &t, nil
			if m.chance(0.5) {
				s.Made, s.Used, s.Entries = maybe(m, 7200.0), maybe(m, pick(m, 60.0, 3700, 7200)), []subject.Entry{{
					Source: "registry/one", ID: "e-1", By: "session", Shared: maybe(m, false), Terminal: maybe(m, m.chance(0.9)), Started: maybe(m, pick(m, 3650.0, 7100)), Ended: maybe(m, 3600.0),
				}}
			}
			for _, p := range t.Panes {
				s.Shells = append(s.Shells, subject.Shell{
					Pane: p.ID, Markers: maybe(m, pick(m, []string{}, []string{"AGENT_SESSION"})), Agents: maybe(m, pick(m, 0, 0, 1)),
				})
			}
		} else if s.Tab != nil {
			t := *s.Tab
			t.Panes = m.oddPanes(t.Panes)
			s.Tab = &t
		}
		s.Members = m.members()
		s.Idle = maybe(m, pick(m, 10.0, 7200))
	case s.Terminal != nil:
		s.Lineage, s.Idle = m.lineage(), maybe(m, pick(m, 10.0, 7200))
	}
	return &s
}

func (m *Maker) lineage() *subject.Lineage {
	list := func(names ...string) *[]string { return maybe(m, pick(m, []string{}, names, names)) }
	agents := maybe(m, pick(m, 0, 0, 1, 2))
	l := &subject.Lineage{
		Markers: list("AGENT_SESSION"), Identifying: list("AGENT_SESSION"), Added: list("AGENT_SESSION"), IsAgent: maybe(m, m.chance(0.1)),
		Family: pick(m, "", "mcp-server", "mcp-server", "mcp-server", "language-server", "package-runner"), Sockets: maybe(m, pick(m, []string{}, []string{}, []string{}, []string{"/s"})),
		Unidentified: maybe(m, m.chance(0.1)), UnidentifiedBelow: maybe(m, m.chance(0.1)), Personal: maybe(m, pick(m, "", "", "", "a daemon")), Interpreter: pick(m, "", "node"),
		Strangers: maybe(m, pick(m, []string{}, []string{}, []string{"AGENT_SESSION"})), StarterGone: maybe(m, m.chance(0.6)), SessionGone: maybe(m, m.chance(0.6)),
		SeenGone: maybe(m, m.chance(0.5)), Multiplexer: maybe(m, m.chance(0.3)), MultiplexerMarked: maybe(m, m.chance(0.5)), Agents: agents,
		Copyless: maybe(m, pick(m, 0, 0, 1)), AgentAncestor: maybe(m, m.chance(0.1)), MultiplexerAncestor: maybe(m, m.chance(0.1)), Descendants: maybe(m, pick(m, 0, 0, 70)),
		AgentBelow: maybe(m, m.chance(0.1)), TTYBelow: maybe(m, m.chance(0.1)), ListenerBelow: maybe(m, m.chance(0.1)), Ports: maybe(m, pick(m, []int{}, []int{5173}, []int{5173})),
		TreeSockets: maybe(m, pick(m, []string{}, []string{}, []string{}, []string{"/s"})), Clients: maybe(m, pick(m, 0, 0, 0, 1)), AgentDir: pick(m, "", "/w/x"),
		Pane: maybe(m, pick(m, "", "", "", "%1")), Below: maybe(m, pick(m, []subject.Below{}, []subject.Below{}, m.below())),
		Peers: maybe(m, pick(m, []subject.Peer{}, []subject.Peer{}, []subject.Peer{}, []subject.Peer{{PID: 9, Name: "claude"}})),
	}
	if m.chance(0.3) {
		l.Seen = []subject.Seen{{PID: 8, StartTicks: 1, Name: "claude"}}
	}
	if agents != nil && *agents > 0 && m.has() {
		l.Agent = &snapshot.PaneProc{PID: 9, Name: "claude"}
	}
	if agents == nil && m.chance(0.5) {
		l.PossibleAgent = &snapshot.PaneProc{PID: 9, Name: "node"}
	}
	return l
}

func (m *Maker) below() (out []subject.Below) {
	for i := range pick(m, 1, 1, 2) {
		out = append(out, subject.Below{
			ID: pick(m, "process:5@1", "process:5@1", "process:5@1", ""), Held: m.chance(0.05), PID: 5 + i, Name: pick(m, "node", "node", "node", "git", "git-credential-x", "screen", "precious"),
			UID: maybe(m, pick(m, 1000, 1000, 1000, 0)), Personal: maybe(m, pick(m, "", "", "", "", "x")), Own: maybe(m, m.chance(0.9)),
		})
	}
	return out
}

// The processes of panes that are odd have few numbers, so that they meet.

func (m *Maker) oddPanes(panes []snapshot.Pane) []snapshot.Pane {
	out := make([]snapshot.Pane, len(panes))
	for i, p := range panes {
		if p.ShellPID != nil && len(p.Session) > 0 && m.chance(0.7) {
			p.Session = append([]snapshot.PaneProc{}, p.Session...)
			p.SessionPIDs = append([]int{}, p.SessionPIDs...)
			for range pick(m, 1, 2) {
				pid := 20 + m.IntN(6)
				p.Session, p.SessionPIDs = append(p.Session, snapshot.PaneProc{PID: pid, Name: pick(m, "node", "node", "gitstatusd")}), append(p.SessionPIDs, pid)
			}
		}
		if m.chance(0.3) {
			p.Carriers = []snapshot.PaneProc{{PID: 30 + m.IntN(4), Name: "node"}}
		}
		if m.chance(0.1) {
			p.Linked = []string{"$1"}
		}
		if p.StartedAs = maybe(m, pick(m, "", "claude")); m.chance(0.2) {
			p.Dead, p.SessionPIDs, p.Session = maybe(m, true), []int{}, []snapshot.PaneProc{}
		}
		out[i] = p
	}
	return out
}

func (m *Maker) members() (out []subject.Member) {
	member := func(pid int, how string, process *snapshot.Process, l *subject.Lineage) {
		out = append(out, subject.Member{Pane: "%1", PID: pid, Name: "node", How: how, Process: process, Lineage: l, Server: maybe(m, pick(m, 0, 500, 600, 9))})
	}
	for pid := 20; pid < 26; pid++ {
		p := &snapshot.Process{
			PID: pid, Name: pick(m, "node", "node", "sh"), PPID: maybe(m, pick(m, 1, 1, 20+m.IntN(6))), UID: maybe(m, 1000), State: "S", PGID: maybe(m, 20), ForegroundPGID: maybe(m, 10),
			Listening: maybe(m, []int{}),
		}
		l := &subject.Lineage{
			Added: maybe(m, []string{"AGENT_SESSION"}), IsAgent: maybe(m, false), Agents: maybe(m, 0), AgentAncestor: maybe(m, false), AgentBelow: maybe(m, false),
			ListenerBelow: maybe(m, false), Sockets: maybe(m, []string{}), Family: pick(m, "mcp-server", "mcp-server", "language-server", "package-runner", ""),
		}
		member(pid, "session", p, l)
	}
	for pid := 30; pid < 34; pid++ {
		p := &snapshot.Process{PID: pid, Name: pick(m, "node", "node", "screen"), Daemon: pick(m, nil, nil, nil, new("x"))}
		member(pid, "elsewhere", p, &subject.Lineage{IsAgent: maybe(m, m.chance(0.3)), Personal: maybe(m, pick(m, "", "x"))})
	}
	return out
}

func (m *Maker) oddDir(of *snapshot.Dir) *snapshot.Dir {
	d := *of
	d.Nested, d.Gone, d.Skipped, d.Root = maybe(m, pick(m, []string{}, []string{}, []string{"x"})), pick(m, nil, new(true)), pick(m, "", "", "", "it is young anyway"), "/w"
	d.Error, d.Empty, d.Checkout = pick(m, "", "", "git said no"), maybe(m, m.chance(0.5)), maybe(m, m.chance(0.6))
	if m.chance(0.3) {
		d.Content = &snapshot.Content{
			Worktree: pick(m, "/w", "/w", "/home/u"), ID: "dir:/w", Name: "w", Linked: maybe(m, true), Registered: maybe(m, true), Locked: maybe(m, m.chance(0.1)),
			Pattern: pick(m, "node_modules", "node_modules", "x"), Maker: maybe(m, pick(m, "npm", "npm", "")), Ignored: maybe(m, true), Tracked: maybe(m, pick(m, 0, 0, 0, 1)), Others: maybe(m, 0), Bytes: maybe(m, int64(pick(m, 10, 5000, 5000))),
		}
		d.Checkout, d.Nested, d.Git = maybe(m, false), maybe(m, []string{}), nil
	}
	if d.Git != nil {
		g := *d.Git
		if g.Nested != nil { // two facts that say where another repository lies are an error
			d.Nested = nil
		}
		paths := []string{"a", "b", "c"}
		g.Branch, g.Detached, g.Ahead, g.Staged = pick(m, "", "refs/heads/fix", "refs/heads/main"), maybe(m, m.chance(0.5)), maybe(m, pick(m, 0, 2)), maybe(m, pick(m, 0, 0, 0, 1))
		g.UntrackedPaths, g.IgnoredPaths, g.DifferingPaths, g.OnlyHerePaths = maybe(m, paths), maybe(m, paths[:1]), maybe(m, paths[:1]), maybe(m, paths[1:2])
		g.UnmarkedPaths = maybe(m, paths[:1])
		g.Reports, g.Scaffold = maybe(m, pick(m, 0, 4, 5)), maybe(m, pick(m, 0, 2))
		if m.chance(0.5) {
			g.Lock = &snapshot.Lock{Text: maybe(m, pick(m, "", "a \"reason\"")), Tool: pick(m, "", "claude"), Owner: pick(m, "", "agent-1"), PID: pick(m, 0, 77), Alive: pick(m, nil, new(true), new(false))}
		}
		d.Git = &g
	}
	return &d
}
