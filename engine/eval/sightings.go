package eval

import (
	"maps"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// Sightings says what the next sweep is to remember of this one, and marks the decisions in ds that saw their reason for the
// first time. prev is what was remembered before, s the snapshot that ds were decided on, and ds all decisions on it: one that is
// left out counts as out of scope. prev and s stay as they are.
//
// A candidate whose reason stands, with nothing but the wait objecting (for a tab of an editor also what it shows), is remembered: since when, as long as it stays the same
// thing with the same reason; of a process also since when it was idle, which begins again where it was not. Any other objection, or no reason any more, clears it, and so does its absence from a source that
// was read. A candidate that could not be judged, and one whose source could not be read, keep what is remembered of them; the latter
// also while it is shown, as a Codev terminal is by its store while its Tower is down.
func Sightings(prev map[string]snapshot.Sighting, s *snapshot.Snapshot, ds []decision.Decision) map[string]snapshot.Sighting {
	next := make(map[string]snapshot.Sighting, len(prev))
	gap := s.Failing()
	for id, before := range prev {
		// Out of scope may mean that the registry which put it there was not read.
		if _, present := s.Find(id); present && gap || !present && !readable(s, id) {
			next[id] = before
		}
	}
	for i := range ds {
		d := &ds[i]
		delete(next, d.ID)
		before, known := prev[d.ID]
		switch {
		case d.Awaits() && d.Identity.Key != "":
			seen := sight(d, before, known, s)
			d.FirstSighting = seen.Count == 1
			next[d.ID] = seen
		case known && d.Unknown() && (!contradicted(d) || blind(s, d.ID)):
			next[d.ID] = before
		}
	}
	return next
}

// sight is the memory of d after this look.
func sight(d *decision.Decision, before snapshot.Sighting, known bool, s *snapshot.Snapshot) snapshot.Sighting {
	_, counting := d.Counting()
	now := snapshot.Sighting{
		Rule: counting[0].Rule, Identity: d.Identity.Key, FirstAt: s.TakenAt, LastAt: s.TakenAt, Count: 1,
	}
	if d.Kind == snapshot.KindProcess {
		now.IdleSince, now.Work = new(s.TakenAt), (*snapshot.Work)(d.Work)
	}
	if known && before.Identity == now.Identity && slices.ContainsFunc(counting, func(f decision.Reason) bool { return f.Rule == before.Rule }) {
		now.Rule, now.FirstAt, now.Count = before.Rule, before.FirstAt, before.Count+1
		if d.Idle {
			now.IdleSince, now.Work = before.IdleSince, before.Work
		}
	}
	return now
}

// contradicted reports whether d was spared for something that is known, beside what is not.
func contradicted(d *decision.Decision) bool {
	for _, o := range d.Objections {
		switch o.Rule {
		case decision.RuleUnknown, decision.PolicyError, decision.RuleDebounce, decision.RuleShowing:
		default:
			return true
		}
	}
	return false
}

// blind reports whether the processes or the candidate's own source were not read: objections are then made for want of them, and say
// nothing.
func blind(s *snapshot.Snapshot, id string) bool {
	return s.Sources[snapshot.Proc].Status != snapshot.OK || !readable(s, id) || ofCodev(s, id) && !codevRead(s)
}

// ofCodev reports whether a candidate is a tab of an editor that shows a builder of Codev's: what became of that one its own source does not say.
func ofCodev(s *snapshot.Snapshot, id string) bool {
	e := s.Tabs[id].Editor
	return e != nil && e.Codev != nil
}

func codevRead(s *snapshot.Snapshot) bool {
	for name, src := range s.Sources {
		if strings.HasPrefix(name, "codev/") && src.Status != snapshot.OK {
			return false
		}
	}
	return true
}

// readable reports whether every source that the candidate could have come from was read: only then is its absence a fact.
// The id of a tab, session or terminal begins with its source's name; a folder may come from any source of folders.
func readable(s *snapshot.Snapshot, id string) bool {
	kind, rest, _ := strings.Cut(id, ":")
	switch kind {
	case snapshot.KindProcess:
		return s.Sources[snapshot.Proc].Status == snapshot.OK
	case snapshot.KindDir:
		for name := range maps.Keys(s.Sources) {
			if strings.HasPrefix(name, "dirs/") && s.Sources[name].Status == snapshot.Failed {
				return false
			}
		}
		return true
	}
	for name, src := range s.Sources {
		if strings.HasPrefix(rest, name+"/") {
			return src.Status == snapshot.OK || src.Status == snapshot.Absent
		}
	}
	return false
}
