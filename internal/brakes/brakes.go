// Package brakes says when the daemon must stop acting and only observe, because what it does and what the world shows do not agree: the same cap took the same kind for an accident twice,
// an act was carried out and its thing is still there, a thing that it ended came back, or a source that speaks for owners suddenly said much less.
//
// It is pure: what is remembered and one sweep give what to remember next and what tripped. What tripped holds until a person releases it.
package brakes

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
)

// What trips.
const (
	CapTwice     = "cap_twice"
	ReadBack     = "read_back"
	CameBack     = "came_back"
	SourceShrank = "source_shrank"
)

// Rules are all that can trip.
var Rules = []string{CapTwice, ReadBack, CameBack, SourceShrank}

// Brake is one that tripped.
type Brake struct {
	Rule string `json:"rule" jsonschema:"enum=cap_twice,enum=read_back,enum=came_back,enum=source_shrank"`
	// At is when it tripped, and Sweep the sweep that tripped it; Kind, Candidate and Act what did, "" where it was none.
	At        time.Time `json:"at"`
	Sweep     string    `json:"sweep"`
	Kind      string    `json:"kind,omitempty"`
	Candidate string    `json:"candidate,omitempty"`
	Act       string    `json:"act,omitempty"`
	// Message says what happened, and what to do next.
	Message string `json:"message"`
}

// Memory is what sweeps left; its zero value is that of the first one.
type Memory struct {
	Tripped []Brake `json:"tripped,omitempty"`
	// Held counts how many acting sweeps in a row a cap took a kind for an accident, by kind and cap.
	Held map[string]int `json:"held,omitempty"`
	// Ended are the things that acts ended of late, by what they are like.
	Ended map[string]Ended `json:"ended,omitempty"`
}

// Ended is a thing that an act ended.
type Ended struct {
	Candidate string    `json:"candidate"`
	Act       string    `json:"act"`
	At        time.Time `json:"at"`
	// Beside are those that it was like and that were there when it ended: none of them is it come back. Where many are alike, some go at one sweep and some at the next.
	Beside []string `json:"beside,omitempty"`
}

// Limits say from when on something trips. A zero turns its brake off.
type Limits struct {
	// CapTimes is how many times in a row a cap must have held a kind back as an accident.
	CapTimes int
	// CameBackWithin is how long after its end a thing that is like one that was ended counts as the same one.
	CameBackWithin time.Duration
}

// Swept is one sweep that is to act: before its acts, or after them.
type Swept struct {
	Sweep string
	At    time.Time
	Caps  []decision.Cap
	Acts  []decision.Act
	// Decisions are all of the look before the acts, which CheckAfter does not ask for.
	Decisions []decision.Decision
	// Like gives, by candidate, what a thing is like that takes its place; "" of what cannot be compared.
	Like func(id string) string
	// IDs are all candidates of that look, in scope or not, of which CheckAfter asks what they are like.
	IDs []string
}

// maxEnded bounds what is remembered of what was ended.
const maxEnded = 1000

// CheckBefore says what is known before a sweep acts: whether what it wants came back after an act ended it. Where something trips, the sweep must not act.
func (m Memory) CheckBefore(s Swept, l Limits) (next Memory, tripped []Brake) {
	w := watch{s, l, nil}
	next = m
	next.Ended = w.cameBack(m.Ended)
	next.Tripped = append(slices.Clone(m.Tripped), w.tripped...)
	return next, w.tripped
}

// CheckAfter says what a sweep that acted leaves to remember, and which brakes it tripped.
func (m Memory) CheckAfter(s Swept, l Limits) (next Memory, tripped []Brake) {
	w := watch{s, l, nil}
	next.Ended = w.ended(m.Ended)
	next.Held = w.caps(m.Held, m.Tripped)
	for _, a := range w.Acts { // those that were carried out and changed nothing
		if a.Outcome.Disputed {
			w.trip(Brake{Rule: ReadBack, Kind: a.Kind, Candidate: a.Candidate, Act: a.ID}, "the act on %s was carried out, and the world shows otherwise: %s", a.Candidate, a.Outcome.Detail)
		}
	}
	next.Tripped = append(slices.Clone(m.Tripped), w.tripped...)
	return next, w.tripped
}

// Without forgets what these acts ended: a person brought it back, and was told when it goes again.
func (m Memory) Without(acts []string) Memory {
	m.Ended = maps.Clone(m.Ended)
	maps.DeleteFunc(m.Ended, func(_ string, e Ended) bool { return slices.Contains(acts, e.Act) })
	return m
}

