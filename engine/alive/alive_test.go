package alive

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/schema"
)

func TestSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	schema.Current(t, Answer{}, Schema, []string{"../../docs/reference/schemas/alive.json"}, nil)
}

var (
	now     = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	session = "session:tmux/default/$1"
	tab     = "tab:herdr/default/w1:t1"
	edit    = "tab:vscode/w/7"
	term    = "terminal:codev/default/u"
	folder  = "dir:/w/a"
)

// world is one in which every kind of proof is there: process 10 runs in the session, 20 in the tab, 30 keeps the terminal open, 40 works in
// the folder, 50 is the editor's. 1000 looks, and 1001 is its child.
func world() *snapshot.Snapshot {
	p := func(pid int) *snapshot.Process {
		return &snapshot.Process{PID: pid, StartTicks: uint64(pid * 10), PPID: new(1), Name: "p" + strconv.Itoa(pid), State: "S", Threads: new(1), UID: new(7), StartedAt: new(now.Add(-time.Hour)),
			Markers: &map[string]string{}, Listening: &[]int{}}
	}
	s := &snapshot.Snapshot{
		Schema: snapshot.Schema, TakenAt: now,
		Host:      snapshot.Host{PID: new(1000), UID: new(7), BootID: "b", Ancestors: []int{1}},
		Processes: map[string]*snapshot.Process{},
		Sources: map[string]snapshot.Source{
			snapshot.Proc: {Kind: "processes", Status: snapshot.OK}, snapshot.Ledger: {Kind: "ledger", Status: snapshot.OK}, "tmux/default": {Kind: "tmux", Status: snapshot.OK},
			"herdr/default": {Kind: "herdr", Status: snapshot.OK}, "vscode/w": {Kind: "vscode", Status: snapshot.OK}, "codev/default": {Kind: "codev", Status: snapshot.OK},
			"registry/r": {Kind: "registry", Status: snapshot.OK, Format: "json"}, "spawns/s": {Kind: "spawns", Status: snapshot.OK, Format: "jsonl"}, "agents/claude": {Kind: "agents", Status: snapshot.OK},
		},
		Sessions: map[string]snapshot.Session{session: {Source: "tmux/default", ID: "$1", Name: "one", Attached: new(0), LastActivityAt: new(now.Add(-time.Minute)), Popups: &[]snapshot.PaneProc{},
			Panes: []snapshot.Pane{{ID: "%1", ShellPID: new(10), ShellStartTicks: new(uint64(100)), Dead: new(false), Cwd: "/elsewhere", SessionPIDs: []int{10}, Session: []snapshot.PaneProc{{PID: 10, Name: "p10"}}}}}},
		Tabs: map[string]snapshot.Tab{
			tab:  {Source: "herdr/default", ID: "w1:t1", Label: "two", PaneCount: new(1), Panes: []snapshot.Pane{{ID: "w1:p1", Terminal: "t9", ShellPID: new(20), ShellStartTicks: new(uint64(200)), AgentStatus: "working"}}},
			edit: {Source: "vscode/w", ID: "7", Label: "three", Editor: &snapshot.EditorTab{PID: new(50), StartTicks: new(uint64(500)), Session: []snapshot.EditorProc{}}},
		},
		Terminals: map[string]snapshot.Terminal{term: {Source: "codev/default", ID: "u", Status: "running", PID: new(30), StartTicks: new(uint64(300)), Below: &[]snapshot.PaneProc{}}},
		Dirs: map[string]snapshot.Dir{folder: {Source: "dirs/w", Path: "/w/a", Name: "a", HoldersKnown: new(true), ActiveAt: new(now.Add(-time.Hour)),
			Holders: []snapshot.Holder{{PID: 40, Name: "p40", How: "cwd"}}}},
		OpenSessions: []snapshot.OpenSession{{Source: "agents/claude", Agent: "claude", ID: "cafe", PID: 60, StartTicks: new(uint64(600)), WrittenAt: new(now), Folder: "/elsewhere"}},
		Registry:     []snapshot.Entry{{Source: "registry/r", ID: "r1", Status: "running", Session: "one"}},
		Spawns:       []snapshot.Spawn{{Source: "spawns/s", ID: "s1", Pane: "t9"}},
	}
	for _, pid := range []int{10, 20, 30, 40, 50, 60, 1000, 1001} {
		s.Processes[snapshot.ProcessID(pid, uint64(pid*10))] = p(pid)
	}
	s.Processes["process:1001@10010"].PPID = new(1000)
	return s
}

