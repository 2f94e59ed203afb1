package subject

import "winnow/engine/snapshot"

// lineage is where a process comes from.
func (x *processes) lineage(id string, p *snapshot.Process) *Lineage {
	i := x.byID[id]
	n := &x.nodes[i]
	l := &Lineage{AgentDir: x.agentDir(p), Pane: x.pane(p)}
	x.fillMarkers(l, n)
	if is := n.agent || n.daemon; is || p.Exe != nil && !n.unclear {
		l.IsAgent = &is
	}
	if x.whole && !x.veiled(n) {
		count, one := x.agents.starters(i)
		l.Agents = &count
		if one != nil {
			l.Agent = one.ref()
		}
	}
	l.AgentAncestor = x.above[i].agent.under(x.whole)
	l.MultiplexerAncestor = x.above[i].multiplexer.under(x.whole)
	x.fillBelow(l, x.below[i])
	return l
}

// ofTerminal is what lives below a terminal's process; nil where the terminal has none, or another one.
func (x *processes) ofTerminal(t *snapshot.Terminal) *Lineage {
	if t.PID == nil || t.StartTicks == nil {
		return nil
	}
	i, ok := x.byPID[*t.PID]
	if !ok || x.nodes[i].p.StartTicks != *t.StartTicks {
		return nil
	}
	l := &Lineage{}
	x.fillBelow(l, x.below[i])
	return l
}

// veiled reports whether a process may have been started by one that hides what it was itself started from, and so may be an agent.
func (x *processes) veiled(n *node) bool {
	return x.hidden != nil && (x.hidden != n && x.hidden.p.StartTicks <= n.p.StartTicks)
}

func (x *processes) fillBelow(l *Lineage, b below) {
	whole := x.whole && b.known && !x.strays
	if whole {
		l.Descendants = &b.count
	}
	l.AgentBelow = b.agent.under(whole)
	l.TTYBelow = b.tty.under(whole)
	l.ListenerBelow = b.listener.under(whole)
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
	l.Multiplexer = new(len(n.paneMarkers) > 0)
	if len(n.paneMarkers) == 0 {
		return
	}
	marked := no
	for _, name := range n.paneMarkers {
		marked = marked.or(x.marked(name, n))
	}
	l.MultiplexerMarked = marked.under(true)
}

// marked is whether the server that a multiplexer's marker names carries one of the process's own markers with its value.
func (x *processes) marked(name string, n *node) tri {
	server, ok := x.server(name, n)
	if !ok || server.p.Markers == nil {
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
		if _, ok := x.dirs[up]; ok {
			return up
		}
	}
	return ""
}

// pane goes by the session too: a pid stays reserved while it is the session of any process, so a process that outlived its
// shell's hang-up still names it.
func (x *processes) pane(p *snapshot.Process) string {
	if id, ok := x.panes[p.PID]; ok {
		return id
	}
	if p.Session == nil {
		return ""
	}
	return x.shells[*p.Session]
}
