package policy_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/figures"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// being is a process of a made-up machine, with what is true of it and no look can see.
type being struct {
	pid, ppid, pgid, session, foreground int
	ticks                                uint64
	name, exe, script, pkg, tty, cwd     string
	cwdDeleted, gone, handed             bool
	env                                  map[string]string
	listening                            []int
	clients                              int
	children                             []*being
	parent                               *being
	vendor, sessionID                    string
	// above are the agents that truly started it, the nearest first; where a person had a multiplexer start it there are none.
	above []*being
	// ties are what it is for besides.
	ties
	// what says in a failure what it is, personal that people use it.
	what     string
	personal bool
	// in and out are what it reads and prints to, see peers_forest_test.go.
	in, out *wire
	beside  []*wire
}

// forest is a machine of chance with a clock: processes are born with what their parents hand down, and are handed over when those end.
type forest struct {
	*rand.Rand
	all      []*being
	free     []int // numbers that may be given again
	pid      int
	ticks    uint64
	records  map[int]snapshot.OpenSession
	threads  map[string]snapshot.OpenSession // Codex's locks, by thread
	init     *being
	manager  *being
	shells   map[int]string // panes by the pids of their shells
	before   []snapshot.Ancestry
	config   *subject.Config
	sessions int
	// wired has processes speak with one another, over wires.
	wired bool
	wires []*wire
}

var noon = time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)

const thisSpace = 4026531836

func newForest(seed uint64, c *subject.Config) *forest {
	f := &forest{Rand: rand.New(rand.NewPCG(seed, 11)), pid: 1000, ticks: 1, records: map[int]snapshot.OpenSession{}, threads: map[string]snapshot.OpenSession{}, shells: map[int]string{}, config: c}
	f.init = &being{pid: 1, ticks: 1, name: "systemd", exe: "/usr/lib/systemd/systemd", env: map[string]string{}, what: "init"}
	f.manager = &being{pid: 900, ppid: 1, pgid: 900, session: 900, ticks: 2, name: "systemd", exe: "/usr/lib/systemd/systemd", env: map[string]string{}, what: "manager", parent: f.init}
	f.all, f.ticks = []*being{f.init, f.manager}, 10
	return f
}

func (f *forest) chance(p float64) bool { return f.Float64() < p }

func choose[T any](f *forest, from ...T) T { return from[f.IntN(len(from))] }

// fork is a child with the parent's session, terminal, folder and environment.
func (f *forest) fork(parent *being, name, what string, set map[string]string) *being {
	f.ticks += uint64(1 + f.IntN(5))
	f.pid++
	pid := f.pid
	if len(f.free) > 0 && f.chance(0.3) {
		pid, f.free = f.free[0], f.free[1:]
		f.pid--
	}
	b := &being{
		pid: pid, ppid: parent.pid, pgid: pid, session: parent.session, foreground: parent.foreground, tty: parent.tty, ticks: f.ticks, name: name,
		exe: "/usr/bin/" + name, env: maps.Clone(parent.env), cwd: parent.cwd, parent: parent, above: parent.above, what: what,
	}
	b.hangup = parent.hangup && name != "node" // which sets it back
	if parent.vendor != "" {
		b.above = append([]*being{parent}, parent.above...)
	}
	maps.Copy(b.env, set)
	parent.children = append(parent.children, b)
	f.all = append(f.all, b)
	f.reads(b, parent.in)
	f.prints(b, parent.out)
	f.inherits(b, parent)
	return b
}

func (b *being) setsid() *being {
	b.session, b.pgid, b.tty, b.foreground = b.pid, b.pid, "", -1
	return b
}

// end ends a process; its children are handed over.
func (f *forest) end(b *being) {
	if b.gone {
		return
	}
	b.gone = true
	f.hangUp(b)
	f.free = append(f.free, b.pid)
	to := f.manager
	if f.chance(0.3) {
		to = f.init
	}
	for _, c := range b.children {
		if !c.gone {
			c.ppid, c.parent, c.handed = to.pid, to, true
			to.children = append(to.children, c)
		}
	}
	b.children = nil
}

