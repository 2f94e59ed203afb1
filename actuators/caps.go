package actuators

import (
	"fmt"
	"slices"

	"winnow/engine/decision"
)

// Caps bound what one sweep may do. Over a cap nothing of that kind is done at all: a sweep that suddenly wants much more than
// usual is more likely to be wrong than the world is. Zero allows nothing.
type Caps struct {
	// PerSweep is how many acts a sweep may carry out, of one kind and of all kinds together.
	PerSweep int
	// Share is which part (0 to 1) of what was seen of this user may be acted on, by kind, and for what has an owner that outlives it by
	// owner and kind. It is not taken of what is in scope: where all agents are gone, that is little else than what they left behind. It
	// counts from ShareFrom acts on, so that two out of three do not stop a small machine.
	Share     float64
	ShareFrom int
	// PerOwner is how many acts of one kind one owner may suffer.
	PerOwner int
}

// whole is what a share is taken of.
type whole struct {
	decision.Seen
	// of says what that is, in a message.
	of string
}

// whole is what the look saw of a kind, and where that is not known what was in scope.
func (c *Carrier) whole(kind string, inScope []decision.Decision) whole {
	if seen, known := c.Seen[kind]; known {
		return whole{seen, "that are this user's"}
	}
	w := whole{decision.Seen{ByOwner: countByOwner(inScope, kind)}, "in scope"}
	for _, k := range w.ByOwner {
		w.Total += k
	}
	return w
}

// over says which cap wanted, all of one kind, would pass, or nothing. left is how many acts the sweep may still carry out.
func (c Caps) over(kind string, wanted []decision.Decision, all whole, left int) string {
	n := len(wanted)
	if n > c.PerSweep {
		return fmt.Sprintf("%d acts of kind %s are wanted and act.caps.per_sweep allows %d", n, kind, c.PerSweep)
	}
	if n > left {
		return fmt.Sprintf("%d acts of kind %s are wanted and the sweep's other kinds leave %d of the %d that act.caps.per_sweep allows",
			n, kind, left, c.PerSweep)
	}
	if c.overShare(n, all.Total) {
		return fmt.Sprintf("%d of the %d candidates of kind %s %s are wanted and act.caps.share allows %g of them (from act.caps.share_from = %d acts on)",
			n, all.Total, kind, all.of, c.Share, c.ShareFrom)
	}
	return c.overOwner(kind, wanted, all)
}

// overOwner looks at each owner's part. Candidates without a known owner count as one owner's.
func (c Caps) overOwner(kind string, wanted []decision.Decision, all whole) string {
	byOwner := countByOwner(wanted, kind)
	owners := make([]string, 0, len(byOwner))
	for o := range byOwner {
		owners = append(owners, o)
	}
	slices.Sort(owners)
	for _, o := range owners {
		k := byOwner[o]
		if k > c.PerOwner {
			return fmt.Sprintf("%d acts of kind %s are wanted for %s and act.caps.per_owner allows %d", k, kind, ownerName(o), c.PerOwner)
		}
		if all.ByOwner != nil && c.overShare(k, all.ByOwner[o]) {
			return fmt.Sprintf("%d of the %d candidates of kind %s %s for %s are wanted and act.caps.share allows %g of them (from act.caps.share_from = %d acts on)",
				k, all.ByOwner[o], kind, all.of, ownerName(o), c.Share, c.ShareFrom)
		}
	}
	return ""
}

// overShare reports whether n of total is too large a part. The small term forgives what floating point adds to an exact
// share; the comparison is written so that a share that is not a number allows nothing.
func (c Caps) overShare(n, total int) bool {
	return n >= c.ShareFrom && n > 0 && !(float64(n) <= c.Share*float64(total)+1e-9)
}

// countByOwner counts the decisions of a kind that are in scope. What is reaped is in scope by definition.
func countByOwner(ds []decision.Decision, kind string) map[string]int {
	by := map[string]int{}
	for _, d := range ds {
		if d.Kind == kind && (d.InScope || d.Verdict == decision.Reap) {
			by[d.Owner]++
		}
	}
	return by
}

func ownerName(o string) string {
	if o == "" {
		return "candidates without a known owner"
	}
	return o
}

// Less are the caps for what comes after some acts of the same sweep.
func (c Caps) Less(acts []decision.Act) Caps {
	for _, a := range acts {
		if o := a.Outcome.Outcome; o != decision.Capped {
			c.PerSweep = max(0, c.PerSweep-1)
		}
	}
	return c
}
