package alarm

import (
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// What the count goes by. A number alone proves little, so that it takes a large one and a whole day.
const (
	// many is how many of a kind must have been in scope, and low how long it must have been few.
	many = 10
	low  = 24 * time.Hour
)

// Peak remembers the look of Limits.Remember at which most of a kind was in scope. It is there for what the memory by id cannot see:
// what was in scope is reaped one by one, as it should be, and what an upgraded orchestrator starts in its place never comes
// into scope at all.
type Peak struct {
	At            time.Time
	Seen, InScope int
	// LowSince is the first look since which few were in scope, zero while there are more.
	LowSince time.Time
}

func (p Peak) equal(q Peak) bool {
	return p.At.Equal(q.At) && p.Seen == q.Seen && p.InScope == q.InScope && p.LowSince.Equal(q.LowSince)
}

// peak compares how many of a kind are in scope with how many there were. They may have ended: it gives an alarm only where at
// least as many are seen as then, so that others have taken their place, and where they were half of all, so that a person's own
// things do not make up for them. said reports that the memory by id has given the alarm already.
func (w *watch) peak(kind snapshot.Kind, in int, blind, said bool) {
	before, known := w.Peaks[kind.Name]
	if blind || !w.complete(kind) {
		return
	}
	seen := kind.Count(w.s)
	before.At, before.LowSince = w.past(before.At), w.past(before.LowSince)
	after := before
	if w.turned || in >= before.InScope || w.expired(before.At) {
		after = Peak{At: w.s.TakenAt, Seen: seen, InScope: in}
	}
	if w.l.Remember <= 0 || after.InScope < max(many, w.l.Min) {
		if known {
			w.next.Peaks.forget(kind.Name)
		}
		return
	}
	if !reaches(after.InScope-in, w.l.Collapse, after.InScope) {
		after.LowSince = time.Time{}
	} else if after.LowSince.IsZero() {
		after.LowSince = w.s.TakenAt
	}
	if !known || !after.equal(w.Peaks[kind.Name]) {
		w.next.Peaks.put(kind.Name, after)
	}
	if said || after.LowSince.IsZero() || w.s.TakenAt.Sub(after.LowSince) < low || seen < after.Seen || 2*after.InScope < after.Seen {
		return
	}
	w.alarm(ScopeCollapsed, "", "%d %s are there and %d of them in scope, so few since %s; on %s it was %d of %d. What is started now may not "+
		"bear any more what the rules go by; see %s", seen, kind.Several, in, clock(after.LowSince), clock(after.At), after.InScope, after.Seen, kind.Scope)
}

// complete reports whether every source of a kind was read: otherwise its number is not known.
func (w *watch) complete(kind snapshot.Kind) bool {
	for name, src := range w.s.Sources {
		if kind.From(name, src) && src.Status == snapshot.Failed {
			return false
		}
	}
	return true
}
