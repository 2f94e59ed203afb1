package subject

import "slices"

// fillTies says what keeps a process and all below it at work although what started it has ended: that it was meant to outlive that, whom they are
// connected to, and what they write.
func (x *processes) fillTies(l *Lineage, i int) {
	tree := x.descendants(i)
	whole := tree != nil
	tree = append(tree, &x.nodes[i])
	l.Intent = x.intent(i, tree, whole)
	if !whole {
		return
	}
	l.Connections = countOutside(tree)
	if l.Connections != nil && *l.Connections > 0 {
		l.Connected = x.connected(tree)
	}
	l.WritesFiles, l.Output = x.output(tree)
}

// intent is what shows that a process, or one of those below it, was meant to outlive its starter; nil where nothing shows it and not all is known.
func (x *processes) intent(i int, tree []*node, whole bool) *[]string {
	found := []string{}
	if above := x.keeper(i); above != "" {
		found = append(found, above)
	}
	for _, n := range tree {
		ignores, by := triOf(n.p.IgnoresHangup), n.p.StartedBy
		if ignores == yes {
			found = append(found, "hangup")
		}
		if by != nil && *by != "" {
			found = append(found, *by)
		}
		whole = whole && ignores == no && by != nil
	}
	if len(found) == 0 && !whole {
		return nil
	}
	slices.Sort(found)
	found = slices.Compact(found)
	return &found
}

// keeper is the nearest multiplexer or atd above a process, "" where there is no such process or an agent is nearer.
func (x *processes) keeper(i int) string {
	for up, steps := x.nodes[i].parent, 0; up >= 0 && steps < len(x.nodes); up, steps = x.nodes[up].parent, steps+1 {
		switch n := &x.nodes[up]; {
		case n.agent || n.daemon:
			return ""
		case n.multiplexer:
			return "multiplexer"
		case n.p.Name == "atd":
			return "at"
		}
	}
	return ""
}

// countOutside counts the connections of processes that lead elsewhere than to one of them; nil where those of one are not known.
func countOutside(tree []*node) *int {
	count := 0
	for _, n := range tree {
		p := n.p
		if p.Connections == nil || *p.Connections > 0 && p.ConnectedTo == nil {
			return nil
		}
		count += *p.Connections
		if *p.Connections == 0 {
			continue
		}
		for _, pid := range *p.ConnectedTo {
			if slices.ContainsFunc(tree, func(other *node) bool { return other.p.PID == pid }) {
				count--
			}
		}
	}
	return &count
}

// connected is for how many seconds one of these processes has had connections; nil where no look before saw them.
func (x *processes) connected(tree []*node) (seconds *float64) {
	for _, n := range tree {
		if age := Awake(x.snap, n.p.ConnectedSince); age != nil && (seconds == nil || *age > *seconds) {
			seconds = age
		}
	}
	return seconds
}

// output counts the regular files that processes can write to, and says for how many seconds none of these has changed.
func (x *processes) output(tree []*node) (count *int, seconds *float64) {
	count, known := new(0), true
	for _, n := range tree {
		if n.p.WritesFiles == nil {
			return nil, nil
		}
		*count += *n.p.WritesFiles
		if *n.p.WritesFiles == 0 {
			continue
		}
		age := Awake(x.snap, n.p.OutputAt)
		if known = known && age != nil; known && (seconds == nil || *age < *seconds) {
			seconds = age
		}
	}
	if !known {
		seconds = nil
	}
	return count, seconds
}