// end takes a process out of a world.
func end(s *snapshot.Snapshot, pid int) { delete(s.Processes, snapshot.ProcessID(pid, uint64(pid*10))) }

func ask(s *snapshot.Snapshot, q Question) Answer {
	return Ask(s, &subject.Config{TerminalStatuses: []string{"done"}, AgentIdle: []string{"idle"}}, q)
}

// unasked makes a process a server of tmux's.
func unasked(s *snapshot.Snapshot) { s.Processes["process:10@100"].Name = tmuxServer }

func onSession(s *snapshot.Snapshot, change func(*snapshot.Session)) {
	t := s.Sessions[session]
	change(&t)
	s.Sessions[session] = t
}

func onFolder(s *snapshot.Snapshot, change func(*snapshot.Dir)) {
	d := s.Dirs[folder]
	change(&d)
	s.Dirs[folder] = d
}

func fail(s *snapshot.Snapshot, name string) {
	src := s.Sources[name]
	src.Status, src.Error = snapshot.Failed, "it did not answer"
	s.Sources[name] = src
}

// The kinds of proof: each is found where it is there (want), is missing where what it names is gone, and is unknown where that could not be read.
func TestOf(t *testing.T) {
	t.Parallel()
	inFolder := Question{Kind: Folder, Path: "/w/a"}
	empty := func(s *snapshot.Snapshot) { onFolder(s, func(d *snapshot.Dir) { d.Holders = []snapshot.Holder{} }) }
	for name, c := range map[string]struct {
		q      Question
		change func(*snapshot.Snapshot)
		state  string
		// proof is one that must be there, said a part of what must be said, gap of a gap.
		proof, said, gap string
	}{
		"process":                         {q: Question{Kind: Process, PID: 40}, state: Alive, proof: "process/runs"},
		"process with its start":          {q: Question{Kind: Process, PID: 40, Ticks: new(uint64(400))}, state: Alive, proof: "process/runs"},
		"process gone":                    {q: Question{Kind: Process, PID: 41}, state: NotAlive, said: "there is no process 41"},
		"process reused":                  {q: Question{Kind: Process, PID: 40, Ticks: new(uint64(399))}, state: NotAlive, said: "another process now"},
		"process not read":                {q: Question{Kind: Process, PID: 41}, change: func(s *snapshot.Snapshot) { fail(s, snapshot.Proc) }, state: Unknown, gap: "did not answer"},
		"process and another source":      {q: Question{Kind: Process, PID: 41}, change: func(s *snapshot.Snapshot) { fail(s, "herdr/default"); fail(s, "registry/r") }, state: NotAlive},
		"process held, and ledger unread": {q: Question{Kind: Process, PID: 41}, change: func(s *snapshot.Snapshot) { fail(s, snapshot.Ledger) }, state: Unknown},
		"zombie":                          {q: Question{Kind: Process, PID: 40}, change: func(s *snapshot.Snapshot) { s.Processes["process:40@400"].State = "Z" }, state: NotAlive, said: "zombie"},
		"zombie with a thread": {q: Question{Kind: Process, PID: 40}, change: func(s *snapshot.Snapshot) {
			s.Processes["process:40@400"].State, s.Processes["process:40@400"].Threads = "Z", new(2)
		}, state: Alive, proof: "process/runs"},
		"winnow itself":        {q: Question{Kind: Process, PID: 1000}, state: NotAlive, said: "Winnow itself"},
		"a child of winnow":    {q: Question{Kind: Process, PID: 1001}, state: NotAlive, said: "Winnow itself"},
		"another own":          {q: Question{Kind: Process, PID: 40, Own: []int{40}}, state: NotAlive, said: "Winnow itself"},
		"process that listens": {q: Question{Kind: Process, PID: 40}, change: func(s *snapshot.Snapshot) { s.Processes["process:40@400"].Listening = &[]int{8080} }, state: Alive, proof: "listening/"},

		"session":               {q: Question{Kind: Session, ID: session}, state: Alive, proof: "pane/"},
		"session by its entry":  {q: Question{Kind: Session, ID: session}, state: Alive, proof: "registry/session"},
		"session with a client": {q: Question{Kind: Session, ID: session}, change: func(s *snapshot.Snapshot) { onSession(s, func(t *snapshot.Session) { t.Attached = new(2) }) }, state: Alive, proof: "client/"},
		"session of a dead pane": {q: Question{Kind: Session, ID: session}, change: func(s *snapshot.Snapshot) {
			end(s, 10)
			onSession(s, func(t *snapshot.Session) { t.Panes[0].Dead = new(true); t.Panes[0].Session = nil })
		}, state: NotAlive, said: "kept although"},
		"its entry says live": {q: Question{Kind: Session, ID: session}, change: func(s *snapshot.Snapshot) {
			end(s, 10)
			onSession(s, func(t *snapshot.Session) { t.Panes[0].Dead = new(true); t.Panes[0].Session = nil })
		}, state: NotAlive, said: "says live, and its process is gone"},
		"session of an unknown pane": {q: Question{Kind: Session, ID: session}, change: func(s *snapshot.Snapshot) {
			end(s, 10)
			onSession(s, func(t *snapshot.Session) { t.Panes[0].ShellPID = nil })
		}, state: Unknown, gap: "is not known"},
		"session of a pid that was reused": {q: Question{Kind: Session, ID: session}, change: func(s *snapshot.Snapshot) {
			s.Processes["process:10@100"].StartTicks = 101
			onSession(s, func(t *snapshot.Session) { t.Panes[0].Session = nil })
		}, state: Unknown, gap: "not found as it was listed"},
		"session by a popup": {q: Question{Kind: Session, ID: session}, change: func(s *snapshot.Snapshot) {
			end(s, 10)
			onSession(s, func(t *snapshot.Session) {
				t.Panes[0].Dead = new(true)
				t.Popups = &[]snapshot.PaneProc{{PID: 40, Name: "p40"}}
			})
		}, state: Alive, proof: "process/popup"},
		"session with unknown popups": {q: Question{Kind: Session, ID: session}, change: func(s *snapshot.Snapshot) {
			end(s, 10)
			onSession(s, func(t *snapshot.Session) { t.Panes[0].Dead = new(true); t.Popups = nil })
		}, state: Unknown, gap: "popup"},
		"session by what left it": {q: Question{Kind: Session, ID: session}, change: func(s *snapshot.Snapshot) {
			end(s, 10)
			onSession(s, func(t *snapshot.Session) {
				t.Panes[0].ShellPID = nil
				t.Panes[0].Carriers = []snapshot.PaneProc{{PID: 40, Name: "p40"}}
			})
		}, state: Alive, proof: "process/elsewhere"},
		"session gone":                {q: Question{Kind: Session, ID: "session:tmux/default/$2"}, state: NotAlive, said: "is listed"},
		"session gone, server unread": {q: Question{Kind: Session, ID: "session:tmux/default/$2"}, change: func(s *snapshot.Snapshot) { fail(s, "tmux/default") }, state: Unknown, gap: "did not answer"},
		"session gone, another server unread": {q: Question{Kind: Session, ID: "session:tmux/default/$2"}, change: func(s *snapshot.Snapshot) {
			s.Sources["tmux/other"] = snapshot.Source{Kind: "tmux", Status: snapshot.Failed, Error: "x"}
		}, state: NotAlive},
		"session of no source": {q: Question{Kind: Session, ID: "session:tmux/nosuch/$2"}, state: Unknown, gap: "no source of that name"},
		"session held": {q: Question{Kind: Session, ID: "session:tmux/default/$2"}, change: func(s *snapshot.Snapshot) {
			s.Holds = []snapshot.Hold{{ID: "session:tmux/default/$2", Owner: "me", Since: now}}
		}, state: Alive, proof: "hold/"},
		"session with a lapsed hold": {q: Question{Kind: Session, ID: "session:tmux/default/$2"}, change: func(s *snapshot.Snapshot) {
			s.Holds = []snapshot.Hold{{ID: "session:tmux/default/$2", Since: now, Until: new(now)}}
		}, state: NotAlive, said: "lapsed"},

		"tab":                                  {q: Question{Kind: Tab, ID: tab}, state: Alive, proof: "pane/"},
		"tab by its agent":                     {q: Question{Kind: Tab, ID: tab}, state: Alive, proof: "agent_status/"},
		"tab by its spawn":                     {q: Question{Kind: Tab, ID: tab}, state: Alive, proof: "spawn/tab"},
		"tab gone":                             {q: Question{Kind: Tab, ID: "tab:herdr/default/w1:t9"}, state: NotAlive},
		"tab gone, herdr unread":               {q: Question{Kind: Tab, ID: "tab:herdr/default/w1:t9"}, change: func(s *snapshot.Snapshot) { fail(s, "herdr/default") }, state: Unknown},
		"tab of an editor":                     {q: Question{Kind: Tab, ID: edit}, state: Alive, proof: "process/tab"},
		"tab of an editor whose process ended": {q: Question{Kind: Tab, ID: edit}, change: func(s *snapshot.Snapshot) { end(s, 50) }, state: NotAlive, said: "is gone"},
		"tab that an extension draws":          {q: Question{Kind: Tab, ID: edit}, change: func(s *snapshot.Snapshot) { s.Tabs[edit].Editor.PID = nil }, state: Unknown, gap: "an extension draws it"},

		"terminal":                   {q: Question{Kind: Terminal, ID: term}, state: Alive, proof: "terminal/"},
		"terminal of a gone process": {q: Question{Kind: Terminal, ID: term}, change: func(s *snapshot.Snapshot) { end(s, 30) }, state: NotAlive, said: "is gone"},
		"terminal that the Tower says runs": {q: Question{Kind: Terminal, ID: term}, change: func(s *snapshot.Snapshot) {
			t := s.Terminals[term]
			t.PID = nil
			s.Terminals[term] = t
		}, state: Unknown, gap: "its process is not known"},

		"folder":           {q: inFolder, state: Alive, proof: "process/cwd"},
		"folder of nobody": {q: inFolder, change: empty, state: NotAlive, said: "last sign of work"},
		"folder of winnow alone": {q: inFolder, change: func(s *snapshot.Snapshot) {
			onFolder(s, func(d *snapshot.Dir) { d.Holders = []snapshot.Holder{{PID: 1000, How: "cwd"}, {PID: 1001, How: "fd"}} })
		}, state: NotAlive},
		"folder of an unread process": {q: inFolder, change: func(s *snapshot.Snapshot) {
			empty(s)
			onFolder(s, func(d *snapshot.Dir) { d.HoldersKnown = new(false) })
		}, state: Unknown},
		"folder of a session that stands elsewhere": {q: inFolder, change: func(s *snapshot.Snapshot) { empty(s); s.OpenSessions[0].Folder = "/w/a/src" }, state: Alive, proof: "agent/"},
		"folder of a session that has ended":        {q: inFolder, change: func(s *snapshot.Snapshot) { empty(s); s.OpenSessions[0].Folder = "/w/a/src"; end(s, 60) }, state: NotAlive},
		"folder while a session is anywhere":        {q: inFolder, change: func(s *snapshot.Snapshot) { empty(s); s.OpenSessions[0].Folder = "" }, state: Unknown},
		"folder that was not asked":                 {q: inFolder, change: func(s *snapshot.Snapshot) { empty(s); onFolder(s, func(d *snapshot.Dir) { d.HoldersKnown = nil }) }, state: Unknown},
		"folder by an unread source":                {q: inFolder, change: func(s *snapshot.Snapshot) { empty(s); fail(s, "herdr/default") }, state: Unknown},
		"folder of the kernel": {q: inFolder, change: func(s *snapshot.Snapshot) {
			onFolder(s, func(d *snapshot.Dir) { d.Holders = []snapshot.Holder{{Name: "loop0", How: "loop"}} })
		}, state: Alive, proof: "process/loop"},
		"folder by a pane below it": {q: inFolder, change: func(s *snapshot.Snapshot) {
			empty(s)
			onSession(s, func(t *snapshot.Session) { t.Panes[0].Cwd = "/w/a/sub" })
		}, state: Alive, proof: "pane/"},
		"folder beside a pane": {q: inFolder, change: func(s *snapshot.Snapshot) {
			empty(s)
			onSession(s, func(t *snapshot.Session) { t.Panes[0].Cwd = "/w/ab" })
		}, state: NotAlive},
		"folder of a terminal": {q: inFolder, change: func(s *snapshot.Snapshot) {
			empty(s)
			t := s.Terminals[term]
			t.Owner = &snapshot.TerminalOwner{Worktree: "/w/a"}
			s.Terminals[term] = t
		}, state: Alive, proof: "terminal/"},
		"folder with a lock": {q: inFolder, change: func(s *snapshot.Snapshot) {
			empty(s)
			onFolder(s, func(d *snapshot.Dir) {
				d.Git = &snapshot.Git{Lock: &snapshot.Lock{Tool: "claude", PID: 60, Alive: new(true)}}
			})
		}, state: Alive, proof: "lock/"},
		"folder with a void lock": {q: inFolder, change: func(s *snapshot.Snapshot) {
			empty(s)
			onFolder(s, func(d *snapshot.Dir) {
				d.Git = &snapshot.Git{Lock: &snapshot.Lock{Tool: "claude", PID: 61, Alive: new(false)}}
			})
		}, state: NotAlive, said: "is gone"},
		"folder with a lock of elsewhere": {q: inFolder, change: func(s *snapshot.Snapshot) {
			empty(s)
			onFolder(s, func(d *snapshot.Dir) { d.Git = &snapshot.Git{Lock: &snapshot.Lock{Tool: "claude", PID: 61}} })
		}, state: Unknown, gap: "another pid namespace"},
		"folder with an entry that lives": {q: inFolder, change: func(s *snapshot.Snapshot) {
			empty(s)
			s.Registry = []snapshot.Entry{{Source: "registry/r", ID: "r2", Path: "/w/a", PID: new(60)}}
		}, state: Alive, proof: "registry/pid"},
		"folder with an entry whose process is gone": {q: inFolder, change: func(s *snapshot.Snapshot) {
			empty(s)
			s.Registry = []snapshot.Entry{{Source: "registry/r", ID: "r2", Path: "/w/a", PID: new(61)}}
		}, state: NotAlive, said: "says live, and its process is gone"},
		"folder with an entry that has ended": {q: inFolder, change: func(s *snapshot.Snapshot) {
			empty(s)
			s.Registry = []snapshot.Entry{{Source: "registry/r", ID: "r2", Path: "/w/a", Status: "done", PID: new(60)}}
		}, state: NotAlive, said: "has ended"},
		"folder with an entry that names nothing": {q: inFolder, change: func(s *snapshot.Snapshot) {
			empty(s)
			s.Registry = []snapshot.Entry{{Source: "registry/r", ID: "r2", Path: "/w/a", Status: "running"}}
		}, state: Unknown, gap: "nothing tells"},
		"folder with an entry, processes unread": {q: inFolder, change: func(s *snapshot.Snapshot) {
			empty(s)
			s.Registry = []snapshot.Entry{{Source: "registry/r", ID: "r2", Path: "/w/a", PID: new(61)}}
			fail(s, snapshot.Proc)
		}, state: Unknown},
		"folder with a hold below": {q: inFolder, change: func(s *snapshot.Snapshot) { empty(s); s.Holds = []snapshot.Hold{{ID: "dir:/w/a/b", Since: now}} }, state: Alive, proof: "hold/"},
		"folder with a hold above": {q: inFolder, change: func(s *snapshot.Snapshot) { empty(s); s.Holds = []snapshot.Hold{{ID: "dir:/w", Since: now}} }, state: NotAlive},
		"folder with an agent": {q: inFolder, change: func(s *snapshot.Snapshot) {
			onFolder(s, func(d *snapshot.Dir) { d.Holders = []snapshot.Holder{{PID: 60, Name: "p60", How: "cwd"}} })
		}, state: Alive, proof: "agent/"},
		"folder of another user": {q: Question{Kind: Folder, Path: "/w/a", Gaps: []Gap{{Source: "proc", Why: "another user"}}}, change: empty, state: Unknown, gap: "another user"},
		"folder by an absent registry": {q: inFolder, change: func(s *snapshot.Snapshot) {
			empty(s)
			s.Sources["registry/r"] = snapshot.Source{Kind: "registry", Status: snapshot.Absent}
		}, state: Unknown, gap: "the configuration names it"},
		"folder by an absent server": {q: inFolder, change: func(s *snapshot.Snapshot) {
			empty(s)
			s.Sources["tmux/default"] = snapshot.Source{Kind: "tmux", Status: snapshot.Absent}
		}, state: NotAlive},

		"agent":                          {q: Question{Kind: Agent, ID: "cafe"}, state: Alive, proof: "agent/"},
		"agent gone":                     {q: Question{Kind: Agent, ID: "cafe"}, change: func(s *snapshot.Snapshot) { end(s, 60) }, state: NotAlive, said: "its process 60 is gone"},
		"agent of a pid that was reused": {q: Question{Kind: Agent, ID: "cafe"}, change: func(s *snapshot.Snapshot) { s.OpenSessions[0].StartTicks = new(uint64(1)) }, state: NotAlive, said: "is gone"},
		"agent of an unknown process":    {q: Question{Kind: Agent, ID: "cafe"}, change: func(s *snapshot.Snapshot) { s.OpenSessions[0].PID = 0 }, state: Unknown},
		"agent that ended":               {q: Question{Kind: Agent, ID: "cafe"}, change: func(s *snapshot.Snapshot) { s.OpenSessions[0].PID, s.OpenSessions[0].Ended = 0, new(true) }, state: NotAlive, said: "is gone"},
		"agent, processes unread":        {q: Question{Kind: Agent, ID: "cafe"}, change: func(s *snapshot.Snapshot) { end(s, 60); fail(s, snapshot.Proc) }, state: Unknown},
		"agent by a marker": {q: Question{Kind: Agent, ID: "beef"}, change: func(s *snapshot.Snapshot) {
			s.Processes["process:40@400"].Markers = &map[string]string{"CLAUDE_SESSION": "beef"}
		}, state: Alive, proof: "process/marker"},
		"worker":                       {q: Question{Kind: Agent, ID: "r1"}, state: Alive, proof: "registry/session"},
		"worker whose session is gone": {q: Question{Kind: Agent, ID: "r1"}, change: func(s *snapshot.Snapshot) { delete(s.Sessions, session) }, state: NotAlive, said: "says live"},
		"worker, tmux unread":          {q: Question{Kind: Agent, ID: "r1"}, change: func(s *snapshot.Snapshot) { delete(s.Sessions, session); fail(s, "tmux/default") }, state: Unknown},
		"a name that nothing has":      {q: Question{Kind: Agent, ID: "nosuch", Guessed: true}, state: Unknown, gap: "is called nosuch"},
		"a part of an open session":    {q: Question{Kind: Agent, ID: "caf"}, state: Unknown, gap: "give the whole id"},
		"a name that a session of an unasked server may have": {q: Question{Kind: Agent, ID: "nosuch", Guessed: true}, change: unasked, state: Unknown, gap: "process 10"},
		"an agent beside an unasked server":                   {q: Question{Kind: Agent, ID: "nosuch"}, change: unasked, state: NotAlive},
		"a session's name beside an unasked server":           {q: Question{Kind: Session, ID: "session:nosuch"}, change: unasked, state: Unknown, gap: "process 10"},
		"a session's id beside an unasked server":             {q: Question{Kind: Session, ID: "session:tmux/default/$9"}, change: unasked, state: NotAlive},
		"a session's name beside the server of another user": {q: Question{Kind: Session, ID: "session:nosuch"}, change: func(s *snapshot.Snapshot) {
			unasked(s)
			s.Processes["process:10@100"].UID = new(8)
		}, state: NotAlive},
		"a session's name beside a server that was asked": {q: Question{Kind: Session, ID: "session:nosuch"}, change: func(s *snapshot.Snapshot) {
			unasked(s)
			src := s.Sources["tmux/default"]
			src.Server = &snapshot.Server{PID: 10}
			s.Sources["tmux/default"] = src
		}, state: NotAlive},
		"worker whose session may be on an unasked server": {q: Question{Kind: Agent, ID: "r1"}, change: func(s *snapshot.Snapshot) { delete(s.Sessions, session); unasked(s) }, state: Unknown, gap: "process 10"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := world()
			if c.change != nil {
				c.change(s)
			}
			got := ask(s, c.q)
			text, _ := json.MarshalIndent(got, "", " ")
			if got.State != c.state {
				t.Errorf("state %s, want %s: %s", got.State, c.state, text)
			}
			if c.proof != "" && !slices.ContainsFunc(got.Proofs, func(p Proof) bool {
				return p.What+"/"+p.How == c.proof || strings.HasSuffix(c.proof, "/") && p.What+"/" == c.proof
			}) {
				t.Errorf("no proof %s: %s", c.proof, text)
			}
			if c.said != "" && !slices.ContainsFunc(got.Claims, func(x Claim) bool { return strings.Contains(x.Detail, c.said) }) {
				t.Errorf("%q is not said: %s", c.said, text)
			}
			if c.gap != "" && !slices.ContainsFunc(got.Gaps, func(x Gap) bool { return strings.Contains(x.Why, c.gap) }) {
				t.Errorf("no gap %q: %s", c.gap, text)
			}
			if (got.State == Alive) != (len(got.Proofs) > 0) || got.State == NotAlive && len(got.Gaps) > 0 || got.State == Unknown && len(got.Gaps) == 0 {
				t.Errorf("the state contradicts what it rests on: %s", text)
			}
			resolves(t, s, got)
		})
	}
}

