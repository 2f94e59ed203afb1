package subject_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// table is a snapshot of processes. Each starts one tick after the one before, from a file of its name, unless it says otherwise.
func table(ps ...snapshot.Process) *snapshot.Snapshot {
	return look(func(s *snapshot.Snapshot) {
		for i, p := range ps {
			if p.StartTicks == 0 {
				p.StartTicks = uint64(i + 1)
			}
			if p.Exe == nil {
				p.Exe = new("/usr/bin/" + p.Name)
			}
			s.Processes[fmt.Sprint("process:", p.PID)] = &p
		}
	})
}

func carries(pairs ...string) *map[string]string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return &m
}

func quiet(pid, parent int, name string) snapshot.Process {
	return snapshot.Process{PID: pid, PPID: new(parent), Name: name, State: "S", TTY: new(""), Listening: &[]int{}, UnixSockets: &[]string{}, Markers: carries()}
}

func lineage(t *testing.T, s *snapshot.Snapshot, pid int) *subject.Lineage {
	t.Helper()
	return of(t, s, fmt.Sprint("process:", pid)).Lineage
}

// TestPeersOfATree: who speaks with what lives below a process speaks with all that would end with it.
func TestPeersOfATree(t *testing.T) {
	t.Parallel()
	with := func(p snapshot.Process, peers ...int) snapshot.Process {
		p.Peers = new(append([]int{}, peers...))
		return p
	}
	codex := subject.Peer{PID: 3, Name: "codex"}
	for name, c := range map[string]struct {
		top, child snapshot.Process
		want       *[]subject.Peer
	}{
		"nobody":                          {with(quiet(7, 1, "npm")), with(quiet(8, 7, "node")), &[]subject.Peer{}},
		"one another":                     {with(quiet(7, 1, "npm")), with(quiet(8, 7, "node"), 7), &[]subject.Peer{}},
		"one that speaks with both":       {with(quiet(7, 1, "npm"), 3), with(quiet(8, 7, "node"), 3, 7), &[]subject.Peer{codex}},
		"one that speaks with the child":  {with(quiet(7, 1, "npm")), with(quiet(8, 7, "node"), 3), &[]subject.Peer{codex}},
		"one that was not seen":           {with(quiet(7, 1, "npm"), 99), with(quiet(8, 7, "node")), &[]subject.Peer{{PID: 99}}},
		"it is not known of the child":    {with(quiet(7, 1, "npm"), 3), quiet(8, 7, "node"), nil},
		"it is not known of itself":       {quiet(7, 1, "npm"), with(quiet(8, 7, "node")), nil},
		"one reads it that was not found": {func() snapshot.Process { p := with(quiet(7, 1, "npm")); p.OutputRead = new(true); return p }(), with(quiet(8, 7, "node")), nil},
	} {
		same(t, name, c.want, lineage(t, table(quiet(1, 0, "systemd"), quiet(3, 1, "codex"), c.top, c.child), 7).Peers)
	}
}

