package subject

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// commLen is the longest name that the kernel keeps of a process (TASK_COMM_LEN without its NUL): a longer one in the
// configuration is compared by its beginning.
const commLen = 15

// processes is what is known of all processes together. Slices are indexed by a process's node. There may be very many, most of which nothing is ever
// asked of: what is kept of each is small, and lists are sorted where a map would take up more.
type processes struct {
	whole  bool // the process table was read whole, so that what is not in it is not there
	strays bool // some process does not show its parent, so it may be below any other
	config *Config
	// nodes are in the order of pids, and of starts where processes have the same; pids are theirs.
	nodes []node
	pids  []int
	// twins are the nodes of those that have a pid in common.
	twins  map[*snapshot.Process]int
	sums   []below // see node.sum
	above  []above
	kids   kids
	agents agents
	// ancestries are what earlier looks saw of this boot's processes, by pid, ended what records say of sessions, by their ids.
	ancestries map[int]snapshot.Ancestry
	ended      ended
	snap       *snapshot.Snapshot
	// holds are those on candidates, by their ids.
	holds  map[string]*Hold
	opaque map[string]bool
	// uid is whose processes are looked at, and orphanParents are the pids of those that take in orphans.
	uid           *int
	orphanParents []int
	// sessions has the agent of each session that is open, by the session's id.
	sessions map[string]int
	known    map[string]bool // the marker values that some record names
	hiddens  []int           // the processes of this user that may be an agent and do not show it, in the order of their start
	panes    map[int]string  // pane ids by the pid of every process of the pane's session
	shells   map[int]string  // pane ids by the pid of the shell that leads the session
	dirs     map[string]bool
	// herdr has the servers that listen on a socket, by its path.
	herdr map[string]*snapshot.Server
}

// node is a process in the tree.
type node struct {
	p *snapshot.Process
	*traits
	parent int32 // a node, or -1 at a top and where the parent is not known
	sum    int32 // the place in processes.sums of what is below it
	lost   bool  // it has a parent that is not known
	// Alive, and by name an agent, a vendor's daemon for its agents, a multiplexer's server. An agent is at work: a daemon without child
	// processes does not count as an agent.
	agent, daemon, multiplexer bool
	// maybe is true for what may be an agent and does not show it: what it was started from, or what an interpreter runs, is not known.
	maybe bool
	// vague is one that may be an agent that is not recognised, starter one that may have started others.
	vague, starter bool
	tty, listens   tri
}

// traits are what most processes have nothing of: these have the same ones.
type traits struct {
	// sessions are those that it has open, by its own record; vendor is whose program it is where it is an agent, "" where that is not
	// known: by these records where there are some, else by what its program is called.
	sessions []string
	vendor   string
	// recordedAt is when the last of its records was written; nil where that is not known.
	recordedAt *time.Time
	// The interpreter that it runs in and what it positively is, by name.
	interpreter, family string
	// The names of its markers: those that say who started it, and those that multiplexers set.
	markers, paneMarkers []string
}

func (t *traits) isEmpty() bool {
	return t.sessions == nil && t.vendor == "" && t.recordedAt == nil && t.interpreter == "" && t.family == "" && t.markers == nil && t.paneMarkers == nil
}