// Releases leaves the memory without what tripped by one of the rules, or by any where there are none, and without what would trip it again at once. A source that shrank is the cap's to
// remember: it trips again for as long as the cap holds.
func (m Memory) Releases(rules ...string) (next Memory, released []Brake) {
	for _, b := range m.Tripped {
		if len(rules) == 0 || slices.Contains(rules, b.Rule) {
			released = append(released, b)
		} else {
			next.Tripped = append(next.Tripped, b)
		}
	}
	if len(next.Tripped) > 0 {
		next.Held, next.Ended = m.Held, m.Ended
	}
	return next, released
}

type watch struct {
	Swept
	l       Limits
	tripped []Brake
}

func (w *watch) trip(b Brake, format string, args ...any) {
	b.At, b.Sweep, b.Message = w.At, w.Sweep, fmt.Sprintf(format, args...)
	w.tripped = append(w.tripped, b)
}

// caps counts the caps that took a kind for an accident. A source that shrank trips the first time.
func (w *watch) caps(before map[string]int, tripped []Brake) map[string]int {
	held := map[string]int{}
	for _, c := range w.Caps {
		if !c.Stops {
			continue // a slice of a backlog passes
		}
		if c.Cap == decision.CapShrunk {
			w.trip(Brake{Rule: SourceShrank, Kind: c.Kind}, "%s. What a source no longer says may still run: look at the source, then release. "+
				"The cap holds until act.caps.shrunk_within (of proc act.caps.jump_within) has passed: what is released before trips again. "+
				"winnow sweep --apply --all-of %s lets it through once", c.Why, c.Kind)
			continue
		}
		key := c.Kind + " " + c.Cap
		held[key] = before[key] + 1
		said := slices.ContainsFunc(tripped, func(b Brake) bool { return b.Rule == CapTwice && b.Kind == c.Kind })
		if w.l.CapTimes > 0 && held[key] >= w.l.CapTimes && !said { // more, where the limit has become less
			w.trip(Brake{Rule: CapTwice, Kind: c.Kind}, "the cap %s held everything of kind %s back %d times in a row: %s. Look at what is wanted, then release", c.Cap, c.Kind, held[key], c.Why)
		}
	}
	return held
}

// cameBack looks for what is to go again although it, or a thing like it, went a short while ago: something brings it back, so that something needs it. It gives what is still to be
// compared with.
func (w *watch) cameBack(before map[string]Ended) map[string]Ended {
	ended := maps.Clone(before)
	maps.DeleteFunc(ended, func(_ string, e Ended) bool {
		age := w.At.Sub(e.At)
		return age > w.l.CameBackWithin || age < 0 // the clock was set back: nothing waits for it to come by again
	})
	for _, d := range w.Decisions {
		if d.Verdict != decision.Reap && !d.Waits() {
			continue
		}
		e, ok := ended[w.like(d.ID)]
		if !ok || slices.Contains(e.Beside, d.ID) {
			continue
		}
		delete(ended, w.like(d.ID))
		what := d.ID
		if e.Candidate != d.ID {
			what += " is like " + e.Candidate + ", which"
		} else {
			what += " is here again, and"
		}
		w.trip(Brake{Rule: CameBack, Kind: d.Kind, Candidate: d.ID, Act: e.Act},
			"%s act %s ended on %s: something brings it back, and may need it. Find out what starts it; winnow retain keeps it", what, e.Act, e.At.Local().Format(time.DateTime))
	}
	return ended
}

// ended adds what acts ended to what is remembered of that.
func (w *watch) ended(before map[string]Ended) map[string]Ended {
	ended := maps.Clone(before)
	if ended == nil {
		ended = map[string]Ended{}
	}
	now, acted := map[string]bool{}, map[string]bool{}
	for _, a := range w.Acts {
		if like := w.like(a.Candidate); like != "" && a.Outcome.Outcome == decision.Done && len(ended) < maxEnded {
			ended[like] = Ended{Candidate: a.Candidate, Act: a.ID, At: w.At}
			now[like], acted[a.Candidate] = true, true
		}
	}
	if len(now) == 0 {
		return ended
	}
	for _, id := range w.IDs {
		like := w.like(id)
		if !now[like] || acted[id] {
			continue
		}
		// What came between two ends of its like may be the first one come back.
		if was, again := before[like]; again && !slices.Contains(was.Beside, id) {
			continue
		}
		e := ended[like]
		e.Beside = append(e.Beside, id)
		ended[like] = e
	}
	return ended
}

func (w *watch) like(id string) string {
	if w.Like == nil || w.l.CameBackWithin <= 0 {
		return ""
	}
	return w.Like(id)
}