// at is when something happened: a tick of this clock takes ten seconds.
func (f *forest) at(ticks uint64) *time.Time {
	return new(noon.Add(-12*time.Hour + time.Duration(ticks)*10*time.Second))
}

// shell is a shell in a terminal of a person's, with or without an editor's flag, or in a pane of a tmux server.
func (f *forest) shell(server *being) *being {
	parent, set, what := f.manager, map[string]string{}, "shell"
	switch {
	case server != nil:
		parent, what = server, "pane"
		set["TMUX"], set["TMUX_PANE"] = fmt.Sprintf("/tmp/tmux-1000/default,%d,0", server.pid), fmt.Sprintf("%%%d", f.pid+1)
	case f.chance(0.4):
		parent = f.fork(f.manager, "code", "editor", nil).setsid()
		parent.personal = true
		set["CLAUDECODE"], what = "1", "shell in an editor"
	}
	s := f.fork(parent, choose(f, "bash", "zsh"), what, set).setsid()
	s.tty, s.foreground, s.cwd = fmt.Sprintf("pts/%d", s.pid), s.pid, choose(f, "/home/u", "/home/u/acme")
	f.reads(s, nil)
	f.prints(s, nil)
	s.above = nil // a person opened it, no matter what started the server
	if server != nil {
		f.shells[s.pid] = set["TMUX_PANE"]
	}
	return s
}

// tmux is a server that somebody's command started: it keeps the environment of that.
func (f *forest) tmux(by *being) *being {
	s := f.fork(by, "tmux: server", "tmux", f.handed(by, "tool")).setsid()
	s.exe, s.personal = "/usr/bin/tmux", true
	s.handed, s.parent, s.ppid = true, f.manager, f.manager.pid
	by.children = slices.DeleteFunc(by.children, func(c *being) bool { return c == s })
	f.manager.children = append(f.manager.children, s)
	return s
}

// agent starts an agent of some vendor below a shell or below another agent's tool.
func (f *forest) agent(parent *being) *being {
	vendor := choose(f, "claude", "claude", "claude", "claude-old", "codex", "codex", "opencode", "crush", "gemini")
	f.sessions++
	id := fmt.Sprintf("id-%d", f.sessions)
	var a *being
	switch vendor {
	case "gemini":
		a = f.fork(parent, "node", vendor, nil)
		a.script, a.pkg = "gemini", "@google/gemini-cli"
	case "claude-old":
		a = f.fork(parent, "claude", vendor, nil)
	default:
		if vendor == "codex" && f.chance(0.5) { // npm's wrapper
			parent = f.fork(parent, "node", "wrapper", nil)
			parent.script, parent.pkg = "codex", "@openai/codex"
			parent.vendor = "wrapper"
		}
		a = f.fork(parent, vendor, vendor, nil)
	}
	a.vendor, a.sessionID = vendor, id
	if vendor == "claude" && f.chance(0.9) {
		f.records[a.pid] = snapshot.OpenSession{Source: "agents/claude", Agent: "claude", Sole: new(true), ID: id, PID: a.pid, StartTicks: new(a.ticks), WrittenAt: f.at(a.ticks)}
	}
	if vendor == "codex" && f.chance(0.9) {
		if left := f.left(); left != "" && f.chance(0.3) { // resumed
			a.sessionID = left
		}
		f.open(a)
	}
	return a
}

// open has Codex make and lock the file of its thread.
func (f *forest) open(a *being) {
	f.threads[a.sessionID] = snapshot.OpenSession{Source: "agents/codex", Agent: "codex", ID: a.sessionID, PID: a.pid, WrittenAt: f.at(f.ticks)}
}

// left is a thread that a killed Codex had open.
func (f *forest) left() string {
	for _, id := range slices.Sorted(maps.Keys(f.threads)) {
		if f.threads[id].Ended != nil {
			return id
		}
	}
	return ""
}