func indexProcesses(s *snapshot.Snapshot, c *Config, r records) processes {
	x := processes{
		whole: s.Sources[snapshot.Proc].Status == snapshot.OK, config: c,
		dirs: agentDirs(s, r), herdr: map[string]*snapshot.Server{},
		opaque: comms(c.OpaqueProcesses), uid: s.Host.UID, orphanParents: s.Host.OrphanParents, known: recorded(s.Registry), sessions: map[string]int{},
		ancestries: ancestriesOf(s), snap: s,
	}
	for name, src := range s.Sources {
		if src.Server != nil && src.Server.PID > 0 && !src.HasKind(name, "tmux") {
			x.herdr[clean(src.Server.Socket)] = src.Server
		}
	}
	agents, multiplexerNames := newRecognised(c), comms(c.Multiplexers)
	vendors := keepersOf(c.vendors())
	open := make(openByPID, len(s.OpenSessions))
	for _, o := range s.OpenSessions {
		open[o.PID] = append(open[o.PID], o)
	}
	x.sort()
	plain := &traits{}
	for i := range x.nodes {
		n, p, t := &x.nodes[i], x.nodes[i].p, traits{}
		if !Dead(p) {
			n.agent, n.multiplexer = agents.agent(p), hasName(p, multiplexerNames)
			n.daemon = p.Daemon != nil && *p.Daemon != ""
			t.sessions, t.vendor, t.recordedAt = open.sessionsOf(p, s.Host.UID)
			if n.agent && len(t.sessions) == 0 {
				if names := namesOf(vendors, p); len(names) == 1 {
					t.vendor = names[0]
				}
			}
			n.agent = n.agent || len(t.sessions) > 0
			n.maybe = agents.maybe(p)
		}
		t.family = known(p.Proven)
		if t.interpreter = c.interpreter(p); t.interpreter != "" {
			t.family = c.family(p)
			n.maybe = n.maybe && (p.Exe == nil || t.family == "")
		}
		n.tty, n.listens = unknown, c.listening(p)
		if p.TTY != nil {
			n.tty = triIf(*p.TTY != "")
		}
		t.markers, t.paneMarkers = x.split(p.Markers)
		for _, session := range t.sessions {
			if session != "" {
				x.sessions[session] = i
			}
		}
		if n.traits = plain; !t.isEmpty() {
			n.traits = new(t)
		}
	}
	x.link()
	x.settleDaemons()
	x.above = x.lookAbove()
	x.hiddens = x.hide()
	x.ended = x.endedSessions(s.OpenSessions)
	x.sumBelow()
	x.agents = indexAgents(x.nodes, c, x.starts)
	x.panes, x.shells = indexPanes(s)
	return x
}

// sort makes a node of every process.
func (x *processes) sort() {
	type numbered struct {
		pid int
		p   *snapshot.Process
	}
	list := make([]numbered, 0, len(x.snap.Processes))
	for _, p := range x.snap.Processes {
		list = append(list, numbered{p.PID, p})
	}
	slices.SortFunc(list, func(a, b numbered) int {
		if a.pid != b.pid {
			return cmp.Compare(a.pid, b.pid)
		}
		return cmp.Compare(a.p.StartTicks, b.p.StartTicks)
	})
	x.nodes, x.pids = make([]node, len(list)), make([]int, len(list))
	for i, one := range list {
		x.nodes[i], x.pids[i] = node{p: one.p, parent: -1}, one.pid
		if i > 0 && one.pid == list[i-1].pid {
			if x.twins == nil {
				x.twins = map[*snapshot.Process]int{}
			}
			x.twins[list[i-1].p], x.twins[one.p] = i-1, i
		}
	}
}

// byID is the node of a process by its id as a candidate.
func (x *processes) byID(id string) (int, bool) {
	p, ok := x.snap.Processes[id]
	if !ok {
		return 0, false
	}
	if i, ok := x.twins[p]; ok {
		return i, true
	}
	return slices.BinarySearch(x.pids, p.PID)
}

// byPID is the node of a pid: of several processes that had it that of the youngest.
func (x *processes) byPID(pid int) (int, bool) {
	next, _ := slices.BinarySearchFunc(x.pids, pid, func(have, pid int) int {
		if have <= pid {
			return -1
		}
		return 1
	})
	return next - 1, next > 0 && x.pids[next-1] == pid
}

// kids are the children of all processes, by their nodes: those of one are between two places.
type kids struct{ from, nodes []int32 }

func (k kids) children(i int) []int32 { return k.nodes[k.from[i]:k.from[i+1]] }

