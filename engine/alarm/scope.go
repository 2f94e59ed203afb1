package alarm

import (
	"maps"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// Scoped remembers that a candidate was in scope. It is kept by id and not as a number: a number falls too when what was in scope was
// reaped, ended or closed, and stays when what no rule ever claimed (an agent, a person's own tab) takes its place. Of one id it is
// known that rules claimed this very thing, and that it is still there.
type Scoped struct {
	// Source is the one that showed it last.
	Source string
	// Born is when the thing was made, zero where that is not known: a tmux server that starts again reuses its ids.
	Born time.Time
	// OutSince is the first look that saw it out of scope, zero while it is in scope.
	OutSince time.Time
	// UnseenSince is the first look that could not say whether it is still there, zero while one can.
	UnseenSince time.Time
}

func (x Scoped) equal(y Scoped) bool {
	return x.Source == y.Source && x.Born.Equal(y.Born) && x.OutSince.Equal(y.OutSince) && x.UnseenSince.Equal(y.UnseenSince)
}

// left are the candidates of one kind that left the scope and are still there.
type left struct {
	count int
	since time.Time
	// first is the smallest id.
	first string
}

// claims are the candidates in scope at this look.
type claims struct {
	// count is by kind, users by source.
	count map[string]int
	users map[string]*users
	// known is how many of them are remembered.
	known int
}

// inScope goes through the candidates in scope, once, and remembers them.
func (w *watch) inScope() claims {
	in := claims{count: map[string]int{}, users: map[string]*users{}}
	for i := range w.ds {
		d := &w.ds[i]
		if !d.InScope {
			continue
		}
		in.count[d.Kind]++
		t, _ := w.s.Find(d.ID)
		in.tally(d, t)
		before, known := w.Scope[d.ID]
		if known {
			in.known++
		}
		if after := (Scoped{Source: t.Source, Born: moment(t.Born)}); w.l.Remember > 0 && !(known && after.equal(before)) {
			w.next.Scope.put(d.ID, after)
		}
	}
	return in
}

// scope compares what is in scope with what was. All kinds go by one rule. A process leaves its scope while it lives only by
// becoming another program, which four of five do not do between the same two looks.
func (w *watch) scope(in claims) {
	gone, blind := map[string]left{}, w.blind()
	for id, before := range w.unclaimed(in) {
		after, keep, out := w.out(id, before, blind)
		if keep && out {
			gone[kindOf(id)] = gone[kindOf(id)].add(id, after.OutSince)
		}
		// A loss that the operator's own new rules caused is reported once.
		if !keep || w.turned && !after.OutSince.IsZero() {
			w.next.Scope.forget(id)
		} else if !after.equal(before) {
			w.next.Scope.put(id, after)
		}
	}
	for _, kind := range snapshot.Kinds {
		said := w.collapsed(kind, gone[kind.Name], in.count[kind.Name])
		w.peak(kind, in.count[kind.Name], blind, said)
	}
}

// unclaimed are those remembered that are not in scope at this look; all of them where nothing is to be remembered.
func (w *watch) unclaimed(in claims) map[string]Scoped {
	if w.l.Remember <= 0 || in.known == 0 {
		return w.Scope
	}
	if in.known == len(w.Scope) {
		return nil
	}
	rest := maps.Clone(w.Scope)
	for i := range w.ds {
		if w.ds[i].InScope {
			delete(rest, w.ds[i].ID)
		}
	}
	return rest
}

// out is the memory of a candidate that is not in scope, whether it is to be kept, and whether this look positively saw the thing
// out of scope.
func (w *watch) out(id string, before Scoped, blind bool) (after Scoped, keep, out bool) {
	after = before
	after.OutSince, after.UnseenSince = w.past(before.OutSince), w.past(before.UnseenSince)
	t, there := w.s.Find(id)
	born := moment(t.Born)
	switch {
	case there && !born.IsZero() && !before.Born.IsZero() && !born.Equal(before.Born):
		return after, false, false
	case there && w.s.Sources[t.Source].Status == snapshot.OK:
		after.Source, after.UnseenSince = t.Source, time.Time{}
		if after.OutSince.IsZero() && !blind && !t.Unread {
			after.OutSince = w.s.TakenAt
		}
		out = !after.OutSince.IsZero()
	case !there && w.read(before.Source):
		return after, false, false
	case after.UnseenSince.IsZero():
		after.UnseenSince = w.s.TakenAt
	}
	keep = w.l.Remember > 0 && !w.expired(after.OutSince) && !w.expired(after.UnseenSince)
	return after, keep, out
}

// read reports whether a source was read, so that what it does not show is not there.
func (w *watch) read(source string) bool {
	status := w.s.Sources[source].Status
	return status == snapshot.OK || status == snapshot.Absent
}

// blind reports whether a record that may put candidates in scope was not read: out of scope then means nothing. One that is
// absent and never was there put nothing in scope.
func (w *watch) blind() bool {
	for name, src := range w.s.Sources {
		if record(src) && (src.Status == snapshot.Failed || src.Status == snapshot.Absent && !w.Sources[name].OKAt.IsZero()) {
			return true
		}
	}
	return false
}

// record reports whether a source is a configured record.
func record(src snapshot.Source) bool { return src.Kind == "registry" || src.Kind == "spawns" }

func (x left) add(id string, since time.Time) left {
	x.count++
	if x.since.IsZero() || since.Before(x.since) {
		x.since = since
	}
	if x.first == "" || id < x.first {
		x.first = id
	}
	return x
}

// collapsed raises the alarm of a kind whose candidates left the scope and are still there.
func (w *watch) collapsed(kind snapshot.Kind, gone left, still int) bool {
	all := gone.count + still
	if gone.count < max(w.l.Min, 1) || !reaches(gone.count, w.l.Collapse, all) {
		return false
	}
	if w.turned {
		w.alarm(ScopeCollapsed, gone.first, "%d of %d %s that were in scope are still there, and no rule has claimed them since the rules or the "+
			"configuration were changed (this is reported once); if that was not meant, see %s", gone.count, all, kind.Several, kind.Scope)
		return true
	}
	w.alarm(ScopeCollapsed, gone.first, "%d of %d %s that were in scope are still there, and no rule has claimed them since %s: something that the rules "+
		"go by has changed; see %s", gone.count, all, kind.Several, clock(gone.since), kind.Scope)
	return true
}

// reaches reports whether n is at least the given part of all. The small term forgives what floating point adds.
func reaches(n int, part float64, all int) bool { return float64(n) >= part*float64(all)-1e-9 }