// shut is what becomes of Codex's locks when it ends: one that is killed leaves them.
func (f *forest) shut(a *being) {
	killed := f.chance(0.6)
	for id, r := range f.threads {
		switch {
		case r.PID != a.pid:
		case killed:
			r.PID, r.Ended = 0, new(true)
			f.threads[id] = r
		default:
			delete(f.threads, id)
		}
	}
}

// thread has a Codex that lives work in another thread: a new one in place of the old one, or that of an agent below it, which is closed again.
func (f *forest) thread(a *being) {
	if _, locks := f.threads[a.sessionID]; !locks {
		return
	}
	old := a.sessionID
	f.sessions++
	a.sessionID = fmt.Sprintf("id-%d", f.sessions)
	f.ticks++
	f.open(a)
	f.tool(a)
	if f.chance(0.5) {
		delete(f.threads, old)
		return
	}
	delete(f.threads, a.sessionID)
	a.sessionID = old
}

// handed is what an agent sets on what it starts.
func (f *forest) handed(b *being, how string) map[string]string {
	switch b.vendor {
	case "claude":
		set := map[string]string{"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": b.sessionID}
		if how == "tool" {
			set["CLAUDE_PID"], set["CLAUDE_CODE_CHILD_SESSION"] = fmt.Sprint(b.pid), "1"
		}
		return set
	case "claude-old":
		return map[string]string{"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": b.sessionID}
	case "codex":
		if how == "tool" {
			return map[string]string{"CODEX_THREAD_ID": b.sessionID, "CODEX_CI": "1"}
		}
	case "opencode":
		if how == "tool" {
			return map[string]string{"OPENCODE": "1", "OPENCODE_PID": fmt.Sprint(b.pid)}
		}
		return map[string]string{"OPENCODE": "1"}
	case "crush":
		return map[string]string{"CRUSH": "1"}
	}
	return nil
}

// job is a program that somebody starts in the background.
func (f *forest) job(parent *being, set map[string]string, what string) *being {
	b := f.fork(parent, choose(f, "sleep", "make", "node", "node", "cargo", "emacs", "python3"), what, set)
	switch b.name {
	case "node":
		b.script, b.pkg = "vite", "vite"
		if f.chance(0.3) {
			b.script, b.pkg = "main.js", ""
		}
	case "python3":
		b.script, b.pkg = "pytest", "pytest"
	case "emacs":
		b.personal = true
	}
	if f.chance(0.15) {
		b.listening, b.clients = []int{5173}, f.IntN(2)
	}
	if f.chance(0.2) {
		b.cwd = "/w/feature"
	} else if f.chance(0.1) {
		b.cwd, b.cwdDeleted = "/w/gone (deleted)", true
	}
	f.connect(b)
	if f.chance(0.3) {
		f.fork(b, "sleep", what+"'s child", nil).pgid = b.pgid
	}
	f.tie(b)
	return b
}

// tool is what an agent starts with its shell: in a session of its own, and often left by the shell at once.
func (f *forest) tool(a *being) {
	sh := f.fork(a, "bash", "tool of "+a.what, f.handed(a, "tool")).setsid()
	f.captured(sh, a)
	switch {
	case f.chance(0.15):
		f.grow(f.agent(sh), 1)
	case f.chance(0.05):
		server := f.tmux(sh)
		f.job(f.shell(server), nil, "a person's job in a tmux that an agent started").setsid()
	default:
		f.job(sh, nil, "job of "+a.what)
	}
	if f.chance(0.6) {
		f.end(sh)
	}
}

func (f *forest) helper(a *being) {
	parent := a
	if f.chance(0.3) {
		parent = f.fork(a, "npm exec @model", "runner of "+a.what, f.handed(a, "mcp"))
		parent.exe = "/usr/bin/node"
		f.served(parent, a)
	}
	b := f.fork(parent, "node", "helper of "+a.what, f.handed(a, "mcp"))
	if parent == a {
		f.served(b, a)
	}
	b.script, b.pkg = "mcp-server-files", "@modelcontextprotocol/server-filesystem"
	if a.tty != "" {
		b.pgid = a.pgid
		if f.chance(0.5) {
			b.setsid()
		}
	}
}