// link finds the parent of every process. One that is younger than its child is another process under a reused pid. One that is not in
// the table ended while it was read; its children are handed to the process that inherits orphans.
func (x *processes) link() {
	for i := range x.nodes {
		n := &x.nodes[i]
		switch {
		case n.p.PPID == nil:
			n.lost, x.strays = true, true
		case *n.p.PPID > 0:
			parent, ok := x.byPID(*n.p.PPID)
			if n.lost = !ok || x.nodes[parent].p.StartTicks > n.p.StartTicks; !n.lost {
				n.parent = int32(parent)
			}
		}
	}
	x.kids.from = make([]int32, len(x.nodes)+1)
	for i := range x.nodes {
		if up := x.nodes[i].parent; up >= 0 {
			x.kids.from[up+1]++
		}
	}
	for i := range x.nodes {
		x.kids.from[i+1] += x.kids.from[i]
	}
	x.kids.nodes = make([]int32, x.kids.from[len(x.nodes)])
	next := slices.Clone(x.kids.from)
	for i := range x.nodes {
		if up := x.nodes[i].parent; up >= 0 {
			x.kids.nodes[next[up]] = int32(i)
			next[up]++
		}
	}
}

// hide finds the living processes of this user that may be an agent and do not show it, in the order of their start, what was itself left
// behind left out.
func (x *processes) hide() []int {
	var all []int
	for i := range x.nodes {
		n := &x.nodes[i]
		if x.hides(n) && (n.p.Exe == nil || !x.stray(i)) {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, func(a, b int) int { return cmp.Compare(x.nodes[a].p.StartTicks, x.nodes[b].p.StartTicks) })
	return all
}

// hides reports whether a living process of this user may be an agent and does not show it. Those that are known to hide it for a reason
// of their own (config.opaque_processes) do not count, nor do process 1, kernel threads and multiplexers.
func (x *processes) hides(n *node) bool {
	if n.agent || n.daemon || n.multiplexer || !n.maybe || n.p.IsKernel() || Dead(n.p) || listed(n.p.Name, x.opaque) || n.p.PID == 1 {
		return false
	}
	return x.uid == nil || n.p.UID == nil || *n.p.UID == *x.uid
}

// split sorts the names of a process's markers into those that say who started it and those that multiplexers set.
func (x *processes) split(markers *map[string]string) (agent, multiplexer []string) {
	if markers == nil {
		return nil, nil
	}
	for name, value := range *markers {
		if x.ofPane(name) {
			multiplexer = append(multiplexer, name)
		} else if value != "" {
			agent = append(agent, name)
		}
	}
	slices.Sort(agent)
	slices.Sort(multiplexer)
	return agent, multiplexer
}

// ofPane reports whether a marker says where a process was. Those that Winnow reads for itself do, also where the configuration was
// written before they were read.
func (x *processes) ofPane(marker string) bool {
	return slices.Contains(x.config.PaneMarkers, marker) || slices.Contains(snapshot.PaneMarkers, marker)
}

// owner is whom a cap counts the process under: the agent's session or thread that a marker names, the pid that a marker names, the last
// agent that it was seen below, or the folder. A flag names no agent.
func (x *processes) owner(p *snapshot.Process, l *Lineage) string {
	if p.Markers != nil && l.Identifying != nil {
		for _, kind := range []string{MarkerSession, MarkerPID} {
			for _, name := range append(slices.Clone(x.config.IDMarkers), *l.Identifying...) {
				if value := (*p.Markers)[name]; value != "" && !x.ofPane(name) && x.config.Marker(name).Value == kind {
					return value
				}
			}
		}
	}
	if len(l.Seen) > 0 {
		return strconv.Itoa(l.Seen[0].PID)
	}
	return l.AgentDir
}

// server is the multiplexer that a process's marker names, nil where it is not known; other markers do not name one. It is known only while
// it is no younger than the one that carries the marker.
func (x *processes) server(marker string, n *node) *node {
	at, named := -1, false
	switch value := (*n.p.Markers)[marker]; marker {
	case snapshot.MarkerTmux: // socket,pid,session: a process with that pid and a multiplexer's name
		if parts := strings.Split(value, ","); len(parts) >= 3 {
			if pid, err := strconv.Atoi(parts[len(parts)-2]); err == nil {
				at, named = x.byPID(pid)
				named = named && x.nodes[at].multiplexer
			}
		}
	case snapshot.MarkerHerdr: // the process that listens on that socket
		if server := x.herdr[clean(value)]; server != nil && server.StartTicks != nil {
			at, named = x.byPID(server.PID)
			named = named && x.nodes[at].p.StartTicks == *server.StartTicks
		}
	}
	if !named || x.nodes[at].p.StartTicks > n.p.StartTicks {
		return nil
	}
	return &x.nodes[at]
}

// Dead is true for a process that has ended and was not waited for yet. With a second thread it is alive: its leader has ended.
func Dead(p *snapshot.Process) bool {
	return p.State == "X" || p.State == "Z" && p.Threads != nil && *p.Threads <= 1
}

func comms(names []string) map[string]bool {
	out := make(map[string]bool, len(names))
	for _, n := range names {
		out[n[:min(len(n), commLen)]] = true
	}
	return out
}

// hasName reports whether a process has one of the names. A program may rename itself, so what it was started from counts too: the
// file's name, and where a program keeps its versions side by side (claude/versions/2.1.201, cursor-agent/versions/2026.07.01/node)
// the folder's above them.
func hasName(p *snapshot.Process, names map[string]bool) bool {
	if listed(p.Name, names) {
		return true
	}
	if p.Exe == nil {
		return false
	}
	file := strings.TrimSuffix(*p.Exe, deleted)
	return listed(path.Base(file), names) || versioned(path.Dir(file), names) || versioned(path.Dir(path.Dir(file)), names)
}

func versioned(folder string, names map[string]bool) bool {
	return path.Base(folder) == "versions" && listed(path.Base(path.Dir(folder)), names)
}

func listed(name string, names map[string]bool) bool { return names[name[:min(len(name), commLen)]] }

// listening is whether a process listens on a port, or on a unix socket to which others come.
func (c *Config) listening(p *snapshot.Process) tri {
	ports, sockets := unknown, unknown
	if p.Listening != nil {
		ports = triIf(len(*p.Listening) > 0)
	}
	if open := c.open(p); open != nil {
		sockets = triIf(len(*open) > 0)
	}
	return ports.or(sockets)
}

// recorded are the values of markers that registries name.
func recorded(entries []snapshot.Entry) map[string]bool {
	values := map[string]bool{}
	for _, e := range entries {
		values[e.Marker] = true
	}
	return values
}

// indexPanes leads from a pid to its pane. The shell of a dead pane has ended, and another process may have its pid.
func indexPanes(s *snapshot.Snapshot) (members, shells map[int]string) {
	members, shells = map[int]string{}, map[int]string{}
	s.EachPanes(func(panes []snapshot.Pane) {
		for _, p := range panes {
			if p.Dead != nil && *p.Dead {
				continue
			}
			if p.ShellPID != nil {
				shells[*p.ShellPID] = p.ID
			}
			for _, pid := range p.SessionPIDs {
				members[pid] = p.ID
			}
		}
	})
	return members, shells
}

// agentDirs are the folders that agents are known to work in: linked worktrees, and what spawns and entries name. The root
// folder and home do not count: everything lies in them.
func agentDirs(s *snapshot.Snapshot, r records) map[string]bool {
	dirs := make(map[string]bool, len(r.at))
	for p := range r.at {
		dirs[p] = true
	}
	for _, d := range s.Dirs {
		if d.Git != nil && d.Git.Worktree != nil && *d.Git.Worktree {
			dirs[clean(d.Path)] = true
		}
	}
	for _, none := range []string{"/", "", clean(s.Host.Home)} {
		delete(dirs, none)
	}
	return dirs
}