func TestLineageOfATree(t *testing.T) {
	t.Parallel()
	tty, port := quiet(5, 4, "vim"), quiet(6, 4, "vite")
	tty.TTY, port.Listening = new("pts/1"), &[]int{80}
	s := table(quiet(1, 0, "systemd"), quiet(2, 1, "tmux: server"), quiet(3, 2, "claude"), quiet(4, 3, "zsh"), tty, port, quiet(7, 1, "node"), quiet(8, 7, "claude"))
	same(t, "4", &subject.Lineage{
		Seen: []subject.Seen{{PID: 3, StartTicks: 3, Name: "claude", Gone: new(false)}}, SeenGone: new(false), Ports: &[]int{80}, TreeSockets: &[]string{},
		Markers: &[]string{}, Identifying: &[]string{}, Multiplexer: new(false), Agents: new(1), Cleared: new(0), Agent: &snapshot.PaneProc{PID: 3, Name: "claude"},
		IsAgent: new(false), Unidentified: new(false), UnidentifiedBelow: new(false), Strangers: &[]string{}, Sockets: &[]string{}, Personal: new(""),
		AgentAncestor: new(true), MultiplexerAncestor: new(true), Descendants: new(2), AgentBelow: new(false), AgentNamedBelow: new(false), TTYBelow: new(true), ListenerBelow: new(true),
		Below: &[]subject.Below{{ID: "process:5@5", PID: 5, Name: "vim", Personal: new(""), Own: new(true)}, {ID: "process:6@6", PID: 6, Name: "vite", Personal: new(""), Own: new(true)}},
	}, lineage(t, s, 4))
	same(t, "7", &subject.Lineage{
		Ports: &[]int{}, TreeSockets: &[]string{}, Clients: new(0),
		Markers: &[]string{}, Identifying: &[]string{}, Multiplexer: new(false), Agents: new(1), Cleared: new(0), Agent: &snapshot.PaneProc{PID: 3, Name: "claude"},
		IsAgent: new(false), Unidentified: new(false), UnidentifiedBelow: new(false), Strangers: &[]string{}, Sockets: &[]string{}, Personal: new(""),
		AgentAncestor: new(false), MultiplexerAncestor: new(false), Descendants: new(1), AgentBelow: new(true), AgentNamedBelow: new(true), TTYBelow: new(false), ListenerBelow: new(false),
		Below: &[]subject.Below{{ID: "process:8@8", PID: 8, Name: "claude", Personal: new(""), Own: new(true)}},
	}, lineage(t, s, 7))
	same(t, "1", &subject.Lineage{
		Ports: &[]int{80}, TreeSockets: &[]string{},
		Markers: &[]string{}, Identifying: &[]string{}, Multiplexer: new(false), Agents: new(0), Cleared: new(0),
		IsAgent: new(false), Unidentified: new(false), UnidentifiedBelow: new(false), Strangers: &[]string{}, Sockets: &[]string{}, Personal: new(""),
		AgentAncestor: new(false), MultiplexerAncestor: new(false), Descendants: new(7), AgentBelow: new(true), AgentNamedBelow: new(true), TTYBelow: new(true), ListenerBelow: new(true),
		Below: &[]subject.Below{{ID: "process:2@2", PID: 2, Name: "tmux: server", Personal: new(""), Own: new(true)}, {ID: "process:3@3", PID: 3, Name: "claude", Personal: new(""), Own: new(true)}, {ID: "process:4@4", PID: 4, Name: "zsh", Personal: new(""), Own: new(true)}, {ID: "process:5@5", PID: 5, Name: "vim", Personal: new(""), Own: new(true)},
			{ID: "process:6@6", PID: 6, Name: "vite", Personal: new(""), Own: new(true)}, {ID: "process:7@7", PID: 7, Name: "node", Personal: new(""), Own: new(true)}, {ID: "process:8@8", PID: 8, Name: "claude", Personal: new(""), Own: new(true)}},
	}, lineage(t, s, 1))
}

func TestWhatIsBelowIsNamedWhole(t *testing.T) {
	t.Parallel()
	tree := func(n int) *snapshot.Snapshot {
		top := quiet(2, 1, "sh")
		top.UID = new(7)
		ps := []snapshot.Process{quiet(1, 0, "systemd"), top}
		for i := range n {
			ps = append(ps, quiet(10+i, 2+8*min(i, 1), "node"))
		}
		return table(ps...)
	}
	below := func(s *snapshot.Snapshot) int {
		l := lineage(t, s, 2)
		if l.Below == nil {
			return -1
		}
		return len(*l.Below)
	}
	same(t, "no process", 0, below(tree(0)))
	others := tree(3)
	for pid, m := range map[string]*map[string]string{"2": carries("AGENT_SESSION", "a"), "10": carries("AGENT_SESSION", "a", "CLAUDECODE", "1"), "11": carries("AGENT_SESSION", "b"), "12": nil} {
		alterProcess(others, "process:"+pid, func(p *snapshot.Process) { p.Markers = m })
	}
	var own []*bool
	for _, b := range *lineage(t, others, 2).Below {
		own = append(own, b.Own)
	}
	same(t, "whose they are", []*bool{new(true), new(false), nil}, own)
	same(t, "all that a look tells of", 64, below(tree(64)))
	same(t, "more than that", -1, below(tree(65)))
	zombie := tree(2)
	alterProcess(zombie, "process:11", func(p *snapshot.Process) { p.State, p.Threads = "Z", new(1) })
	same(t, "one that has ended", 1, below(zombie))
	failed := tree(2)
	failed.Sources["proc"] = snapshot.Source{Status: "failed"}
	same(t, "a table that was not read whole", -1, below(failed))

	s := tree(2)
	s.Host.BootID, s.Host.PIDNamespace = "b", new(uint64(9))
	want := []decision.Member{{PID: 10, StartTicks: 3, Name: "node"}, {PID: 11, StartTicks: 4, Name: "node"}}
	id := subject.Join(s, config()).Identity("process:2")
	same(t, "what ends with it", want, id.Below)
	same(t, "who comes and goes below makes no other process of it", subject.Join(func() *snapshot.Snapshot {
		s := tree(1)
		s.Host.BootID, s.Host.PIDNamespace = "b", new(uint64(9))
		return s
	}(), config()).Identity("process:2").Key, id.Key)
}

