package subject_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// families is a configuration that knows two families, and which agents start what.
func families() *subject.Config {
	return &subject.Config{
		Agents: []string{"claude"}, Multiplexers: []string{"tmux: server"}, Interpreters: []string{"node", "MainThread", "python3*"},
		Families: []subject.Family{
			{Family: "package-runner", Names: []string{"npm *"}},
			{Family: "mcp-server", Scripts: []string{"mcp-server-*"}, Packages: []string{"@modelcontextprotocol/*", "*-mcp"}},
		},
		PersonalDaemons: []subject.PersonalDaemon{{Name: "emacs*", Is: "editor"}, {Name: "gnome-keyring-daemon", Is: "keys"}, {Name: "chrome", Is: "browser"}},
		DrivenPrograms:  []string{"*/ms-playwright/*"},
		OwnSockets:      []string{"*/tsx-*/*.pipe"},
		MarkerRecords:   []subject.MarkerRecord{{Marker: "AGENT_SESSION", Format: "flock"}},
		PIDMarkers:      []string{"AGENT_PID"},
		IDMarkers:       []string{"AGENT_SESSION"},
		PaneMarkers:     []string{"TMUX"},
	}
}

// runs is a process of node's that an agent left behind, younger than everything before 700 in a table.
func runs(pid, parent int, script, module string) snapshot.Process {
	p := quiet(pid, parent, "node")
	p.Exe, p.Script, p.Package, p.Markers = new("/usr/bin/node"), &script, &module, carries("CLAUDECODE", "1")
	return p
}

func known(t *testing.T, s *snapshot.Snapshot, pid int) *subject.Lineage {
	t.Helper()
	sub, ok := subject.Join(s, families()).Subject(fmt.Sprint("process:", pid))
	if !ok {
		t.Fatalf("no subject of %d", pid)
	}
	return sub.Lineage
}

func TestFamilies(t *testing.T) {
	t.Parallel()
	type facts struct {
		Interpreter, Family   string
		IsAgent, Unidentified *bool
	}
	with := func(p snapshot.Process, change func(*snapshot.Process)) snapshot.Process { change(&p); return p }
	stray := runs(7, 1, "main.js", "")
	no, yes := new(false), new(true)
	for name, c := range map[string]struct {
		p    snapshot.Process
		want facts
	}{
		"a script that is not listed":         {stray, facts{"node", "", nil, yes}},
		"one that hides what it runs":         {with(stray, func(p *snapshot.Process) { p.Script, p.Package = nil, nil }), facts{"node", "", nil, yes}},
		"a listed script":                     {runs(7, 1, "mcp-server-git", ""), facts{"node", "mcp-server", no, no}},
		"a listed package":                    {runs(7, 1, "index.js", "@modelcontextprotocol/server-filesystem"), facts{"node", "mcp-server", no, no}},
		"a package by its end":                {runs(7, 1, "index.js", "x-mcp"), facts{"node", "mcp-server", no, no}},
		"a package that only begins so":       {runs(7, 1, "index.js", "x-mcp-agent"), facts{"node", "", nil, yes}},
		"a title":                             {with(stray, func(p *snapshot.Process) { p.Name, p.Script, p.Package = "npm exec @playw", nil, nil }), facts{"node", "package-runner", no, no}},
		"an agent":                            {with(stray, func(p *snapshot.Process) { p.Name = "claude" }), facts{"node", "", yes, no}},
		"no interpreter":                      {with(stray, func(p *snapshot.Process) { p.Name, p.Exe = "make", new("/usr/bin/make") }), facts{"", "", no, no}},
		"an interpreter by its name":          {with(stray, func(p *snapshot.Process) { p.Name, p.Exe = "MainThread", new("/opt/copilot") }), facts{"MainThread", "", nil, yes}},
		"an interpreter by its file":          {with(stray, func(p *snapshot.Process) { p.Name, p.Exe = "my title", new("/usr/bin/python3.11 (deleted)") }), facts{"python3.11", "", nil, yes}},
		"no marker":                           {with(stray, func(p *snapshot.Process) { p.Markers = carries() }), facts{"node", "", no, no}},
		"a marker of a pane only":             {with(stray, func(p *snapshot.Process) { p.Markers = carries("TMUX", "x,1,2") }), facts{"node", "", no, no}},
		"an environment that hides":           {with(stray, func(p *snapshot.Process) { p.Markers = nil }), facts{"node", "", nil, yes}},
		"no marker, below one that has one":   {with(stray, func(p *snapshot.Process) { p.Markers, p.PPID = carries(), new(4) }), facts{"node", "", nil, yes}},
		"no marker, below an agent":           {with(stray, func(p *snapshot.Process) { p.Markers, p.PPID = carries(), new(5) }), facts{"node", "", nil, yes}},
		"no marker, below a parent who ended": {with(stray, func(p *snapshot.Process) { p.Markers, p.PPID = carries(), new(99) }), facts{"node", "", no, no}},
		"no marker, its parent is not known":  {with(stray, func(p *snapshot.Process) { p.Markers, p.PPID = carries(), nil }), facts{"node", "", nil, yes}},
		"no marker, below another user's":     {with(stray, func(p *snapshot.Process) { p.Markers, p.PPID = carries(), new(6) }), facts{"node", "", no, no}},
		"what it was started from is unknown": {with(stray, func(p *snapshot.Process) { p.Exe, p.Script, p.Package = nil, nil, new("x-mcp") }), facts{"node", "mcp-server", nil, no}},
	} {
		marked, root := quiet(4, 1, "sh"), quiet(6, 1, "sshd")
		marked.Markers = carries("CLAUDECODE", "1")
		root.UID, root.Markers = new(0), nil
		top := quiet(1, 0, "systemd")
		top.UID, top.Markers = new(0), nil // as who is not root sees it
		s := table(top, marked, quiet(5, 1, "claude"), root)
		s.Host.UID = new(1000)
		c.p.StartTicks = 100
		s.Processes["process:7"] = &c.p
		l := known(t, s, 7)
		same(t, name, c.want, facts{l.Interpreter, l.Family, l.IsAgent, l.Unidentified})
	}
}

