// Package worlds makes snapshots of chance, and configurations for them, for tests of the engine.
package worlds

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// Now is when the snapshots are taken.
var Now = time.Date(2026, 11, 20, 18, 0, 0, 123456789, time.UTC)

// Config is config.yaml's rules section.
func Config() *subject.Config {
	return &subject.Config{
		Shells:         []string{"bash", "sh", "zsh", "fish"},
		PromptDaemons:  []string{"gitstatusd"},
		Agents:         []string{"claude", "codex"},
		SessionAgents:  []subject.SessionAgent{{Name: "claude", Programs: []string{"claude"}}, {Name: "gemini", Programs: []string{"vite"}}},
		Multiplexers:   []string{"tmux: server", "screen"},
		NeverProcesses: []string{"git", "git-*", "ssh-agent"},
		IDMarkers:      []string{"AGENT_SESSION"},
		PaneMarkers:    []string{"TMUX", "STY"},
		SessionNames:   subject.Names{Exact: []string{"scratch"}, Prefix: []string{"worker-"}},
		DisposableDirs: []string{`(?i)-review-[0-9a-f]{8}$`},
		Rebuildable:    []string{"node_modules", "target"},
		Protected:      []string{"/keep/**", "precious"},
		TerminalStatuses: []string{
			"completed", "failed", "archived",
		},
		SpareListeners: true,
		Grace:          subject.Grace{Dir: 900, Spawn: 900, Process: 300, Session: 600},
		ConfirmAfter:   30, ConfirmProcessAfter: 300, ConfirmBusyAfter: 1800, DormantAfter: 21600, Busy: subject.Busy{CPU: 0.01, Written: 1}, LandedAfter: 86400, AbandonedAfter: 259200, AttachedIdle: 3600, SteadyFor: 30,
		Custom: map[string]any{"after": 259200.0, "share": 0.25, "word": "x", "none": "", "on": true, "names": []string{"a", "b"}, "nobody": []string{}},
	}
}

// Maker makes snapshots of chance. With missing above 0 each fact is left out with that likelihood.
type Maker struct {
	*rand.Rand
	missing float64
}

// New makes the same snapshots of the same seed.
func New(seed uint64, missing float64) *Maker {
	return &Maker{rand.New(rand.NewPCG(seed, 7)), missing}
}

func (m *Maker) has() bool { return m.Float64() >= m.missing }

func (m *Maker) chance(p float64) bool { return m.Float64() < p }

func pick[T any](m *Maker, from ...T) T { return from[m.IntN(len(from))] }

// maybe is the fact, or nil where it is missing.
func maybe[T any](m *Maker, v T) *T {
	if !m.has() {
		return nil
	}
	return &v
}

func text(m *Maker, s string) string {
	if !m.has() {
		return ""
	}
	return s
}

func (m *Maker) ago(seconds ...float64) *time.Time {
	return maybe(m, Now.Add(-time.Duration(pick(m, seconds...)*float64(time.Second))))
}

// world is a snapshot with n candidates: a third each of folders, sessions and processes.
func (m *Maker) World(n int) *snapshot.Snapshot {
	s := &snapshot.Snapshot{
		Schema: snapshot.Schema, TakenAt: Now, Host: m.host(), Sources: m.sources(),
		Dirs: map[string]snapshot.Dir{}, Sessions: map[string]snapshot.Session{}, Processes: map[string]*snapshot.Process{},
		Sightings: map[string]snapshot.Sighting{},
	}
	for i := range n {
		switch i % 3 {
		case 0:
			d := m.dir(i)
			s.Dirs["dir:"+d.Path] = d
		case 1:
			s.Sessions[fmt.Sprintf("session:tmux/default/$%d", i)] = m.session(i)
		default:
			p := m.process(i)
			s.Processes[fmt.Sprintf("process:%d@%d", p.PID, p.StartTicks)] = &p
		}
	}
	for pid := 1; pid <= 2; pid++ { // what inherits orphans, and something else with children
		s.Processes[fmt.Sprintf("process:%d@1", pid)] = &snapshot.Process{PID: pid, StartTicks: 1, PPID: new(0), Name: "systemd", UID: new(0)}
	}
	m.records(s, n)
	m.remember(s)
	return s
}