func TestLineageKnowsNoMoreThanWasRead(t *testing.T) {
	t.Parallel()
	type facts struct{ Ancestor, Multiplexer, Below, TTY, Listener *bool }
	hidden := quiet(3, 2, "x")
	hidden.TTY, hidden.Listening = nil, nil
	stray := snapshot.Process{PID: 9, Name: "stray"}
	young := quiet(2, 1, "x")
	young.StartTicks = 100
	whole := quiet(2, 1, "x")
	top := quiet(1, 0, "systemd")
	failed := func(s *snapshot.Snapshot) *snapshot.Snapshot {
		s.Sources["proc"] = snapshot.Source{Status: "failed"}
		return s
	}
	no, yes := new(false), new(true)
	cases := map[string]struct {
		s    *snapshot.Snapshot
		pid  int
		want facts
		deep *int
	}{
		"everything was read":                    {table(top, whole, quiet(3, 2, "y")), 2, facts{no, no, no, no, no}, new(1)},
		"the table was not read whole":           {failed(table(top, whole, quiet(3, 2, "claude"))), 2, facts{Below: yes}, nil},
		"a parent that is not there":             {table(whole), 2, facts{nil, nil, no, no, no}, new(0)},
		"a parent that is younger":               {table(top, young, quiet(3, 2, "y")), 3, facts{nil, nil, no, no, no}, new(0)},
		"an agent below a lost parent":           {table(quiet(2, 99, "claude"), quiet(3, 2, "y")), 3, facts{yes, nil, no, no, no}, new(0)},
		"a child that hides":                     {table(top, whole, hidden), 2, facts{no, no, no, nil, nil}, new(1)},
		"the parent of one is not known":         {table(top, whole, stray), 2, facts{Ancestor: no, Multiplexer: no}, nil},
		"parents in a circle":                    {table(quiet(2, 3, "x"), func() snapshot.Process { p := quiet(3, 2, "claude"); p.StartTicks = 1; return p }()), 2, facts{Below: nil}, nil},
		"its own parent":                         {table(quiet(2, 2, "x")), 2, facts{}, nil},
		"an agent that has ended does not count": {table(top, snapshot.Process{PID: 2, PPID: new(1), Name: "claude", State: "Z", Threads: new(1)}, quiet(3, 2, "y")), 3, facts{no, no, no, no, no}, new(0)},
		"an agent whose leader has ended":        {table(top, snapshot.Process{PID: 2, PPID: new(1), Name: "claude", State: "Z", Threads: new(2)}, quiet(3, 2, "y")), 3, facts{yes, no, no, no, no}, new(0)},
		"an agent by what it was run from":       {table(top, snapshot.Process{PID: 2, PPID: new(1), Name: "node", Exe: new("/opt/bin/claude")}, quiet(3, 2, "y")), 3, facts{yes, no, no, no, no}, new(0)},
		"an agent by the folder of its versions": {table(top, snapshot.Process{PID: 2, PPID: new(1), Name: "2.1.201", Exe: new("/home/u/.local/share/claude/versions/2.1.201")}, quiet(3, 2, "y")), 3, facts{yes, no, no, no, no}, new(0)},
		"an agent whose name is too long":        {table(top, quiet(2, 1, "an-agent-with-a"), quiet(3, 2, "y")), 3, facts{yes, no, no, no, no}, new(0)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := lineage(t, c.s, c.pid)
			same(t, "facts", c.want, facts{l.AgentAncestor, l.MultiplexerAncestor, l.AgentBelow, l.TTYBelow, l.ListenerBelow})
			same(t, "descendants", c.deep, l.Descendants)
		})
	}
}

