package subject

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// checkedAlone is how many agents are asked one by one whether they may have started a process. Where there are more, all of them may have.
const checkedAlone = 1024

// identifying are the names of a process's markers whose value is a session or a pid.
func (x *processes) identifying(n *node) []string {
	return filter(n.markers, func(m string) bool { return x.config.Marker(m).Value != MarkerFlag })
}

// filter are the texts that are kept; never nil.
func filter(all []string, keep func(string) bool) []string {
	out := []string{}
	for _, text := range all {
		if keep(text) {
			out = append(out, text)
		}
	}
	return out
}

// markersAreOwn is whether a process was positively not handed its markers by a multiplexer: it comes out of none, or out of one that does not
// carry them itself.
func (x *processes) markersAreOwn(n *node) bool {
	if n.p.Markers == nil {
		return false
	}
	return len(n.paneMarkers) == 0 || x.handed(n) == no
}

// handed is whether the multiplexer that a process comes out of carries its markers itself.
func (x *processes) handed(n *node) tri {
	marked := no
	for _, name := range n.paneMarkers {
		if leads, ok := leading[name]; ok && slices.Contains(n.paneMarkers, leads) {
			continue // the other one leads to the server
		}
		marked = marked.or(x.marked(name, n))
	}
	return marked
}

// seen are the agents that looks have seen a process below, and whether all of them have ended.
func (x *processes) seen(i int) ([]Seen, *bool) {
	n := &x.nodes[i]
	var out []Seen
	d, remembered := x.ancestries[n.p.PID]
	remembered = remembered && d.StartTicks == n.p.StartTicks
	for _, a := range x.agentsAbove(i) {
		out = append(out, Seen{PID: a.PID, StartTicks: a.StartTicks, Name: a.Name, Gone: new(false)})
	}
	if remembered {
		ago := max(0, x.snap.TakenAt.Sub(d.LastAt).Seconds())
		for _, a := range d.Agents {
			if !slices.ContainsFunc(out, func(s Seen) bool { return s.PID == a.PID && s.StartTicks == a.StartTicks }) {
				out = append(out, Seen{PID: a.PID, StartTicks: a.StartTicks, Name: a.Name, Gone: x.gone(a.PID, a.StartTicks), Ago: ago})
			}
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	all := yes
	for _, s := range out {
		all = min(all, triOf(s.Gone))
	}
	return out, all.ifWhole(true)
}

// incomplete is true for an agent whose process is not known.
func incomplete(a snapshot.AncestryAgent) bool { return a.PID <= 0 || a.StartTicks == 0 }

// gone is whether the process that had a number and a start has ended; nil where not all processes could be read.
func (x *processes) gone(pid int, ticks uint64) *bool {
	if k, ok := x.byPID(pid); ok && x.nodes[k].p.StartTicks == ticks && !Dead(x.nodes[k].p) {
		return new(false)
	}
	if !x.whole || pid <= 0 || ticks == 0 {
		return nil
	}
	return new(true)
}

// agentsAbove are the living agents above a process, nearest first, in an unbroken line of parents.
func (x *processes) agentsAbove(i int) []snapshot.AncestryAgent {
	var out []snapshot.AncestryAgent
	if !x.above[i].below {
		return nil
	}
	for up, steps := x.nodes[i].parent, 0; up >= 0 && steps < len(x.nodes) && len(out) < maxAncestors; up, steps = x.nodes[up].parent, steps+1 {
		if n := &x.nodes[up]; n.agent {
			out = append(out, snapshot.AncestryAgent{PID: n.p.PID, StartTicks: n.p.StartTicks, Name: n.p.Name})
		}
	}
	return out
}

// maxAncestries is how many processes below agents are remembered: the youngest are left out where there are more.
const maxAncestries = 20000

// Ancestries is what is to be remembered of which processes are below agents, after what earlier looks knew. One that has ended is forgotten; of
// one that was handed over since, what was seen stays. Where the processes could not be read whole, all that was known is kept. It is a pure
// function.
func Ancestries(s *snapshot.Snapshot, c *Config, before []snapshot.Ancestry) []snapshot.Ancestry {
	if s.Host.BootID == "" {
		return before
	}
	x := indexProcesses(s, c.withLists(), indexRecords(s))
	known := make(map[int]snapshot.Ancestry, len(before))
	for _, d := range before {
		known[d.PID] = d
	}
	out := []snapshot.Ancestry{}
	for i := range x.nodes {
		p := x.nodes[i].p
		if Dead(p) || p.UID == nil || x.uid == nil || *p.UID != *x.uid {
			continue
		}
		old, remembered := known[p.PID]
		remembered = remembered && old.BootID == s.Host.BootID && old.StartTicks == p.StartTicks
		now := x.agentsAbove(i)
		switch {
		case len(now) > 0:
			d := snapshot.Ancestry{BootID: s.Host.BootID, PID: p.PID, StartTicks: p.StartTicks, Agents: now, LastAt: s.TakenAt}
			if remembered {
				for _, a := range old.Agents {
					if !slices.Contains(d.Agents, a) && len(d.Agents) < 2*maxAncestors {
						d.Agents = append(d.Agents, a)
					}
				}
			}
			out = append(out, d)
		case remembered:
			out = append(out, old)
		}
	}
	if !x.whole { // one that is missing may be there
		for _, d := range before {
			if _, ok := x.byPID(d.PID); !ok && d.BootID == s.Host.BootID {
				out = append(out, d)
			}
		}
	}
	slices.SortFunc(out, func(a, b snapshot.Ancestry) int {
		return cmp.Or(cmp.Compare(a.StartTicks, b.StartTicks), cmp.Compare(a.PID, b.PID))
	})
	return out[:min(len(out), maxAncestries)]
}

// ancestriesOf are the ancestries of this boot by pid.
func ancestriesOf(s *snapshot.Snapshot) map[int]snapshot.Ancestry {
	out := make(map[int]snapshot.Ancestry, len(s.Ancestries))
	for _, d := range s.Ancestries {
		if d.BootID != "" && d.BootID == s.Host.BootID {
			out[d.PID] = d
		}
	}
	return out
}

// ended is what agents' own records say of sessions, by their ids.
type ended map[string]lastOpen

// lastOpen is whether the process that had a session open has ended, when that process started, and since when it had the session; nil where
// that is not known.
type lastOpen struct {
	gone  tri
	ticks *uint64
	since *time.Time
}

func (x *processes) endedSessions(all []snapshot.OpenSession) ended {
	out := ended{}
	for _, s := range all {
		if s.ID == "" || s.AnyProcess {
			continue
		}
		o := lastOpen{gone: unknown, ticks: s.StartTicks}
		switch k, there := x.byPID(s.PID); {
		case !x.whole:
		case s.Ended != nil && *s.Ended:
			o.gone, o.since = yes, s.WrittenAt
		case s.PID <= 0: // it lives, or may
		case !there || Dead(x.nodes[k].p):
			o.gone = yes
		case s.StartTicks != nil:
			o.gone = triIf(x.nodes[k].p.StartTicks != *s.StartTicks)
		}
		if old, twice := out[s.ID]; !twice || o.gone < old.gone { // one that lives wins, and then one that may
			out[s.ID] = o
		}
	}
	return out
}

// endedBefore reports whether the process that had a session open has ended, and is older than another one, or had it before that, so that it may have started
// that.
func (o lastOpen) endedBefore(n *node) bool {
	if o.gone != yes {
		return false
	}
	return o.ticks != nil && *o.ticks <= n.p.StartTicks || o.since != nil && n.p.StartedAt != nil && o.since.Add(written).Before(*n.p.StartedAt)
}

// sessionGone is whether all sessions that a process's markers name and that a record knows have ended.
func (x *processes) sessionGone(n *node) *bool {
	var gone *bool
	for _, name := range n.markers {
		if x.config.Marker(name).Value != MarkerSession {
			continue
		}
		state, recorded := x.ended[carried(n, name)]
		switch {
		case !recorded:
		case state.endedBefore(n):
			gone = new(true)
		case state.gone == no:
			return new(false)
		default:
			return nil
		}
	}
	return gone
}

// vendors are the agents whose programs are known, and those whose markers are, by their names.
func (c *Config) vendors() []SessionAgent {
	all := slices.Clone(c.Vendors)
	for _, m := range c.Markers {
		if m.Agent != "" {
			all = append(all, SessionAgent{Name: m.Agent, Programs: []string{m.Agent}})
		}
	}
	return all
}

// notStartedBy reports whether an agent, although it is old enough, positively did not start a process. What it rests on: the line of agents that
// looks have seen above it, what the environments of both say, or the pane that the process comes out of.
func (x *processes) notStartedBy(i, k int) bool {
	n, a := &x.nodes[i], &x.nodes[k]
	if d, ok := x.ancestries[n.p.PID]; ok && d.StartTicks == n.p.StartTicks && len(d.Agents) > 0 {
		return !slices.ContainsFunc(d.Agents, incomplete) && !slices.ContainsFunc(d.Agents, func(s snapshot.AncestryAgent) bool { return s.PID == a.p.PID && s.StartTicks == a.p.StartTicks })
	}
	return x.otherMarkers(n, a) || x.otherPane(n, a)
}

// otherMarkers reports whether each identifying marker of a process was set by another agent: this one does not carry it with that value, so it
// did not hand it down, and would itself have set another value. A pid speaks for the session that an agent of the same vendor sets beside it. A
// session changes within one process, so an agent of the same vendor may have had that one before, unless its record of the present one is older than the
// process, or the record of the other session names an older process that has ended. Identifying markers that the agent itself carries were compared before.
func (x *processes) otherMarkers(n, a *node) bool {
	if a.p.Markers == nil || !x.markersAreOwn(n) {
		return false
	}
	var named []string // the vendors of pids
	for _, name := range n.markers {
		m, value := x.config.Marker(name), carried(n, name)
		switch {
		case m.Value == MarkerFlag:
		case carried(a, name) == value:
			return false
		case m.Value == MarkerPID:
			if value == strconv.Itoa(a.p.PID) {
				return false
			}
			named = append(named, m.Agent)
		}
	}
	told := len(named) > 0
	for _, name := range n.markers {
		m, value := x.config.Marker(name), carried(n, name)
		if m.Value != MarkerSession || slices.Contains(x.config.IDMarkers, name) {
			continue
		}
		switch {
		case m.Agent != "" && slices.Contains(named, m.Agent):
		case slices.Contains(a.sessions, value):
			return false
		case x.ended[value].endedBefore(n) && len(a.sessions) > 0:
		case a.recordedBefore(n):
		default:
			if a.vendor == "" || m.Agent == "" || a.vendor == m.Agent {
				return false
			}
		}
		told = true
	}
	return told
}

// recordedBefore reports whether an agent wrote down its present session before another process began, so that it had that one then.
func (n *node) recordedBefore(p *node) bool {
	return n.recordedAt != nil && p.p.StartedAt != nil && n.recordedAt.Add(written).Before(*p.p.StartedAt)
}

// otherPane reports whether a process got its markers in a pane, or in a session of the kernel's, that an agent is not in and that it did not
// begin. A process leaves its session only for one of its own.
func (x *processes) otherPane(n, a *node) bool {
	added := x.added(n)
	if added == nil || len(*added) == 0 || a.p.Session == nil || *a.p.Session == *n.p.Session {
		return false
	}
	leader, ok := x.byPID(*n.p.Session)
	if !ok || *a.p.Session == a.p.PID && a.p.StartTicks >= x.nodes[leader].p.StartTicks {
		return false // it may have been in that session before it began its own
	}
	for steps := 0; leader >= 0 && steps < len(x.nodes); steps++ {
		l := &x.nodes[leader]
		switch {
		case l == a || slices.Contains(x.orphanParents, l.p.PID):
			return false
		case l.p.StartTicks < a.p.StartTicks:
			return true // the agent began neither it nor what it stands above
		}
		leader = int(l.parent)
	}
	return false
}

// telling reports whether anything is known of a process that may clear an agent: looks saw it below agents, or it carries markers that were not
// handed down.
func (x *processes) telling(n *node) bool {
	if d, ok := x.ancestries[n.p.PID]; ok && d.StartTicks == n.p.StartTicks {
		return true
	}
	if len(n.markers) == 0 {
		return false
	}
	if added := x.added(n); added != nil && len(*added) > 0 {
		return true
	}
	for _, name := range n.markers {
		if x.config.Marker(name).Value != MarkerFlag && !slices.Contains(x.config.IDMarkers, name) {
			return x.markersAreOwn(n)
		}
	}
	return false
}

// suspects are the agents that may have started a process or taken it over, and how many others are as old and did not. veil is one
// that hides itself and may have.
func (x *processes) suspects(i int) (count int, one *node, cleared int, veil *node) {
	n := &x.nodes[i]
	all, most := x.agents.starters(i), 0
	count, one = all.count, all.one
	telling := x.telling(n)
	if telling && count > 0 && count <= checkedAlone {
		count, one = 0, nil
		for k := range all.each {
			if most++; most > 2*checkedAlone || !x.notStartedBy(i, k) {
				count++
				one = cmp.Or(one, &x.nodes[k])
			} else {
				cleared++
			}
		}
	}
	for checked, k := range x.hiddens {
		if h := &x.nodes[k]; h != n && h.p.StartTicks <= n.p.StartTicks && (!telling || checked > checkedAlone || !x.notStartedBy(i, k)) {
			return count, one, cleared, h
		}
	}
	return count, one, cleared, nil
}

// copyless counts those of the agents that may have started an MCP server and have no living copy of it below themselves; nil where
// that is not known, and for everything else.
func (x *processes) copyless(i int) *int {
	n := &x.nodes[i]
	if n.family != "mcp-server" || n.p.ArgvDigest == "" || !x.whole || x.strays {
		return nil
	}
	all := x.agents.starters(i)
	if all.count > checkedAlone {
		return nil
	}
	count := 0
	for k := range all.each {
		if !x.notStartedBy(i, k) && !x.hasCopy(i, k) {
			count++
		}
	}
	return &count
}

// hasCopy reports whether a living copy of a program is below an agent.
func (x *processes) hasCopy(i, k int) bool {
	n := &x.nodes[i]
	return slices.ContainsFunc(x.descendants(k), func(c *node) bool {
		return c != n && c.family == n.family && c.p.ArgvDigest == n.p.ArgvDigest && known(c.p.Script) == known(n.p.Script) && known(c.p.Package) == known(n.p.Package)
	})
}

// silent reports whether a process positively listens nowhere, not even on a unix socket that it made for itself alone.
func (n *node) silent() bool {
	return n.p.Listening != nil && len(*n.p.Listening) == 0 && n.p.UnixSockets != nil && len(*n.p.UnixSockets) == 0
}

// fillServed says where a process and all below it listen, and how many connections are open there.
func (x *processes) fillServed(l *Lineage, i int) {
	if !x.whole || x.strays || !x.summary(i).known || x.summary(i).count > maxBelow {
		return
	}
	ports, sockets, clients := &[]int{}, &[]string{}, new(0)
	if x.nodes[i].listens.or(x.summary(i).listener) == no {
		l.Ports, l.TreeSockets, l.Clients = ports, sockets, clients
		return
	}
	for _, n := range append(x.descendants(i), &x.nodes[i]) {
		if n.p.Listening == nil {
			ports, clients = nil, nil
		} else if ports != nil {
			*ports = append(*ports, *n.p.Listening...)
		}
		if open := x.config.open(n.p); open == nil {
			sockets = nil
		} else if sockets != nil {
			*sockets = append(*sockets, *open...)
		}
		switch {
		case clients == nil || n.silent():
		case n.p.Clients == nil:
			clients = nil
		default:
			*clients += *n.p.Clients
		}
	}
	if ports != nil {
		slices.Sort(*ports)
		*ports = slices.Compact(*ports)
	}
	l.Ports, l.TreeSockets, l.Clients = ports, sockets, clients
}

// work sums up what the processes below one have done, or one and all below it.
type work struct {
	cpu      float64
	written  int64
	youngest uint64
	running  bool
	// Something of it is not known.
	noCPU, noWritten, noState bool
}

// add counts a process and what is below it. One that has ended and was not waited for yet cannot write, and its counters may be missing.
func (w *work) add(n *node, below *work) {
	p := n.p
	w.cpu, w.written = w.cpu+below.cpu, w.written+below.written
	w.youngest = max(w.youngest, below.youngest, p.StartTicks)
	w.running = w.running || below.running || p.State == "R" || p.State == "D"
	w.noCPU = w.noCPU || below.noCPU || p.CPU == nil
	w.noWritten = w.noWritten || below.noWritten || p.Written == nil && !Dead(p)
	w.noState = w.noState || below.noState || p.State == ""
	if p.CPU != nil {
		w.cpu += *p.CPU
	}
	if p.Written != nil {
		w.written += *p.Written
	}
}

// Work is the measure of what a process and all below it have done so far, with what is known of it; nil for all other candidates, and
// where it is not known what is below it.
func (j *Index) Work(id string) *snapshot.Work {
	measure, _ := j.procs.work(id)
	return measure
}

// work is the measure with the sum that it comes from.
func (x *processes) work(id string) (*snapshot.Work, work) {
	i, ok := x.byID(id)
	if !ok || !x.whole || x.strays || !x.summary(i).known {
		return nil, work{}
	}
	b := x.summary(i)
	var sum work
	sum.add(&x.nodes[i], &b.work)
	out := &snapshot.Work{Below: new(b.count), Youngest: new(b.work.youngest)}
	if !sum.noCPU {
		out.CPU = &sum.cpu
	}
	if !sum.noWritten {
		out.Written = &sum.written
	}
	return out, sum
}

// fillWork says what a process and all below it have done since the measure that a sighting remembers, and for how long they have
// done nothing to speak of. What is not known of that leaves Idle out.
func (j *Index) fillWork(out *Sighting, id string, before *snapshot.Sighting) {
	now, sum := j.procs.work(id)
	then, passed := before.Work, j.since(before.IdleSince)
	if now == nil || then == nil || passed == nil || *passed <= 0 || before.IdleSince.IsZero() {
		return
	}
	if now.CPU != nil && then.CPU != nil {
		out.CPU = new(Processors((*now.CPU - *then.CPU) / *passed))
	}
	if now.Written != nil && then.Written != nil {
		out.Written = new(float64(*now.Written-*then.Written) / *passed)
	}
	if then.Below != nil && then.Youngest != nil {
		out.Changed = new(*now.Below != *then.Below || *now.Youngest != *then.Youngest)
	}
	if out.CPU == nil || out.Written == nil || out.Changed == nil || sum.noState {
		return
	}
	// What goes back was another process's: a count of one that has left the tree.
	c := j.config.Busy
	idle := !*out.Changed && !sum.running && *out.CPU >= 0 && *out.CPU <= c.CPU && *out.Written >= 0 && *out.Written <= float64(c.Written)
	out.Idle = new(0.0)
	if idle {
		out.Idle = passed
	}
}