// resolves fails where the place of a fact is not in the snapshot.
func resolves(t *testing.T, s *snapshot.Snapshot, a Answer) {
	t.Helper()
	text := must.Get(json.Marshal(s))(t)
	var doc any
	must.Do(t, json.Unmarshal(text, &doc))
	var facts []string
	for _, p := range a.Proofs {
		facts = append(facts, p.Fact)
	}
	for _, x := range a.Claims {
		if x.Fact != "" {
			facts = append(facts, x.Fact)
		}
	}
	for _, fact := range facts {
		at := doc
		for _, name := range strings.Split(fact, "/")[1:] {
			name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
			switch v := at.(type) {
			case map[string]any:
				at = v[name]
			case []any:
				n, err := strconv.Atoi(name)
				if err != nil || n >= len(v) {
					t.Fatalf("%s leads nowhere", fact)
				}
				at = v[n]
			default:
				at = nil
			}
		}
		if at == nil {
			t.Errorf("%s leads nowhere in the snapshot", fact)
		}
	}
}

// No fact that is missing makes an answer say that nothing is alive where with the fact it says that something is: every field of the world is left
// out in turn.
func TestNoMissingFactEndsLife(t *testing.T) {
	t.Parallel()
	for name, q := range map[string]Question{
		"session": {Kind: Session, ID: session}, "tab": {Kind: Tab, ID: tab}, "editor": {Kind: Tab, ID: edit}, "terminal": {Kind: Terminal, ID: term},
		"folder": {Kind: Folder, Path: "/w/a"}, "agent": {Kind: Agent, ID: "cafe"}, "worker": {Kind: Agent, ID: "r1"},
	} {
		full := world()
		full.Registry[0].PID = new(10)
		if got := ask(full, q); got.State != Alive {
			t.Fatalf("%s: %s", name, got.State)
		}
		count := 0
		for _, of := range []func(*snapshot.Snapshot) any{
			func(s *snapshot.Snapshot) any { return &s.Host },
			func(s *snapshot.Snapshot) any { return &s.Processes }, func(s *snapshot.Snapshot) any { return &s.Sources },
			func(s *snapshot.Snapshot) any { t := s.Sessions[session]; return &t.Panes[0] }, func(s *snapshot.Snapshot) any { t := s.Tabs[tab]; return &t.Panes[0] },
			func(s *snapshot.Snapshot) any { return s.Tabs[edit].Editor }, func(s *snapshot.Snapshot) any { return &s.OpenSessions[0] },
		} {
			v := reflect.ValueOf(of(world())).Elem()
			n := 1
			if v.Kind() == reflect.Struct {
				n = v.NumField()
			}
			for i := range n {
				s := world()
				v := reflect.ValueOf(of(s)).Elem()
				field := v
				if v.Kind() == reflect.Struct {
					field = v.Field(i)
				}
				if field.Kind() != reflect.Pointer && field.Kind() != reflect.Map && field.Kind() != reflect.Slice || field.IsNil() {
					continue
				}
				if v.Kind() == reflect.Map && v.Type().Elem().Kind() == reflect.Pointer {
					s.Sources[snapshot.Proc] = snapshot.Source{Kind: "processes", Status: snapshot.Failed, Error: "missing"} // no processes are read only by a source that failed
				}
				field.SetZero()
				count++
				if got := ask(s, q); got.State == NotAlive {
					t.Errorf("%s: without a fact of %T, field %d, it says not-alive: %s", name, of(s), i, got.Why)
				}
			}
		}
		if count < 15 {
			t.Errorf("%s: only %d facts were left out", name, count)
		}
	}
}