func TestMultiplexers(t *testing.T) {
	t.Parallel()
	const tmux = "/tmp/tmux-1000/default,50,0"
	server := func(markers *map[string]string) snapshot.Process {
		return snapshot.Process{PID: 50, PPID: new(1), Name: "tmux: server", Markers: markers}
	}
	process := func(markers *map[string]string) snapshot.Process {
		return snapshot.Process{PID: 60, PPID: new(1), Name: "node", Markers: markers}
	}
	late := server(carries())
	late.StartTicks = 1000
	mine := carries("CLAUDECODE", "1", "TMUX", tmux)
	cases := map[string]struct {
		s              *snapshot.Snapshot
		inside, marked *bool
		markers        *[]string
	}{
		"no environment":                  {table(server(carries()), process(nil)), nil, nil, nil},
		"no multiplexer":                  {table(server(carries()), process(carries("CLAUDECODE", "1"))), new(false), nil, &[]string{"CLAUDECODE"}},
		"the server carries it":           {table(server(carries("CLAUDECODE", "1")), process(mine)), new(true), new(true), &[]string{"CLAUDECODE"}},
		"the server carries another":      {table(server(carries("CLAUDECODE", "2")), process(mine)), new(true), new(false), &[]string{"CLAUDECODE"}},
		"the server carries none":         {table(server(carries()), process(mine)), new(true), new(false), &[]string{"CLAUDECODE"}},
		"the server hides":                {table(server(nil), process(mine)), new(true), nil, &[]string{"CLAUDECODE"}},
		"the server is gone":              {table(process(mine)), new(true), nil, &[]string{"CLAUDECODE"}},
		"the server's pid is another's":   {table(quiet(50, 1, "bash"), process(mine)), new(true), nil, &[]string{"CLAUDECODE"}},
		"the server is younger":           {table(late, process(mine)), new(true), nil, &[]string{"CLAUDECODE"}},
		"a marker of tmux that is broken": {table(server(carries()), process(carries("TMUX", "nonsense"))), new(true), nil, &[]string{}},
		"another multiplexer":             {table(server(carries()), process(carries("STY", "1.x"))), new(true), nil, &[]string{}},
		"two, one of them marked":         {table(server(carries("CLAUDECODE", "1")), process(carries("CLAUDECODE", "1", "STY", "1.x", "TMUX", tmux))), new(true), new(true), &[]string{"CLAUDECODE"}},
		"two, one of them not known":      {table(server(carries()), process(carries("CLAUDECODE", "1", "STY", "1.x", "TMUX", tmux))), new(true), nil, &[]string{"CLAUDECODE"}},
		"a marker that is empty":          {table(server(carries()), process(carries("CLAUDECODE", ""))), new(false), nil, &[]string{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := lineage(t, c.s, 60)
			same(t, "inside", c.inside, l.Multiplexer)
			same(t, "marked", c.marked, l.MultiplexerMarked)
			same(t, "markers", c.markers, l.Markers)
		})
	}
}

func TestHerdrServers(t *testing.T) {
	t.Parallel()
	const socket = "/run/herdr.sock"
	server := snapshot.Process{PID: 50, PPID: new(1), Name: "herdr", StartTicks: 5, Markers: carries("AGENT_SESSION", "s1")}
	process := func(session string) snapshot.Process {
		return snapshot.Process{PID: 60, PPID: new(1), Name: "node", StartTicks: 9, Markers: carries("AGENT_SESSION", session, "HERDR_SOCKET_PATH", socket)}
	}
	listens := func(pid int, ticks *uint64, ps ...snapshot.Process) *snapshot.Snapshot {
		s := table(ps...)
		s.Sources["herdr/default"] = snapshot.Source{
			Kind: "herdr", Status: snapshot.OK, Server: &snapshot.Server{Socket: socket, PID: pid, StartTicks: ticks},
		}
		return s
	}
	young := server
	young.StartTicks = 10
	for name, c := range map[string]struct {
		s    *snapshot.Snapshot
		want *bool
	}{
		"it carries the same":           {listens(50, new(uint64(5)), server, process("s1")), new(true)},
		"it carries another":            {listens(50, new(uint64(5)), server, process("s2")), new(false)},
		"no listener is known":          {listens(0, nil, server, process("s2")), nil},
		"who listens is gone":           {listens(50, new(uint64(5)), process("s2")), nil},
		"who listens has another start": {listens(50, new(uint64(4)), server, process("s2")), nil},
		"its start is not known":        {listens(50, nil, server, process("s2")), nil},
		"it is younger, a later life":   {listens(50, new(uint64(10)), young, process("s2")), nil},
		"no server was read":            {table(server, process("s2")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := lineage(t, c.s, 60)
			same(t, "inside", new(true), l.Multiplexer)
			same(t, "marked", c.want, l.MultiplexerMarked)
		})
	}
}