// remember gives sessions a sighting, most of them one that fits.
func (m *Maker) remember(s *snapshot.Snapshot) {
	j := subject.Join(s, Config())
	for _, id := range slices.Sorted(maps.Keys(s.Sessions)) { // by chance and not by the order of a map: a seed gives one world
		if key := j.Identity(id).Key; m.chance(0.8) && m.has() {
			s.Sightings[id] = snapshot.Sighting{
				Rule: pick(m, "reap.sessions.idle_shell", "reap.sessions.idle_shell", "reap.sessions.finished"), Identity: key,
				FirstAt: Now.Add(-pick(m, time.Minute, time.Minute, time.Second)), LastAt: Now.Add(-time.Second), Count: 1,
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.Processes)) {
		if key := j.Identity(id).Key; m.chance(0.8) && m.has() {
			first := Now.Add(-pick(m, 10*time.Minute, 10*time.Minute, time.Hour, time.Second))
			s.Sightings[id] = snapshot.Sighting{
				Rule: pick(m, "reap.processes.orphan", "reap.processes.orphan", "reap.processes.deleted"), Identity: key,
				FirstAt: first, LastAt: Now.Add(-time.Second), Count: 1, IdleSince: maybe(m, first), Work: j.Work(id),
			}
		}
	}
}

func (m *Maker) host() snapshot.Host {
	h := snapshot.Host{
		BootID: text(m, "boot"), PIDNamespace: maybe(m, uint64(4026531836)), UID: maybe(m, 1000), Home: text(m, "/home/u"),
		PID: maybe(m, 4242), Cwd: text(m, "/home/u/work"), Container: maybe(m, false), SteadySince: m.ago(3600),
		Asleep: maybe(m, []snapshot.Asleep{}),
	}
	if m.has() {
		h.Ancestors = pick(m, []int{4240, 1}, []int{4240, 1}, []int{})
	}
	if m.has() {
		h.OrphanParents = []int{1, 900}
	}
	return h
}

func (m *Maker) sources() map[string]snapshot.Source {
	out := map[string]snapshot.Source{}
	for _, name := range []string{"proc", "ledger", "tmux/default", "dirs//w", "spawns/one", "registry/one"} {
		if m.has() {
			out[name] = snapshot.Source{Kind: name, Status: snapshot.OK}
			if m.missing > 0 && m.chance(0.02) {
				out[name] = snapshot.Source{Kind: name, Status: snapshot.Failed}
			}
		}
	}
	return out
}

func (m *Maker) dir(i int) snapshot.Dir {
	name := fmt.Sprintf(pick(m, "acme-review-%08x", "acme-review-%08x", "feature-%d"), i)
	d := snapshot.Dir{
		Source: "dirs//w", Name: name, Path: pick(m, "/w/", "/w/", "/w/", "/keep/") + name, Root: "/w",
		ModifiedAt: m.ago(1e6, 1e6, 1e6, 60), ActiveAt: m.ago(1e6, 1e6, 3600), BornAt: m.ago(2e6),
		Symlink: maybe(m, false), Device: maybe(m, uint64(2049)), Inode: maybe(m, uint64(i+1000)), UID: maybe(m, pick(m, 1000, 1000, 1000, 0)),
		Mounts: maybe(m, pick(m, 0, 0, 0, 0, 1)), Empty: maybe(m, false), Checkout: maybe(m, true), HoldersKnown: maybe(m, true), Holders: []snapshot.Holder{},
	}
	if d.SharedOutside = maybe(m, m.chance(0.05)); d.SharedOutside != nil && *d.SharedOutside {
		d.HoldersKnown = new(false)
	}
	d.Pointers = maybe(m, pick(m, []snapshot.Pointer{}, []snapshot.Pointer{}, []snapshot.Pointer{}, []snapshot.Pointer{{Kind: "link", Path: "/home/u/bin/x"}}))
	if m.chance(0.2) {
		d.Holders = []snapshot.Holder{{PID: 77, Name: "claude", How: "cwd"}}
	}
	if m.has() {
		d.Git = m.git(i)
	}
	return d
}

func (m *Maker) git(i int) *snapshot.Git {
	return &snapshot.Git{
		Worktree: maybe(m, m.chance(0.9)), Registered: maybe(m, true), Main: text(m, "/w/acme"), CommonDir: text(m, "/w/acme/.git"),
		AdminDir: text(m, fmt.Sprintf("/w/acme/.git/worktrees/%d", i)), Head: text(m, fmt.Sprintf("%040x", i)), Detached: maybe(m, true),
		Locked: maybe(m, m.chance(0.1)), Upstream: text(m, "refs/remotes/origin/main"), Landed: maybe(m, m.chance(0.7)),
		Landing:   maybe(m, snapshot.Landing{By: pick(m, "", "squash", "patches", "tree"), Into: "refs/remotes/origin/main", Commits: pick(m, []string{}, []string{"1a2b3c"}, []string{"1a2b3c", "4d5e6f"})}),
		Elsewhere: maybe(m, m.chance(0.5)), Commits: maybe(m, pick(m, 0, 1, 3)), Unreachable: maybe(m, pick(m, 0, 0, 0, 2)), Dirty: maybe(m, pick(m, 0, 0, 0, 1)),
		Untracked: maybe(m, pick(m, 0, 0, 0, 4)), Ignored: maybe(m, pick(m, 0, 0, 0, 1)), Operation: maybe(m, pick(m, "", "", "", "rebase")),
		Nested: maybe(m, pick(m, []string{}, []string{}, []string{}, []string{"vendor/x"})),
	}
}

func (m *Maker) session(i int) snapshot.Session {
	s := snapshot.Session{
		Source: "tmux/default", ID: text(m, fmt.Sprintf("$%d", i)),
		Name:   text(m, pick(m, fmt.Sprintf("worker-%d", i), fmt.Sprintf("worker-%d", i), "scratch", fmt.Sprintf("mine-%d", i))),
		Server: maybe(m, snapshot.Server{Socket: "/tmp/tmux-1000/default", PID: 500, StartTicks: maybe(m, uint64(50))}), CreatedAt: m.ago(5000, 5000, 5000, 60),
		Attached: maybe(m, pick(m, 0, 0, 0, 1)), ProgramClients: maybe(m, pick(m, 0, 1)), EverAttached: maybe(m, m.chance(0.3)), UsedAt: m.ago(100, 3000, 4000), LastActivityAt: m.ago(4000), ClientActivityAt: m.ago(10, 7200),
		GroupSize: new(0), Error: new(""),
	}
	s.Popups = maybe(m, pick(m, []snapshot.PaneProc{}, []snapshot.PaneProc{}, []snapshot.PaneProc{}, []snapshot.PaneProc{{PID: 4, Name: "sh"}}))
	if m.chance(0.05) {
		s.Error = new("its name holds a tab")
	}
	if !m.has() {
		return s
	}
	for k := range pick(m, 1, 1, 2) {
		s.Panes = append(s.Panes, m.pane(i, k))
	}
	return s
}

func (m *Maker) pane(i, k int) snapshot.Pane {
	pid := 100000 + 2*i + k
	shell := snapshot.PaneProc{PID: pid, Name: pick(m, "zsh", "zsh", "bash", "bash", "zsh", "vim"), Interactive: maybe(m, !m.chance(0.1)), Rest: rest(pid)}
	p := snapshot.Pane{
		ID: fmt.Sprintf("%%%d", 2*i+k), ShellPID: maybe(m, pid), ShellStartTicks: maybe(m, uint64(pid)), ForegroundPGID: maybe(m, pid),
		Cwd: text(m, pick(m, "/w/acme", "/home/u")), TTY: text(m, "pts/1"), Dead: maybe(m, m.chance(0.1)),
		Descendants: []snapshot.PaneProc{}, Carriers: []snapshot.PaneProc{}, Linked: []string{}, Error: new(""),
	}
	if p.Dead != nil && *p.Dead {
		p.SessionPIDs, p.Session = []int{}, []snapshot.PaneProc{}
	}
	if m.has() {
		p.Foreground = []snapshot.PaneProc{shell}
	}
	if m.has() {
		p.SessionPIDs = []int{pid}
	}
	if m.has() {
		p.Session = []snapshot.PaneProc{shell}
	}
	if m.chance(0.1) {
		p.Descendants = []snapshot.PaneProc{{PID: 3, Name: "node"}}
	}
	return p
}

// rest is how the shell with that pid waits. It draws nothing, so that what else is made stays as it was.
func rest(pid int) *snapshot.Rest {
	switch pid % 20 {
	case 0:
		return nil
	case 1:
		return &snapshot.Rest{Seconds: 1}
	case 2:
		return &snapshot.Rest{Seconds: 1, Woke: new(true)}
	case 3:
		return &snapshot.Rest{Seconds: 1, Woke: new(false)}
	}
	return &snapshot.Rest{Seconds: 7000, Woke: new(pid%2 == 0)}
}

func (m *Maker) process(i int) snapshot.Process {
	markers := map[string]string{"CLAUDECODE": "1", "AGENT_SESSION": fmt.Sprintf("s-%d", i%50)}
	if m.chance(0.3) {
		markers["TMUX"] = "/tmp/tmux-1000/default,500,0"
	}
	name := pick(m, "node", "node", "node", "node", "vite", "git-credential", "claude")
	if name == "claude" { // of few sessions, so that most processes have outlived theirs
		markers["AGENT_SESSION"] = "s-0"
	}
	return snapshot.Process{
		PID: i + 10000, StartTicks: uint64(i + 1000000), StartedAt: m.ago(7200, 7200, 7200, 10), PPID: maybe(m, pick(m, 1, 1, 1, 2)),
		PGID: maybe(m, i), Session: maybe(m, i), TTY: maybe(m, pick(m, "", "", "", "pts/4")), State: text(m, "S"), Threads: maybe(m, 1),
		Name: name, Exe: maybe(m, "/usr/bin/node"), UID: maybe(m, pick(m, 1000, 1000, 1000, 0)),
		Cwd: maybe(m, pick(m, "/w/acme-review-00000003", "/home/u")), CwdDeleted: maybe(m, m.chance(0.2)), CPU: maybe(m, 1.25), RSS: maybe(m, int64(1<<20)), Written: maybe(m, int64(100)),
		Listening: maybe(m, pick(m, []int{}, []int{}, []int{5173})), UnixSockets: maybe(m, pick(m, []string{}, []string{}, []string{}, []string{"/run/s"})),
		Script: maybe(m, pick(m, "vite", "vite", "vite", "main.js")), Package: maybe(m, ""), Markers: maybe(m, markers), ArgvDigest: text(m, "d"),
		IgnoresHangup: maybe(m, m.chance(0.05)), StartedBy: maybe(m, pick(m, "", "", "", "", "", "", "nohup")), Connections: maybe(m, pick(m, 0, 0, 0, 0, 0, 1)), ConnectedTo: &[]int{},
		WritesFiles: maybe(m, pick(m, 0, 0, 1)), OutputAt: m.ago(7200, 7200, 7200, 10),
		InputEnded: maybe(m, m.chance(0.5)), OutputEnded: maybe(m, m.chance(0.5)), Waits: maybe(m, m.chance(0.7)), OutputRead: maybe(m, m.chance(0.1)), Peers: maybe(m, pick(m, []int{}, []int{}, []int{}, []int{i + 9999})),
	}
}

func (m *Maker) records(s *snapshot.Snapshot, n int) {
	for i := range n / 50 { // few: one of no known process and folder keeps every folder
		agent, pid := pick(m, "claude", "gemini"), pick(m, 9999, 9999, 10000+m.IntN(n))
		if agent == "gemini" {
			pid = 0
		}
		s.OpenSessions = append(s.OpenSessions, snapshot.OpenSession{
			Source: "agents/" + agent, Agent: agent, ID: text(m, fmt.Sprintf("o-%d", i)), PID: pid, WrittenAt: m.ago(60, 9000),
			Folder: fmt.Sprintf("/w/acme-review-%08x", 3*m.IntN(n)), AnyProcess: agent == "gemini",
		})
	}
	for i := range n / 5 {
		path := fmt.Sprintf("/w/acme-review-%08x", 3*i)
		sp := snapshot.Spawn{Source: "spawns/one", ID: text(m, fmt.Sprintf("sp-%d", i)), Kind: "review", Path: text(m, path), SpawnedAt: m.ago(9000)}
		if m.chance(0.7) {
			sp.CompletedAt = m.ago(8000, 8000, 10)
		}
		s.Spawns = append(s.Spawns, sp)
		s.Registry = append(s.Registry, snapshot.Entry{
			Source: "registry/one", ID: fmt.Sprintf("e-%d", i), Status: text(m, pick(m, "archived", "archived", "running")),
			Terminal: pick(m, nil, new(true)), Session: text(m, fmt.Sprintf("worker-%d", 3*i+1)), StartedAt: m.ago(9000), EndedAt: m.ago(4000, 9500),
			Retained: maybe(m, m.chance(0.1)),
		})
		if m.chance(0.25) {
			s.Holds = append(s.Holds, snapshot.Hold{ID: "dir:" + path, Owner: text(m, "me"), Reason: "later", Since: Now, Until: maybe(m, Now.Add(time.Hour))})
		}
	}
}