func (f *forest) grow(a *being, depth int) {
	for range 1 + f.IntN(3) {
		if depth < 3 {
			f.tool(a)
		}
	}
	for range f.IntN(3) {
		f.helper(a)
	}
}

// person works in a shell, beside agents.
func (f *forest) person(s *being) {
	for range f.IntN(3) {
		b := f.job(s, nil, "a person's job in a "+s.what)
		if f.chance(0.6) {
			b.setsid()
		}
		if f.chance(0.5) { // setsid -f, nohup and an exit: handed over
			b.handed, b.ppid = true, f.manager.pid
			s.children = slices.DeleteFunc(s.children, func(c *being) bool { return c == b })
			b.parent, f.manager.children = f.manager, append(f.manager.children, b)
		}
	}
}

// live lets a while pass: agents end, are cleared or resumed, and looks remember.
func (f *forest) live() {
	for _, b := range slices.Clone(f.all) {
		if b.vendor == "" || b.gone {
			continue
		}
		switch {
		case f.chance(0.45):
			if b.parent.vendor == "wrapper" {
				f.end(b.parent)
			}
			f.end(b)
			f.shut(b)
			if f.chance(0.5) {
				delete(f.records, b.pid)
			}
		case b.vendor == "codex" && f.chance(0.3):
			f.thread(b)
		case b.vendor == "claude" && f.chance(0.15): // /clear
			f.sessions++
			b.sessionID = fmt.Sprintf("id-%d", f.sessions)
			if r, ok := f.records[b.pid]; ok {
				f.ticks++
				r.ID, r.WrittenAt = b.sessionID, f.at(f.ticks)
				f.records[b.pid] = r
			}
			f.tool(b)
		}
	}
	for _, b := range slices.Clone(f.all) {
		if _, shell := f.shells[b.pid]; !shell && b.tty != "" && b.session == b.pid && b.vendor == "" && !b.gone && f.chance(0.1) {
			f.end(b)
		}
	}
}

func (f *forest) look(missing float64) *snapshot.Snapshot {
	s := &snapshot.Snapshot{
		Schema: snapshot.Schema, TakenAt: noon,
		Host: snapshot.Host{BootID: "boot", PIDNamespace: new(uint64(thisSpace)), UID: new(1000), Home: "/home/u", PID: new(999999), Ancestors: []int{999998, 1}, Cwd: "/home/u",
			OrphanParents: []int{1, 900}, Container: new(false), SteadySince: new(noon.Add(-time.Hour)), Asleep: &[]snapshot.Asleep{}},
		Sources: map[string]snapshot.Source{"proc": {Kind: "processes", Status: snapshot.OK}, "ledger": {Kind: "ledger", Status: snapshot.OK},
			"tmux/default": {Kind: "tmux", Status: snapshot.OK}, "agents/claude": {Kind: "agents", Status: snapshot.OK}, "agents/codex": {Kind: "agents", Status: snapshot.OK}, "dirs//w": {Kind: "dirs", Status: snapshot.OK}},
		Processes: map[string]*snapshot.Process{}, Sessions: map[string]snapshot.Session{}, Sightings: map[string]snapshot.Sighting{},
		Dirs:       map[string]snapshot.Dir{"dir:/w/feature": {Source: "dirs//w", Path: "/w/feature", Name: "feature", Git: &snapshot.Git{Worktree: new(true)}}},
		Ancestries: f.before,
	}
	for _, r := range f.records {
		s.OpenSessions = append(s.OpenSessions, r)
	}
	for _, id := range slices.Sorted(maps.Keys(f.threads)) {
		s.OpenSessions = append(s.OpenSessions, f.threads[id])
	}
	slices.SortStableFunc(s.OpenSessions, func(a, b snapshot.OpenSession) int { return a.PID - b.PID })
	for _, b := range f.all {
		if b.gone {
			continue
		}
		p := snapshot.Process{
			PID: b.pid, StartTicks: b.ticks, StartedAt: f.at(b.ticks), PPID: new(b.ppid), PGID: new(b.pgid), Session: new(b.session), ForegroundPGID: new(b.foreground),
			TTY: new(b.tty), State: "S", Threads: new(1), Kernel: new(false), Name: b.name, Exe: new(b.exe), UID: new(1000), Cwd: new(b.cwd), CwdDeleted: new(b.cwdDeleted),
			CPU: new(1.5), RSS: new(int64(1 << 20)), Written: new(int64(100)), Listening: new(append([]int{}, b.listening...)), UnixSockets: &[]string{},
			Clients: new(b.clients), Markers: &b.env, PIDNamespace: new(uint64(thisSpace)), ArgvDigest: "d-" + b.name + b.script, Peers: &[]int{},
		}
		if b == f.init || b == f.manager {
			p.UID = new(0)
		}
		if b.name == "node" || b.name == "python3" {
			p.Script, p.Package = &b.script, &b.pkg
		}
		if b.script == "mcp-server-files" && b.handed {
			if p.InputEnded = new(b.mine().gone && !b.shared()); !*p.InputEnded {
				p.Peers = &[]int{f.manager.pid}
			}
		}
		if f.wired {
			f.facts(b, &p)
		}
		b.ties.fill(&p)
		f.forget(&p, missing)
		s.Processes[snapshot.ProcessID(p.PID, p.StartTicks)] = &p
		if pane := f.shells[b.pid]; pane != "" {
			s.Sessions["session:tmux/default/$"+fmt.Sprint(b.pid)] = snapshot.Session{Source: "tmux/default", ID: "$" + fmt.Sprint(b.pid), Panes: []snapshot.Pane{{ID: pane, ShellPID: new(b.pid)}}}
		}
	}
	return s
}