// TestWhatIsBelowMayBeAnAgent: a process that stands above what may be an agent is not known to have none below it.
func TestWhatIsBelowMayBeAnAgent(t *testing.T) {
	t.Parallel()
	type facts struct{ Agent, Unidentified *bool }
	wrapper := runs(7, 1, "", "")
	wrapper.Name = "npm exec @playw"
	for name, c := range map[string]struct {
		child snapshot.Process
		want  facts
	}{
		"an unknown one":                   {runs(8, 7, "main.js", ""), facts{nil, new(true)}},
		"an unknown one without a marker":  {func() snapshot.Process { p := runs(8, 7, "main.js", ""); p.Markers = carries(); return p }(), facts{nil, new(true)}},
		"one of a family":                  {runs(8, 7, "index.js", "x-mcp"), facts{new(false), new(false)}},
		"an agent":                         {quiet(8, 7, "claude"), facts{new(true), new(false)}},
		"an unknown one that has ended":    {func() snapshot.Process { p := runs(8, 7, "main.js", ""); p.State, p.Threads = "Z", new(1); return p }(), facts{new(false), new(false)}},
		"a program that is no interpreter": {quiet(8, 7, "esbuild"), facts{new(false), new(false)}},
	} {
		l := known(t, table(quiet(1, 0, "systemd"), wrapper, c.child), 7)
		same(t, name, c.want, facts{l.AgentBelow, l.UnidentifiedBelow})
	}
}