func TestPanesAndFolders(t *testing.T) {
	t.Parallel()
	s := table(quiet(10, 1, "zsh"), quiet(11, 10, "vim"), quiet(12, 1, "left"), quiet(13, 1, "other"), quiet(14, 1, "its session is not known"))
	for pid, session := range map[int]int{11: 99, 12: 10, 13: 20} {
		alterProcess(s, fmt.Sprint("process:", pid), func(p *snapshot.Process) { p.Session = &session })
	}
	alterProcess(s, "process:13", func(p *snapshot.Process) { p.Cwd = new("/w/tree/src/deep") })
	alterProcess(s, "process:12", func(p *snapshot.Process) { p.Cwd = new("/home/u/plain") })
	s.Host.Home = "/home/u"
	s.Sessions["session:tmux/default/$1"] = snapshot.Session{Panes: []snapshot.Pane{
		{ID: "%1", ShellPID: new(10), SessionPIDs: []int{10, 11}}, {ID: "%2", ShellPID: new(20), Dead: new(true)},
	}}
	s.Dirs["dir:/w/tree"] = snapshot.Dir{Path: "/w/tree", Git: &snapshot.Git{Worktree: new(true)}}
	s.Dirs["dir:/w/main"] = snapshot.Dir{Path: "/w/tree/src/deep", Git: &snapshot.Git{Worktree: new(false)}}
	s.Registry = []snapshot.Entry{{ID: "home", Path: "/home/u"}, {ID: "root", Path: "/"}, {ID: "src", Path: "/w/tree/src"}}
	for pid, want := range map[int][2]any{
		10: {"%1", ""}, 11: {"%1", ""}, 12: {"%1", ""}, 13: {"", "/w/tree/src"}, 14: {"not known", ""},
	} {
		l := lineage(t, s, pid)
		same(t, fmt.Sprint(pid), want, [2]any{deref(l.Pane), l.AgentDir})
	}
}

// TestAgentsAgainstThePlainStatement counts the agents that may have started a process one by one, for tables of chance.
func TestAgentsAgainstThePlainStatement(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		var ps []snapshot.Process
		for pid := 1; pid <= 40; pid++ {
			p := snapshot.Process{PID: pid, StartTicks: uint64(1 + r.IntN(20)), PPID: new(0), Name: []string{"claude", "node"}[r.IntN(2)], State: []string{"S", "Z"}[min(1, r.IntN(8)/7)], Threads: new(1)}
			if r.IntN(5) > 0 {
				p.Markers = carries()
				for _, m := range []string{"AGENT_SESSION", "AGENT_RUN"} {
					if r.IntN(3) > 0 {
						(*p.Markers)[m] = fmt.Sprint(r.IntN(3))
					}
				}
			}
			ps = append(ps, p)
		}
		s := table(ps...)
		for _, p := range ps {
			l := lineage(t, s, p.PID)
			want := 0
			for _, a := range ps {
				if may(a, p) {
					want++
				}
			}
			same(t, fmt.Sprintf("seed %d pid %d", seed, p.PID), &want, l.Agents)
			if (l.Agent != nil) != (want > 0) {
				t.Errorf("seed %d pid %d: %d agents, one of them %v", seed, p.PID, want, l.Agent)
			}
			if l.Agent != nil && !may(*s.Processes[fmt.Sprint("process:", l.Agent.PID)], p) {
				t.Errorf("seed %d pid %d: %v did not start it", seed, p.PID, l.Agent)
			}
		}
	}
}