// shared is true for one helper in eight: another process has the other end of its input too.
func (b *being) shared() bool { return b.script == "mcp-server-files" && b.ticks%8 == 0 }

// forget leaves facts out that could not be read.
func (f *forest) forget(p *snapshot.Process, missing float64) {
	if missing == 0 {
		return
	}
	for _, drop := range []func(){
		func() { p.PPID = nil }, func() { p.Session = nil }, func() { p.TTY = nil }, func() { p.Exe = nil }, func() { p.Markers = nil },
		func() { p.Script = nil }, func() { p.Package = nil }, func() { p.Listening, p.Clients = nil, nil }, func() { p.UnixSockets = nil },
		func() { p.PIDNamespace = nil }, func() { p.InputEnded = nil }, func() { p.Peers = nil }, func() { p.IgnoresHangup = nil }, func() { p.StartedBy = nil }, func() { p.Connections = nil },
		func() { p.ConnectedTo = nil }, func() { p.WritesFiles = nil }, func() { p.OutputAt = nil }, func() { p.Cwd = nil }, func() { p.ArgvDigest = "" }, func() { p.State = "" }, func() { p.UID = nil },
	} {
		if f.chance(missing) {
			drop()
		}
	}
}

// found before gives every process a sighting, as if an earlier look had seen the same.
func sighted(s *snapshot.Snapshot, c *subject.Config) {
	j := subject.Join(s, c)
	for id := range s.Processes {
		first := noon.Add(-time.Hour)
		s.Sightings[id] = snapshot.Sighting{Rule: "reap.processes.orphan", Identity: j.Identity(id).Key, FirstAt: first, LastAt: noon.Add(-time.Second), Count: 2, IdleSince: &first, Work: j.Work(id)}
	}
}

// mine is the truth: the nearest agent that started a process.
func (b *being) mine() *being {
	for _, a := range b.above {
		if a.vendor != "wrapper" {
			return a
		}
	}
	return nil
}

