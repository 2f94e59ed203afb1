// Package alarm says what a person should look at although every single decision was in order: that nothing is in scope any more
// and everything is still there, that a source has not been read for long, that the same thing is refused again and again. All of
// these look like "nothing to do" in one sweep, and only show beside the sweeps before it.
//
// Its functions are pure: what is remembered, one look and what was decided on it give what to remember next and the alarms. The
// ledger keeps the memory.
package alarm

import (
	"fmt"
	"maps"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// The rules of alarms.
const (
	ScopeCollapsed  = "scope_collapsed"
	SourceFailing   = "source_failing"
	SourceGone      = "source_gone"
	LivenessUnknown = "liveness_unknown"
	RefusedAgain    = "refused_again"
	CappedAgain     = "capped_again"
)

// Alarm is one thing to look at.
type Alarm struct {
	Rule    string
	Message string
	// Candidate is one that shows what is meant, "" where none does.
	Candidate string
}

// Limits says from when on something is worth an alarm.
type Limits struct {
	// Min is how many candidates of a kind must have left the scope, and Collapse which part (0 to 1) of those that left it and
	// those still in it.
	Min      int
	Collapse float64
	// Remember is how long the memory keeps that a candidate was in scope, or was refused. Zero remembers
	// nothing, and then neither gives an alarm.
	Remember time.Duration
	// SourceFailingFor is how long a source must not have been read, at two looks at least.
	SourceFailingFor time.Duration
	// RefusedTimes is how many times in a row an act must have come to nothing. Zero is never.
	RefusedTimes int
}

// Memory is what the looks and acts before this one left. The zero Memory is that of a first sweep.
type Memory struct {
	// Rules names the rules that the last look was judged by.
	Rules string `json:"rules"`
	// Scope is by candidate, Peaks by kind, Sources by name, Refusals by candidate and Capped by kind.
	Scope    map[string]Scoped  `json:"scope"`
	Peaks    map[string]Peak    `json:"peaks"`
	Sources  map[string]Source  `json:"sources"`
	Refusals map[string]Refusal `json:"refusals"`
	Capped   map[string]Capped  `json:"capped"`
}

// clone is a copy with maps of its own.
func (m Memory) clone() Memory {
	return Memory{Rules: m.Rules, Scope: copied(m.Scope), Peaks: copied(m.Peaks), Sources: copied(m.Sources), Refusals: copied(m.Refusals), Capped: copied(m.Capped)}
}

// copied is a copy of a map, never nil.
func copied[V any](m map[string]V) map[string]V {
	out := make(map[string]V, len(m))
	maps.Copy(out, m)
	return out
}

// Look says what a look gives to remember, and which alarms it gives. ds are all decisions on s, sorted by id, those that no person
// is shown among them. rules is any name of what the operator decides by: where it is another one than at the last look, what left the
// scope did so because the operator asked for it.
func Look(m Memory, s *snapshot.Snapshot, ds []decision.Decision, rules string, l Limits) (Memory, []Alarm) {
	w := watch{Memory: m, s: s, ds: ds, l: l, turned: m.Rules != rules, next: m.clone()}
	w.next.Rules = rules
	in := w.inScope()
	w.scope(in)
	w.sources()
	w.liveness(in)
	w.refusals()
	w.capped()
	return w.next, w.alarms
}

// watch is one look under way.
type watch struct {
	Memory
	s  *snapshot.Snapshot
	ds []decision.Decision
	l  Limits
	// turned is true when the operator's rules are others than at the last look.
	turned bool
	next   Memory
	alarms []Alarm
}

func (w *watch) alarm(rule, candidate, format string, args ...any) {
	w.alarms = append(w.alarms, Alarm{Rule: rule, Candidate: candidate, Message: fmt.Sprintf(format, args...)})
}

// past is t, or this look where the clock was put back since t was written: nothing waits for the clock to come by again.
func (w *watch) past(t time.Time) time.Time {
	if t.After(w.s.TakenAt) {
		return w.s.TakenAt
	}
	return t
}

// expired reports whether what began at t is remembered no longer; a t that is not set began nothing.
func (w *watch) expired(t time.Time) bool { return !t.IsZero() && w.s.TakenAt.Sub(t) > w.l.Remember }

func moment(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// clock writes a time the way the rest of a report does.
func clock(t time.Time) string { return t.Local().Format(time.DateTime) }

// span writes a duration in the largest unit that tells enough.
func span(d time.Duration) string {
	switch {
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

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
	At      time.Time `json:"at"`
	Seen    int       `json:"seen"`
	InScope int       `json:"in_scope"`
	// LowSince is the first look since which few were in scope, zero while there are more.
	LowSince time.Time `json:"low_since,omitzero"`
}

// peak compares how many of a kind are in scope with how many there were. They may have ended: it gives an alarm only where at
// least as many are seen as then, so that others have taken their place, and where they were half of all, so that a person's own
// things do not make up for them. said reports that the memory by id has given the alarm already.
func (w *watch) peak(kind snapshot.Kind, in int, blind, said bool) {
	before := w.Peaks[kind.Name]
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
		delete(w.next.Peaks, kind.Name)
		return
	}
	if !reaches(after.InScope-in, w.l.Collapse, after.InScope) {
		after.LowSince = time.Time{}
	} else if after.LowSince.IsZero() {
		after.LowSince = w.s.TakenAt
	}
	w.next.Peaks[kind.Name] = after
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

// Scoped remembers that a candidate was in scope. It is kept by id and not as a number: a number falls too when what was in scope was
// reaped, ended or closed, and stays when what no rule ever claimed (an agent, a person's own tab) takes its place. Of one id it is
// known that rules claimed this very thing, and that it is still there.
type Scoped struct {
	// Source is the one that showed it last.
	Source string `json:"source"`
	// Born is when the thing was made, zero where that is not known: a tmux server that starts again reuses its ids.
	Born time.Time `json:"born,omitzero"`
	// OutSince is the first look that saw it out of scope, zero while it is in scope.
	OutSince time.Time `json:"out_since,omitzero"`
	// UnseenSince is the first look that could not say whether it is still there, zero while one can.
	UnseenSince time.Time `json:"unseen_since,omitzero"`
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
		if _, known := w.Scope[d.ID]; known {
			in.known++
		}
		if w.l.Remember > 0 {
			w.next.Scope[d.ID] = Scoped{Source: t.Source, Born: moment(t.Born)}
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
			kind, _ := snapshot.KindOf(id)
			gone[kind.Name] = gone[kind.Name].add(id, after.OutSince)
		}
		// A loss that the operator's own new rules caused is reported once.
		if !keep || w.turned && !after.OutSince.IsZero() {
			delete(w.next.Scope, id)
		} else {
			w.next.Scope[id] = after
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
		w.alarm(ScopeCollapsed, gone.first, "%d of %d %s in scope are still there, and by the changed rules or configuration "+
			"no rule claims them. If that was not meant, see %s (this is reported once)", gone.count, all, kind.Several, kind.Scope)
		return true
	}
	w.alarm(ScopeCollapsed, gone.first, "%d of %d %s that were in scope are still there, and no rule has claimed them since %s: something that the rules "+
		"go by has changed; see %s", gone.count, all, kind.Several, clock(gone.since), kind.Scope)
	return true
}

// reaches reports whether n is at least the given part of all. The small term forgives what floating point adds.
func reaches(n int, part float64, all int) bool { return float64(n) >= part*float64(all)-1e-9 }