// may is the plain statement.
func may(agent, p snapshot.Process) bool {
	if agent.Name != "claude" || agent.State == "Z" || agent.PID == p.PID {
		return false
	}
	same := false
	for _, m := range []string{"AGENT_SESSION", "AGENT_RUN"} {
		if agent.Markers == nil || p.Markers == nil {
			continue
		}
		if a, b := (*agent.Markers)[m], (*p.Markers)[m]; a != "" && b != "" && a != b {
			return false
		} else if a != "" && a == b {
			same = true
		}
	}
	return same || agent.StartTicks <= p.StartTicks
}

// TestManyAgentsKeep: beyond what is looked at one by one, an agent counts as one that may have started the process.
func TestManyAgentsKeep(t *testing.T) {
	t.Parallel()
	ps := []snapshot.Process{}
	for pid := 1; pid <= 300; pid++ {
		ps = append(ps, snapshot.Process{PID: pid, Name: "claude", Markers: carries("AGENT_SESSION", "s", "AGENT_RUN", "other")})
	}
	ps = append(ps, snapshot.Process{PID: 1000, Name: "node", Markers: carries("AGENT_SESSION", "s", "AGENT_RUN", "s")})
	for i := range 300 {
		ps = append(ps, snapshot.Process{PID: 2000 + i, StartTicks: 1, Name: "claude", Markers: carries("AGENT_SESSION", "other", "AGENT_RUN", "s")})
	}
	if l := lineage(t, table(ps...), 1000); *l.Agents == 0 || l.Agent == nil {
		t.Errorf("%d agents, one of them %v", *l.Agents, l.Agent)
	}
}

func TestIsAgent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		process snapshot.Process
		want    *bool
	}{
		"by its name":                     {snapshot.Process{Name: "claude"}, new(true)},
		"by its file":                     {snapshot.Process{Name: "node", Exe: new("/opt/bin/claude (deleted)")}, new(true)},
		"by its versions":                 {snapshot.Process{Name: "2.1.201", Exe: new("/x/claude/versions/2.1.201")}, new(true)},
		"a user of an agent's name":       {snapshot.Process{Name: "sleep", Exe: new("/home/claude/bin/sleep")}, new(false)},
		"neither":                         {snapshot.Process{Name: "sleep", Exe: new("/bin/sleep")}, new(false)},
		"what it was started from hidden": {snapshot.Process{Name: "sleep"}, nil},
	} {
		c.process.PID, c.process.StartTicks = 7, 9
		s := &snapshot.Snapshot{Processes: map[string]*snapshot.Process{"process:7@9": &c.process}}
		sub, ok := subject.Join(s, &subject.Config{Agents: []string{"claude"}}).Subject("process:7@9")
		if !ok {
			t.Fatalf("%s: no subject", name)
		}
		if d := cmp.Diff(c.want, sub.Lineage.IsAgent); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestOneThatHidesMayBeAnAgent: a process that does not show what it was started from may be an agent under any name, so those that
// are younger may have been started by it. Those that are older were not.
func TestOneThatHidesMayBeAnAgent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*snapshot.Process)
		known  bool
	}{
		"it hides":             {func(p *snapshot.Process) {}, false},
		"another user's":       {func(p *snapshot.Process) { p.UID = new(33) }, true},
		"known to hide":        {func(p *snapshot.Process) { p.Name = "ssh-agent" }, true},
		"it has ended":         {func(p *snapshot.Process) { p.State, p.Threads = "Z", new(1) }, true},
		"a kernel thread":      {func(p *snapshot.Process) { p.Kernel = new(true) }, true},
		"it shows what it was": {func(p *snapshot.Process) { p.Exe = new("/bin/x") }, true},
	} {
		s := table(quiet(1, 0, "systemd"), quiet(2, 1, "sleep"), quiet(3, 1, "2.1.201"), quiet(4, 1, "sleep"))
		s.Host.UID = new(1000)
		alterProcess(s, "process:3", func(p *snapshot.Process) { p.Exe = nil; c.change(p) })
		cfg := config()
		cfg.OpaqueProcesses = []string{"ssh-agent"}
		for pid, known := range map[int]bool{2: true, 4: c.known} {
			sub, ok := subject.Join(s, cfg).Subject(fmt.Sprint("process:", pid))
			if !ok || (sub.Lineage.Agents != nil) != known {
				t.Errorf("%s: agents of %d known: %v, want %v", name, pid, !known, known)
			}
		}
	}
}