// history lets agents and people start processes, and agents end. It gives 1 where an earlier look remembers who was below whom.
func (f *forest) history() int {
	var servers []*being
	if f.chance(0.5) {
		servers = append(servers, f.tmux(f.shell(nil)))
	}
	for range 1 + f.IntN(4) {
		var server *being
		if len(servers) > 0 && f.chance(0.5) {
			server = servers[0]
		}
		s := f.shell(server)
		f.person(s)
		if f.chance(0.8) {
			f.grow(f.agent(s), 0)
		}
	}
	remembers := 0
	if f.chance(0.5) {
		remembers = 1
		f.before = subject.Ancestries(f.look(0), f.config, nil)
	}
	f.live()
	if f.chance(0.5) { // what came after: another agent, who is younger
		s := f.shell(nil)
		f.grow(f.agent(s), 0)
		f.live()
	}
	return remembers
}

// TestNoProcessOfAnotherIsAnOrphan grows machines of chance, where it is known who started what, and wants no process that a person or a
// living agent started to be selected, also where facts are missing. It prints what share of the true orphans is found.
func TestNoProcessOfAnotherIsAnOrphan(t *testing.T) {
	if attack.Raced {
		t.Skip("thousands of machines are decided, which takes minutes under the race detector; .ci/run runs it without")
	}
	t.Parallel()
	e, config := shipped(t), configOf(t, Case{})
	forests := stage.Trials(100, 1000)
	wanted, found, processes, kept := [2]int{}, [2]int{}, 0, map[string]int{}
	for seed := range uint64(forests) {
		f := newForest(seed, config)
		remembers := f.history()
		missing := choose(f, 0, 0, 0, 0.02, 0.2)
		s := f.look(missing)
		sighted(s, config)
		r, err := e.Decide(t.Context(), s, config)
		if err != nil || len(r.Errors) > 0 {
			t.Fatal(err, r.Errors)
		}
		reaped := map[string]*decision.Decision{}
		for _, d := range r.Decisions {
			reaped[d.ID] = &d
		}
		for _, b := range f.all {
			if b.gone {
				continue
			}
			processes++
			d := reaped[snapshot.ProcessID(b.pid, b.ticks)]
			goes := d != nil && d.Verdict == decision.Reap
			mine := b.mine()
			if goes && (b.handed && b.shared() || b.vendor != "" || b.personal || mine == nil || !mine.gone || b.clients > 0 && len(b.listening) > 0 || b.tied(b)) {
				t.Errorf("forest %d: pid %d (%s), %s, goes: %v", seed, b.pid, b.name, b.what, d.Findings)
			}
			if missing > 0 || !b.handed || mine == nil || !mine.gone || b.personal || b.vendor != "" || b.script == "main.js" || len(b.listening) > 0 || below(b) || b.tied(b) || b.shared() {
				continue
			}
			wanted[remembers]++
			if d != nil && keptByTies(d) {
				t.Errorf("forest %d: pid %d (%s), %s, stays although nothing ties it: %v", seed, b.pid, b.name, b.what, d.Objections)
			}
			if goes {
				found[remembers]++
			} else if d != nil && len(d.Objections) > 0 {
				kept[d.Objections[0].Rule]++
			} else {
				kept["no finding"]++
			}
		}
	}
	share := func(i int) float64 { return float64(found[i]) / float64(max(1, wanted[i])) }
	figures.Logf(t, "%d forests, %d processes: %.1f %% of %d true orphans found at a first look, %.1f %% of %d where an earlier look remembers; the others: %v",
		forests, processes, 100*share(0), wanted[0], 100*share(1), wanted[1], kept)
	if share(0) < least(0.5) || share(1) < least(0.7) {
		t.Error("too few of the true orphans are found")
	}
}

// least is the share that must be found: of the few forests of the first stage, by chance a tenth less.
func least(share float64) float64 {
	if stage.Second() {
		return share
	}
	return share - 0.1
}

// below reports whether something that must stay is below a process: it keeps what it stands below.
func below(b *being) bool {
	return slices.ContainsFunc(b.children, func(c *being) bool {
		return !c.gone && (c.vendor != "" || c.personal || c.script == "main.js" || len(c.listening) > 0 || c.tty != "" || below(c))
	})
}
