package alarm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// Refusal is a candidate that was to be reaped, and was not, at every act that was tried on it since FirstAt.
type Refusal struct {
	Kind     string `json:"kind"`
	Label    string `json:"label,omitempty"`
	Identity string `json:"identity"`
	// Outcome and Detail are the last act's: refused, failed or changed.
	Outcome string    `json:"outcome"`
	Detail  string    `json:"detail,omitempty"`
	FirstAt time.Time `json:"first_at"`
	LastAt  time.Time `json:"last_at"`
	Count   int       `json:"count"`
}

// Capped is a kind of which nothing was done because a cap held, at every sweep that wanted to since FirstAt.
type Capped struct {
	// Detail is the last act's: which cap, and how many were wanted.
	Detail  string    `json:"detail,omitempty"`
	FirstAt time.Time `json:"first_at"`
	LastAt  time.Time `json:"last_at"`
	Count   int       `json:"count"`
}

// each is how many candidates of one kind get an alarm each; when more are refused one alarm speaks for all.
const each = 3

// WithActs is the memory with the refusals that the acts of one sweep, at the time at, leave. identities are the keys of the
// candidates' identities, by candidate: another thing of the same id begins again. An outcome changed counts like a refusal: one
// look that wants a thing gone and a second one that keeps it, every time, is silence too.
func (m Memory) WithActs(at time.Time, acts []decision.Act, identities map[string]string) Memory {
	next := m.clone()
	held := map[string]string{} // the kinds that a cap held, and how
	tried := map[string]bool{}
	for _, a := range acts {
		switch {
		case a.Open: // the next sweep finds out how it went
			tried[a.Kind] = true
		case a.Outcome.Outcome == decision.Capped:
			held[a.Kind] = a.Detail
		case a.Outcome.Outcome == decision.Done, a.Outcome.Outcome == decision.Gone:
			tried[a.Kind] = true
			delete(next.Refusals, a.Candidate)
		default:
			tried[a.Kind] = true
			next.Refusals[a.Candidate] = m.Refusals[a.Candidate].repeat(at, a, identities[a.Candidate])
		}
	}
	for kind, detail := range held {
		if tried[kind] { // the cap let some through
			continue
		}
		before := m.Capped[kind]
		if before.Count == 0 || before.FirstAt.After(at) {
			before.FirstAt = at
		}
		next.Capped[kind] = Capped{Detail: detail, FirstAt: before.FirstAt, LastAt: at, Count: before.Count + 1}
	}
	for kind := range tried {
		delete(next.Capped, kind)
	}
	return next
}

func (r Refusal) repeat(at time.Time, a decision.Act, identity string) Refusal {
	next := Refusal{
		Kind: a.Kind, Label: a.Label, Identity: identity, Outcome: a.Outcome.Outcome, Detail: a.Detail, FirstAt: at, LastAt: at, Count: 1,
	}
	if r.Count > 0 && r.Identity == identity {
		next.Count = r.Count + 1
		if r.FirstAt.Before(at) {
			next.FirstAt = r.FirstAt
		}
	}
	return next
}

// refusals raises the alarm of what is still wanted and was refused again and again, and forgets what is gone or long past.
func (w *watch) refusals() {
	wanted := map[string]string{}
	for i := range w.ds {
		if d := &w.ds[i]; d.Verdict == decision.Reap {
			wanted[d.ID] = d.Identity.Key
		}
	}
	failing := w.s.Failing()
	again := map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(w.Refusals)) {
		r := w.Refusals[id]
		_, there := w.s.Find(id)
		if w.expired(w.past(r.LastAt)) || w.l.Remember <= 0 || !there && !failing {
			delete(w.next.Refusals, id)
			continue
		}
		if key, ok := wanted[id]; ok && key == r.Identity && w.often(r.Count) {
			again[r.Kind] = append(again[r.Kind], id)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(again)) {
		w.refused(kind, again[kind])
	}
}

func (w *watch) often(count int) bool { return w.l.RefusedTimes > 0 && count >= w.l.RefusedTimes }

func (w *watch) refused(kind string, ids []string) {
	if len(ids) <= each {
		for _, id := range ids {
			w.alarm(RefusedAgain, id, "%s", w.Refusals[id].text(id))
		}
		return
	}
	k, _ := snapshot.KindOf(kind)
	most := slices.MaxFunc(ids, func(a, b string) int { return w.Refusals[a].Count - w.Refusals[b].Count })
	w.alarm(RefusedAgain, most, "%s (%d other %s fare the same)", w.Refusals[most].text(most), len(ids)-1, k.Several)
}

func (r Refusal) text(id string) string {
	name := id
	// An id may say its label already, as a folder's says its path.
	if r.Label != "" && (id == r.Label || !strings.HasSuffix(id, r.Label)) {
		name = fmt.Sprintf("%s (%s)", id, r.Label)
	}
	return fmt.Sprintf("%s was to be reaped %d times in a row since %s, and is still there; the last act's outcome is %s: %s",
		name, r.Count, clock(r.FirstAt), r.Outcome, r.Detail)
}

// capped raises the alarm of what a cap held again and again, and forgets a kind of which nothing is wanted any more.
func (w *watch) capped() {
	wanted := map[string]bool{}
	for i := range w.ds {
		if w.ds[i].Verdict == decision.Reap {
			wanted[w.ds[i].Kind] = true
		}
	}
	failing := w.s.Failing()
	for _, kind := range slices.Sorted(maps.Keys(w.Capped)) {
		c := w.Capped[kind]
		if w.expired(w.past(c.LastAt)) || w.l.Remember <= 0 || !wanted[kind] && !failing {
			delete(w.next.Capped, kind)
			continue
		}
		if wanted[kind] && w.often(c.Count) {
			w.alarm(CappedAgain, "", "nothing of kind %s was done at any of %d sweeps in a row since %s: %s", kind, c.Count, clock(c.FirstAt), c.Detail)
		}
	}
}
