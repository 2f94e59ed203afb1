package subject

import (
	"slices"
	"strconv"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// lineage is where a process comes from.
func (x *processes) lineage(i int) *Lineage {
	l := &Lineage{}
	x.fillLineage(l, i)
	return l
}

// fillLineage writes it over another one.
func (x *processes) fillLineage(l *Lineage, i int) {
	n := &x.nodes[i]
	p := n.p
	*l = Lineage{AgentDir: x.agentDir(p), Pane: x.pane(p), Added: x.added(n), Interpreter: n.interpreter, Family: n.family, Personal: x.personal(n)}
	x.fillMarkers(l, n)
	l.IsAgent = n.program().or(n.unidentified()).ifWhole(true)
	l.Unidentified, l.Sockets = &n.vague, x.config.open(p)
	l.Strangers = x.strangers(n)
	l.Seen, l.SeenGone = x.seen(i)
	l.SessionGone = x.sessionGone(n)
	x.fillServed(l, i)
	x.fillTies(l, i)
	starter, gone := x.starter(n)
	if starter == nil {
		starter = x.open(n)
	}
	l.StarterGone = gone
	if x.whole {
		count, one, cleared, veil := x.suspects(i)
		if count == 0 && starter != nil {
			count, one = 1, starter
		}
		if veil != nil {
			l.PossibleAgent = veil.ref()
		} else {
			l.Agents, l.Cleared, l.Copyless = &count, &cleared, x.copyless(i)
			if one != nil {
				l.Agent = one.ref()
			}
		}
	}
	l.AgentAncestor = x.above[i].agent.ifWhole(x.whole)
	l.MultiplexerAncestor = x.above[i].multiplexer.ifWhole(x.whole)
	b := x.summary(i)
	x.fillBelow(l, b)
	l.Below, l.Ancestors, l.Peers = x.belowOf(i), x.ancestors(i), x.peers(i)
	l.AgentNamedBelow = l.AgentBelow
	if b.vague && l.AgentBelow != nil && !*l.AgentBelow {
		l.AgentBelow = nil
	}
}

// maxAncestors is how many of the processes above one are listed.
const maxAncestors = 16

// ancestors are the processes above one that are of this user, up to the first that is not.
func (x *processes) ancestors(i int) *[]Ancestor {
	if x.uid == nil || x.nodes[i].lost {
		return nil
	}
	out := []Ancestor{}
	for up := x.nodes[i].parent; up >= 0 && len(out) < maxAncestors; up = x.nodes[up].parent {
		p := x.nodes[up].p
		if p.UID == nil || *p.UID != *x.uid {
			break
		}
		out = append(out, Ancestor{PID: p.PID, Name: p.Name, Exe: known(p.Exe)})
	}
	return &out
}

// ofTerminal is what lives below a terminal's process; nil where the terminal has no process, or another one has its number.
func (x *processes) ofTerminal(t *snapshot.Terminal) *Lineage {
	if t.PID == nil || t.StartTicks == nil {
		return nil
	}
	i, ok := x.byPID(*t.PID)
	if !ok || x.nodes[i].p.StartTicks != *t.StartTicks {
		return nil
	}
	l := &Lineage{}
	x.fillBelow(l, x.summary(i))
	return l
}

// PossibleAgent is the earliest process of this user that may be an agent and does not show it, and nil where there is no such process: all that
// is younger may have been started by it.
func (j *Index) PossibleAgent() *snapshot.PaneProc {
	if len(j.procs.hiddens) == 0 {
		return nil
	}
	return j.procs.nodes[j.procs.hiddens[0]].ref()
}

func (x *processes) fillBelow(l *Lineage, b *below) {
	whole := x.whole && b.known && !x.strays
	if whole {
		l.Descendants = &b.count
	}
	l.AgentBelow = b.agent.ifWhole(whole)
	l.UnidentifiedBelow = triIf(b.vague).ifWhole(whole)
	l.TTYBelow = b.tty.ifWhole(whole)
	l.ListenerBelow = b.listener.ifWhole(whole)
}

// fillMarkers says what the environment tells. Where it does not say which process the multiplexer's server is, whether that
// carries the same markers stays unknown.
func (x *processes) fillMarkers(l *Lineage, n *node) {
	if n.p.Markers == nil {
		return
	}
	l.Markers = &n.markers
	if n.markers == nil {
		l.Markers = &[]string{}
	}
	l.Identifying = new(x.identifying(n))
	l.Multiplexer = new(len(n.paneMarkers) > 0)
	if len(n.paneMarkers) == 0 {
		return
	}
	l.MultiplexerMarked = x.handed(n).ifWhole(true)
}

// leading has for each marker that names a pane the one that leads to its server.
var leading = map[string]string{snapshot.MarkerTmuxPane: snapshot.MarkerTmux, snapshot.MarkerHerdrPane: snapshot.MarkerHerdr}

// marked is whether the server that a multiplexer's marker names carries one of the process's own markers with its value.
func (x *processes) marked(name string, n *node) tri {
	server := x.server(name, n)
	if server == nil || server.p.Markers == nil {
		return unknown
	}
	for _, m := range n.markers {
		if carried(server, m) == carried(n, m) {
			return yes
		}
	}
	return no
}

func (x *processes) agentDir(p *snapshot.Process) string {
	if len(x.dirs) == 0 {
		return ""
	}
	for up := range upwards(clean(cwdOf(p))) {
		if x.dirs[up] {
			return up
		}
	}
	return ""
}

// pane goes by the session too: a pid stays reserved while it is the session of any process, so a process that outlived its
// shell's hang-up still names it.
func (x *processes) pane(p *snapshot.Process) *string {
	id, ok := x.panes[p.PID]
	switch {
	case ok:
	case p.Session == nil:
		return nil
	default:
		id = x.shells[*p.Session]
	}
	return &id
}

// strangers are the markers of a process that name a session which no record knows.
func (x *processes) strangers(n *node) *[]string {
	if n.p.Markers == nil {
		return nil
	}
	names := []string{}
	for _, m := range x.config.MarkerRecords {
		value := carried(n, m.Marker)
		if value != "" && !x.known[value] && !slices.Contains(names, m.Marker) {
			names = append(names, m.Marker)
		}
	}
	slices.Sort(names)
	return &names
}

// open is the agent that has a session open which one of the process's markers names, be it younger: it was resumed.
func (x *processes) open(n *node) *node {
	for _, name := range n.markers {
		if i, ok := x.sessions[carried(n, name)]; ok && &x.nodes[i] != n {
			return &x.nodes[i]
		}
	}
	return nil
}

// starter is the living process that a marker names as the agent that started this one, and whether all that are named are gone. A number
// counts in its own pid namespace only, and proves an end only where it is known to be that one. A process that is younger than
// the one that it should have started is a different process.
func (x *processes) starter(n *node) (*node, *bool) {
	ours := unknown
	if space := x.snap.Host.PIDNamespace; n.p.PIDNamespace != nil && space != nil {
		ours = triIf(*n.p.PIDNamespace == *space)
	}
	var gone *bool
	for _, name := range x.config.PIDMarkers {
		value := carried(n, name)
		if value == "" {
			continue
		}
		pid, err := strconv.Atoi(value)
		if err != nil || pid <= 0 || ours == no {
			return nil, nil
		}
		if i, ok := x.byPID(pid); ok && !Dead(x.nodes[i].p) && x.nodes[i].p.StartTicks <= n.p.StartTicks && n.p.PID != pid {
			return &x.nodes[i], new(false)
		}
		if ours == unknown || !x.whole {
			return nil, nil
		}
		gone = new(true)
	}
	return nil, gone
}