// TestUnknownStarters: what may be an agent keeps what it may have started, while it is not a stray itself.
func TestUnknownStarters(t *testing.T) {
	t.Parallel()
	terminal := runs(5, 4, "main.js", "")
	terminal.TTY = new("pts/1")
	dropped := runs(5, 1, "main.js", "")
	dropped.TTY, dropped.PGID, dropped.ForegroundPGID = new("pts/1"), new(5), new(3)
	inFront, noGroup, ofNobody := dropped, dropped, dropped
	inFront.ForegroundPGID, noGroup.PGID, ofNobody.ForegroundPGID = new(5), nil, new(-1)
	ofAShell := dropped
	ofAShell.PPID = new(4)
	hidden := runs(5, 1, "main.js", "")
	hidden.Markers = nil
	unmarked := runs(5, 4, "main.js", "")
	unmarked.Markers = carries()
	hands := quiet(4, 1, "tmux: server")
	hands.Markers = carries("CLAUDECODE", "1")
	late := runs(5, 4, "main.js", "")
	late.StartTicks = 1000
	restarted := runs(5, 4, "main.js", "")
	restarted.StartTicks, restarted.Markers = 1000, carries("AGENT_SESSION", "s1")
	for name, c := range map[string]struct {
		four, five snapshot.Process
		want       int
	}{
		"in a person's tree":                        {quiet(4, 1, "zsh"), runs(5, 4, "main.js", ""), 1},
		"of a known family":                         {quiet(4, 1, "zsh"), runs(5, 4, "mcp-server-x", ""), 0},
		"a stray":                                   {quiet(4, 1, "zsh"), runs(5, 1, "main.js", ""), 0},
		"a stray under the service manager":         {quiet(4, 1, "zsh"), runs(5, 2, "main.js", ""), 0},
		"below a stray":                             {runs(4, 1, "mcp-server-x", ""), runs(5, 4, "main.js", ""), 0},
		"with a terminal, though its tree is stray": {runs(4, 1, "mcp-server-x", ""), terminal, 1},
		"handed over, behind a terminal's shell":    {quiet(4, 1, "zsh"), dropped, 0},
		"handed over, in front of its terminal":     {quiet(4, 1, "zsh"), inFront, 1},
		"handed over, its group not known":          {quiet(4, 1, "zsh"), noGroup, 1},
		"handed over, none in front":                {quiet(4, 1, "zsh"), ofNobody, 1},
		"behind the shell that started it":          {quiet(4, 1, "zsh"), ofAShell, 1},
		"its markers are not known":                 {quiet(4, 1, "zsh"), hidden, 1},
		"without a marker":                          {quiet(4, 1, "zsh"), unmarked, 0},
		"below a multiplexer that hands it down":    {hands, runs(5, 4, "main.js", ""), 1},
		"younger":                                   {quiet(4, 1, "zsh"), late, 0},
		"below a parent who is gone":                {quiet(4, 1, "zsh"), runs(5, 99, "main.js", ""), 1},
		"younger and of the same session":           {quiet(4, 1, "zsh"), restarted, 1},
	} {
		stray := runs(7, 1, "mcp-server-x", "")
		(*stray.Markers)["AGENT_SESSION"] = "s1"
		s := table(quiet(1, 0, "systemd"), quiet(2, 1, "systemd"), c.four, c.five, stray)
		s.Host.OrphanParents = []int{1, 2}
		l := known(t, s, 7)
		same(t, name, &c.want, l.Agents)
		if (l.Agent != nil) != (c.want > 0) {
			t.Errorf("%s: one of them is %v", name, l.Agent)
		}
	}
}

// TestTwoStraysDoNotKeepOneAnother: neither may have started the other, or both would stay for ever.
func TestTwoStraysDoNotKeepOneAnother(t *testing.T) {
	t.Parallel()
	s := table(quiet(1, 0, "systemd"), runs(5, 1, "main.js", ""), runs(7, 1, "mcp-server-x", ""))
	s.Host.OrphanParents = []int{1}
	same(t, "of the known one", new(0), known(t, s, 7).Agents)
	same(t, "of the unknown one", new(0), known(t, s, 5).Agents)
}

// TestARestartedAgentHasTakenOver: of the same session, an agent counts however young it is.
func TestARestartedAgentHasTakenOver(t *testing.T) {
	t.Parallel()
	for session, want := range map[string]int{"s1": 1, "s2": 0, "": 0} {
		stray, agent := runs(7, 1, "mcp-server-x", ""), quiet(9, 1, "claude")
		stray.Markers, agent.Markers = carries("AGENT_SESSION", "s1"), carries("AGENT_SESSION", session)
		agent.StartTicks = 1000
		same(t, session, &want, known(t, table(quiet(1, 0, "systemd"), stray, agent), 7).Agents)
	}
}

