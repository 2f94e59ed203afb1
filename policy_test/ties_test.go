package policy_test

import (
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// ties are what a process is for although what started it may end.
type ties struct {
	// hangup is whether it ignores SIGHUP, by what else says that it was meant to go on.
	hangup bool
	by     string
	// talks are its connections: nil leads to another machine.
	talks []*being
	// files counts those that it has open for writing, quiet is for how long none of them has changed.
	files int
	quiet time.Duration
}

// tie draws what a process is for: most are for nothing.
func (f *forest) tie(b *being) {
	if f.chance(0.1) {
		b.by = choose(f, "", "nohup", "systemd-run", "at")
		b.hangup = b.by == "" || b.by == "nohup" && b.name != "node"
		for _, c := range b.children {
			c.hangup = b.hangup
		}
	}
	if f.chance(0.3) {
		b.files, b.quiet = 1+f.IntN(2), time.Duration(f.IntN(5))*20*time.Minute
	}
	if !f.chance(0.2) {
		return
	}
	other := f.all[f.IntN(len(f.all))]
	switch {
	case f.chance(0.3):
		other = nil
	case len(b.children) > 0 && f.chance(0.5): // a server and what it started
		other = b.children[0]
	case other == f.init || other == f.manager: // whose connections are not read
		return
	}
	b.talks = append(b.talks, other)
	if other != nil {
		other.talks = append(other.talks, b)
	}
}

// fill writes down what a look sees of it.
func (t *ties) fill(p *snapshot.Process) {
	p.IgnoresHangup, p.StartedBy, p.WritesFiles = &t.hangup, &t.by, &t.files
	p.Connections, p.ConnectedTo = new(0), &[]int{}
	for _, other := range t.talks {
		if other == nil || !other.gone {
			*p.Connections++
		}
		if other != nil && !other.gone {
			*p.ConnectedTo = append(*p.ConnectedTo, other.pid)
		}
	}
	if t.files > 0 {
		p.OutputAt = new(noon.Add(-t.quiet))
	}
}

// tied is the truth: it, or what ends with it, was meant to go on, speaks with another program, or writes.
func (b *being) tied(top *being) bool {
	return b.hangup || b.by != "" || b.files > 0 && b.quiet < 30*time.Minute ||
		slices.ContainsFunc(b.talks, func(other *being) bool { return other == nil || !other.gone && !other.under(top) }) ||
		slices.ContainsFunc(b.children, func(c *being) bool { return !c.gone && c.tied(top) })
}

func (b *being) under(top *being) bool { return b != nil && (b == top || b.parent.under(top)) }

// keptByTies reports whether a process was kept for what it is for.
func keptByTies(d *decision.Decision) bool {
	return slices.ContainsFunc(d.Objections, func(o decision.Reason) bool { _, tied := o.Evidence["intent"]; return tied })
}
