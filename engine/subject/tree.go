package subject

import (
	"cmp"
	"slices"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// below is what is known of everything below a process.
type below struct {
	count                int
	known                bool // false in a cycle, which a table that is read while it changes can show
	agent, tty, listener tri
	vague                bool // one of them may be an agent, and which is not known
	work                 work
}

// above is what is known of a process's ancestors.
type above struct {
	agent, multiplexer tri
	tainted            tri  // it is an agent, or carries an agent's marker
	below              bool // a living agent is above it in an unbroken line
}

// tri is a fact about several processes: true when it is known of one, false when the opposite is known of all.
type tri uint8

const (
	no tri = iota
	unknown
	yes
)

// or is the fact of both together: the three are in the order in which one wins over the others.
func (t tri) or(u tri) tri { return max(t, u) }

// ifWhole is the fact where the table was read whole, and otherwise only that it is true.
func (t tri) ifWhole(whole bool) *bool {
	switch {
	case t == yes:
		return new(true)
	case t == no && whole:
		return new(false)
	default:
		return nil
	}
}

func triOf(v *bool) tri {
	switch {
	case v == nil:
		return unknown
	case *v:
		return yes
	default:
		return no
	}
}

func triIf(v bool) tri { return triOf(&v) }

// sumBelow goes from the leaves up, each process once. What is in a cycle, or above one, is never reached and stays unknown.
// Most have nothing below them, and share the first sum.
func (x *processes) sumBelow() {
	waiting := make([]int32, len(x.nodes))
	var ready []int32
	sums := int32(1)
	for i := range x.nodes {
		if waiting[i] = int32(len(x.kids.children(i))); waiting[i] == 0 {
			ready = append(ready, int32(i))
			continue
		}
		x.nodes[i].sum = sums
		sums++
	}
	x.sums = make([]below, sums)
	x.sums[0].known = true
	for len(ready) > 0 {
		i := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		n := &x.nodes[i]
		x.sums[n.sum].known = true
		if n.parent < 0 {
			continue
		}
		x.summary(int(n.parent)).add(&x.sums[n.sum], n)
		if waiting[n.parent]--; waiting[n.parent] == 0 {
			ready = append(ready, n.parent)
		}
	}
}

// summary is what is known of everything below a process.
func (x *processes) summary(i int) *below { return &x.sums[x.nodes[i].sum] }

func (b *below) add(child *below, n *node) {
	b.count += 1 + child.count
	b.agent = b.agent.or(child.agent).or(n.program())
	b.vague = b.vague || child.vague || n.vague
	b.tty = b.tty.or(child.tty).or(n.tty)
	b.listener = b.listener.or(child.listener).or(n.listens)
	b.work.add(n, &child.work)
}

// lookAbove goes from each process up to one that was looked at before, so that every parent is followed once.
func (x *processes) lookAbove() []above {
	const fresh, open, done = 0, 1, 2
	found := make([]above, len(x.nodes))
	state := make([]uint8, len(x.nodes))
	var trail []int32
	for i := range x.nodes {
		trail = trail[:0]
		at := int32(i)
		for at >= 0 && state[at] == fresh {
			state[at] = open
			trail = append(trail, at)
			at = x.nodes[at].parent
		}
		cycle := at >= 0 && state[at] == open
		for k := len(trail) - 1; k >= 0; k-- {
			at := trail[k]
			found[at] = x.fromParent(int(at), found, cycle)
			x.nodes[at].vague = x.vague(&x.nodes[at], found[at].tainted)
			state[at] = done
		}
	}
	return found
}

func (x *processes) fromParent(i int, found []above, cycle bool) above {
	n := &x.nodes[i]
	if n.p.PPID == nil || cycle {
		return above{agent: unknown, multiplexer: unknown, tainted: unknown}
	}
	if n.lost { // its parent ended, so it was handed to the process that takes in orphans
		return above{agent: unknown, multiplexer: unknown, tainted: no}
	}
	if n.parent < 0 {
		return above{}
	}
	p := &x.nodes[n.parent]
	return above{
		agent:       found[n.parent].agent.or(x.aboveAs(p)),
		multiplexer: found[n.parent].multiplexer.or(triIf(p.multiplexer)),
		tainted:     found[n.parent].tainted.or(triIf(p.agent || p.daemon)).or(x.tainted(p)),
		below:       found[n.parent].below || p.agent,
	}
}

// maxBelow is how many processes below one are named.
const maxBelow = 64

// descendants are the nodes of everything that lives below a process, by pid; nil where that is not known whole, or is too much.
func (x *processes) descendants(i int) []*node {
	if b := x.summary(i); !x.whole || x.strays || !b.known || b.count > maxBelow {
		return nil
	}
	out := []*node{}
	for open := []int32{int32(i)}; len(open) > 0; {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		for _, k := range x.kids.children(int(at)) {
			open = append(open, k)
			if !Dead(x.nodes[k].p) {
				out = append(out, &x.nodes[k])
			}
		}
	}
	slices.SortFunc(out, func(a, b *node) int { return cmp.Compare(a.p.PID, b.p.PID) })
	return out
}

// underID is under for a process by its id as a candidate; nil for anything else.
func (x *processes) underID(id string) []*node {
	i, ok := x.byID(id)
	if !ok {
		return nil
	}
	return x.descendants(i)
}

// belowOf tells of everything below a process; nil where it is not known.
func (x *processes) belowOf(i int) *[]Below {
	under := x.descendants(i)
	if under == nil {
		return nil
	}
	out := make([]Below, len(under))
	for k, n := range under {
		id := snapshot.ProcessID(n.p.PID, n.p.StartTicks)
		out[k] = Below{ID: id, Held: x.holds[id] != nil, PID: n.p.PID, Name: n.p.Name, UID: n.p.UID, Waits: n.p.Waits, Personal: x.personal(n)}
		if n.p.Markers != nil {
			out[k].Own = new(agree(&x.nodes[i], n, x.config.IDMarkers))
		}
	}
	return &out
}

// peers are the processes outside of a process's tree that can speak with anything in it; nil where that is not known.
func (x *processes) peers(i int) *[]Peer {
	under := x.descendants(i)
	if under == nil {
		return nil
	}
	tree := append(under, &x.nodes[i])
	out := []Peer{}
	for _, n := range tree {
		if n.p.Peers == nil || n.p.OutputRead != nil && *n.p.OutputRead && len(*n.p.Peers) == 0 {
			return nil
		}
		for _, pid := range *n.p.Peers {
			inside := func(m *node) bool { return m.p.PID == pid }
			if slices.ContainsFunc(tree, inside) || slices.ContainsFunc(out, func(p Peer) bool { return p.PID == pid }) {
				continue
			}
			peer := Peer{PID: pid}
			if k, ok := x.byPID(pid); ok {
				peer.Name = x.nodes[k].p.Name
			}
			out = append(out, peer)
		}
	}
	slices.SortFunc(out, func(a, b Peer) int { return cmp.Compare(a.PID, b.PID) })
	return &out
}

// program is whether a process is an agent's program, a vendor's daemon for its agents among them.
func (n *node) program() tri {
	switch {
	case n.agent || n.daemon:
		return yes
	case n.maybe && !Dead(n.p):
		return unknown
	default:
		return no
	}
}

// aboveAs is what a process is to those below it. Process 1 and those of other users do not show what they were started from, and are no
// agents of this user's.
func (x *processes) aboveAs(n *node) tri {
	if n.agent || n.daemon {
		return yes
	}
	if x.hides(n) {
		return unknown
	}
	return n.unidentified()
}

// unidentified is unknown for a vague process.
func (n *node) unidentified() tri {
	if n.vague {
		return unknown
	}
	return no
}