// TestStarters: a marker that names the agent by its number says whether the agent lives, in its own pid namespace.
func TestStarters(t *testing.T) {
	t.Parallel()
	type facts struct {
		Agents *int
		Gone   *bool
	}
	ours, other := new(uint64(11)), new(uint64(12))
	for name, c := range map[string]struct {
		value  string
		space  *uint64
		change func(*snapshot.Snapshot)
		want   facts
	}{
		"it lives under any name":           {"5", ours, nil, facts{new(1), new(false)}},
		"no process has its number":         {"99", ours, nil, facts{new(0), new(true)}},
		"its number is a younger process's": {"8", ours, nil, facts{new(0), new(true)}},
		"it has ended":                      {"6", ours, nil, facts{new(0), new(true)}},
		"of another pid namespace":          {"99", other, nil, facts{new(0), nil}},
		"alive, of another pid namespace":   {"5", other, nil, facts{new(0), nil}},
		"its pid namespace is not known":    {"99", nil, nil, facts{new(0), nil}},
		"alive, its namespace not known":    {"5", nil, nil, facts{new(1), new(false)}},
		"ours is not known":                 {"99", ours, func(s *snapshot.Snapshot) { s.Host.PIDNamespace = nil }, facts{new(0), nil}},
		"the table was not read whole":      {"99", ours, func(s *snapshot.Snapshot) { s.Sources["proc"] = snapshot.Source{Status: "failed"} }, facts{nil, nil}},
		"no number":                         {"x", ours, nil, facts{new(0), nil}},
		"no marker":                         {"", ours, nil, facts{new(0), nil}},
		"the process got its number":        {"7", ours, nil, facts{new(0), new(true)}},
	} {
		ended, stray, young := quiet(6, 1, "x"), runs(7, 1, "mcp-server-x", ""), quiet(8, 1, "x")
		ended.State, ended.Threads = "Z", new(1)
		stray.PIDNamespace = c.space
		(*stray.Markers)["AGENT_PID"] = c.value
		s := table(quiet(1, 0, "systemd"), quiet(5, 1, "my-agent"), ended, stray, young)
		s.Host.PIDNamespace = ours
		if c.change != nil {
			c.change(s)
		}
		l := known(t, s, 7)
		same(t, name, c.want, facts{l.Agents, l.StarterGone})
	}
}

func TestStrangers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		markers *map[string]string
		want    *[]string
	}{
		"on record":                 {carries("AGENT_SESSION", "s1"), &[]string{}},
		"on no record":              {carries("AGENT_SESSION", "s2"), &[]string{"AGENT_SESSION"}},
		"empty":                     {carries("AGENT_SESSION", ""), &[]string{}},
		"no such marker":            {carries("CLAUDECODE", "1"), &[]string{}},
		"an environment that hides": {nil, nil},
	} {
		p := runs(7, 1, "mcp-server-x", "")
		p.Markers = c.markers
		s := table(quiet(1, 0, "systemd"), p)
		s.Registry = []snapshot.Entry{{ID: "e", Marker: "s1"}, {ID: "nobody"}}
		same(t, name, c.want, known(t, s, 7).Strangers)
	}
}

// TestWhoListens: on a unix socket as on a port, but for those that a program makes for itself.
func TestWhoListens(t *testing.T) {
	t.Parallel()
	type facts struct {
		Sockets *[]string
		Below   *bool
	}
	for name, c := range map[string]struct {
		ports   *[]int
		sockets *[]string
		want    facts
	}{
		"nothing":                     {&[]int{}, &[]string{}, facts{&[]string{}, new(false)}},
		"a port":                      {&[]int{80}, &[]string{}, facts{&[]string{}, new(true)}},
		"a unix socket":               {&[]int{}, &[]string{"@x"}, facts{&[]string{"@x"}, new(true)}},
		"its own":                     {&[]int{}, &[]string{"/tmp/tsx-0/7.pipe"}, facts{&[]string{}, new(false)}},
		"its own and another":         {&[]int{}, &[]string{"/tmp/tsx-0/7.pipe", "/run/s"}, facts{&[]string{"/run/s"}, new(true)}},
		"unix sockets are not known":  {&[]int{}, nil, facts{nil, nil}},
		"ports are not known":         {nil, &[]string{}, facts{&[]string{}, nil}},
		"a port, sockets not known":   {&[]int{80}, nil, facts{nil, new(true)}},
		"a socket, ports are unknown": {nil, &[]string{"/s"}, facts{&[]string{"/s"}, new(true)}},
	} {
		p := quiet(7, 2, "x")
		p.Listening, p.UnixSockets = c.ports, c.sockets
		s := table(quiet(1, 0, "systemd"), quiet(2, 1, "x"), p)
		same(t, name, c.want, facts{known(t, s, 7).Sockets, known(t, s, 2).ListenerBelow})
	}
}

func TestPersonalDaemons(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ comm, exe, want string }{
		"by its name":         {"emacs", "/x", "editor"},
		"by its file":         {"x", "/usr/bin/emacs-gtk (deleted)", "editor"},
		"by a name cut short": {"gnome-keyring-d", "/x", "keys"},
		"another":             {"emac", "/usr/bin/emac", ""},
		"a browser":           {"chrome", "/opt/google/chrome/chrome", "browser"},
		"one that is driven":  {"chrome", "/home/u/.cache/ms-playwright/chromium-1187/chrome-linux/chrome", ""},
	} {
		p := quiet(7, 1, c.comm)
		p.Exe = &c.exe
		same(t, name, &c.want, known(t, table(quiet(1, 0, "systemd"), p), 7).Personal)
	}
}

// TestOpenSessions: an agent's own record makes a process an agent under any name, while it is that very process.
func TestOpenSessions(t *testing.T) {
	t.Parallel()
	type facts struct {
		IsAgent *bool
		Agents  *int
	}
	began := now.Add(-time.Hour)
	agent, none := facts{new(true), new(1)}, facts{new(false), new(0)}
	for name, c := range map[string]struct {
		open    snapshot.OpenSession
		session string
		young   bool
		want    facts
	}{
		"it":                                  {snapshot.OpenSession{PID: 5, StartTicks: new(uint64(20))}, "s1", false, agent},
		"another process under its number":    {snapshot.OpenSession{PID: 5, StartTicks: new(uint64(19))}, "s1", false, none},
		"another number":                      {snapshot.OpenSession{PID: 6, StartTicks: new(uint64(20))}, "s1", false, none},
		"without ticks, written later":        {snapshot.OpenSession{PID: 5, WrittenAt: new(began.Add(time.Minute))}, "s1", false, agent},
		"without ticks, written before":       {snapshot.OpenSession{PID: 5, WrittenAt: new(began.Add(-time.Minute))}, "s1", false, none},
		"a record that says nothing more":     {snapshot.OpenSession{PID: 5}, "s1", false, agent},
		"resumed, so younger":                 {snapshot.OpenSession{PID: 5, ID: "s1", StartTicks: new(uint64(200))}, "s1", true, agent},
		"younger, and of another session":     {snapshot.OpenSession{PID: 5, ID: "s2", StartTicks: new(uint64(200))}, "s1", true, facts{new(true), new(0)}},
		"younger, its session is not known":   {snapshot.OpenSession{PID: 5, StartTicks: new(uint64(200))}, "s1", true, facts{new(true), new(0)}},
		"older, and of another session still": {snapshot.OpenSession{PID: 5, ID: "s2", StartTicks: new(uint64(20))}, "s1", false, agent},
	} {
		p, stray := quiet(5, 1, "my-wrapper"), runs(7, 1, "mcp-server-x", "")
		p.StartTicks, p.StartedAt, stray.StartTicks = 20, &began, 100
		if c.young {
			p.StartTicks = 200
		}
		(*stray.Markers)["AGENT_CONVERSATION"] = c.session
		s := table(quiet(1, 0, "systemd"), p, stray)
		s.OpenSessions = []snapshot.OpenSession{c.open}
		same(t, name, c.want, facts{known(t, s, 5).IsAgent, known(t, s, 7).Agents})
	}
}

// TestADaemonWithoutASession: a vendor's daemon, which stays for good, may have a session open only while something runs below it.
func TestADaemonWithoutASession(t *testing.T) {
	t.Parallel()
	for parent, want := range map[int]int{1: 0, 5: 1} {
		hub := quiet(5, 1, "cline")
		hub.Daemon = new("cline hub")
		s := table(quiet(1, 0, "systemd"), hub, quiet(7, parent, "sleep"))
		s.Dirs = map[string]snapshot.Dir{"dir:/w/x": {Path: "/w/x", Git: &snapshot.Git{Main: "/w/acme"}}}
		cfg := families()
		cfg.SessionAgents = []subject.SessionAgent{{Name: "cline", Programs: []string{"cline"}}}
		sub, ok := subject.Join(s, cfg).Subject("dir:/w/x")
		if !ok || len(sub.Open) != want {
			t.Errorf("with a child of %d: %v", parent, sub.Open)
		}
	}
}

// TestWhatHidesAbove: process 1 and those of other users do not show what they were started from, and are not agents for that. One of this
// user's may be.
func TestWhatHidesAbove(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		uid  *int
		pid  int
		want *bool
	}{
		"process 1":      {new(1000), 1, new(false)},
		"another user's": {new(0), 5, new(false)},
		"this user's":    {new(1000), 5, nil},
		"it is unknown":  {nil, 5, nil},
	} {
		above := snapshot.Process{PID: c.pid, PPID: new(0), Name: "x", State: "S", UID: c.uid, StartTicks: 1}
		s := table(runs(7, c.pid, "mcp-server-x", ""))
		s.Processes[fmt.Sprint("process:", c.pid)] = &above
		s.Host.UID = new(1000)
		same(t, name, c.want, known(t, s, 7).AgentAncestor)
	}
}
