package actuators

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
)

// Caps bound what one sweep may do, in two ways. An ordinary backlog passes in slices: the oldest go, and the rest waits for the next
// sweep. What looks like an accident stops everything of a kind: then a record or a rule is more likely to be wrong than the world is. Zero allows
// nothing.
type Caps struct {
	// PerSweep is how many acts a sweep may carry out, of one kind and of all kinds together; PerOwner how many of one kind one owner
	// may suffer. Both let a slice through.
	PerSweep int
	PerOwner int
	// Share (0 to 1) is which part may change at once, counted from ShareFrom on, before it counts as an accident; see brakes.
	Share     float64
	ShareFrom int
	// AllOf are the kinds that no accident stops: a person has looked.
	AllOf []string
}

// Past is what earlier looks tell of an accident; the zero value is no earlier look.
type Past struct {
	// At is the look that Used is of: those that were kept because something alive used or owned them, by candidate.
	At   time.Time
	Used map[string]bool
	// Most is the most that earlier looks read from a source, Now what this look read from those that it could read.
	Most map[string]Count
	Now  map[string]int
}

// Count is how much was read, and when.
type Count struct {
	Seen int
	At   time.Time
}

// kindProcess is the kind that an ending owner leaves behind in numbers.
const kindProcess = "process"

// spent is what a sweep has begun so far.
type spent struct {
	all int
	by  map[owned]int
}

type owned struct{ kind, owner string }

// one counts an act that is begun.
func (s *spent) one(d decision.Decision) {
	if s.by == nil {
		s.by = map[owned]int{}
	}
	s.all++
	s.by[owned{d.Kind, d.Owner}]++
}

// Plan is what the caps leave of what is wanted.
type Plan struct {
	// Go is what may be done, by kind and the oldest first. Wait is what a cap holds back, each with its message.
	Go   map[string][]decision.Decision
	Wait map[string][]Waiting
	// Caps are those that hold something back, each once for a kind, in the order of the kinds.
	Caps []decision.Cap
}

// Waiting is a decision that a cap holds back.
type Waiting struct {
	decision.Decision
	Detail string
}

// Plan says what one sweep may do of ds, and what holds the rest back. kinds are in the order of acts; ds are all decisions of the look.
func (c Caps) Plan(kinds []string, ds []decision.Decision, past Past) Plan {
	return c.plan(kinds, ds, past, &spent{})
}

func (c Caps) plan(kinds []string, ds []decision.Decision, past Past, so *spent) Plan {
	p := Plan{Go: map[string][]decision.Decision{}, Wait: map[string][]Waiting{}}
	left, total := c.PerSweep-so.all, so.all
	held := map[string][]decision.Decision{}
	for _, kind := range kinds {
		wanted := slices.DeleteFunc(slices.Clone(ds), func(d decision.Decision) bool { return d.Kind != kind || d.Verdict != decision.Reap })
		if len(wanted) == 0 {
			continue
		}
		sortOldest(wanted)
		total += len(wanted)
		brakes := c.brakes(kind, wanted, ds, past)
		taken, caps := c.slice(kind, wanted, left, so)
		p.Caps = append(append(p.Caps, brakes...), caps...)
		if len(brakes) > 0 {
			taken = map[string]bool{}
		}
		for _, d := range wanted {
			if taken[d.ID] {
				p.Go[kind] = append(p.Go[kind], d)
			} else {
				held[kind] = append(held[kind], d)
			}
		}
		left -= len(taken)
	}
	by := map[string][]decision.Cap{}
	for i := range p.Caps {
		this := &p.Caps[i]
		this.Lift = decision.FlagAllOf + " " + this.Kind
		if this.Flag == decision.FlagMax {
			this.Lift = fmt.Sprintf("%s %d", decision.FlagMax, total)
		}
		by[this.Kind] = append(by[this.Kind], *this)
	}
	for kind, ds := range held {
		detail := waits(by[kind])
		for _, d := range ds {
			p.Wait[kind] = append(p.Wait[kind], Waiting{d, detail})
		}
	}
	return p
}

// waits is the message about what caps hold back.
func waits(caps []decision.Cap) string {
	var why, lift []string
	stops := false
	for _, c := range caps {
		if stops && !c.Stops {
			continue // it would hold a part back if nothing stopped all of them
		}
		stops = stops || c.Stops
		why = append(why, c.Why)
		if !slices.Contains(lift, c.Lift) {
			lift = append(lift, c.Lift)
		}
	}
	if stops {
		return fmt.Sprintf("%s; nothing of this kind was done. Look at what is wanted; where it is right, %s lets it through for one sweep",
			strings.Join(why, "; "), strings.Join(lift, " "))
	}
	return fmt.Sprintf("%s; it waits for the next sweep, and %s lifts this for one sweep", strings.Join(why, "; "), strings.Join(lift, " "))
}

// sortOldest puts what is known to be oldest first. What has no known age comes last.
func sortOldest(ds []decision.Decision) {
	age := func(d decision.Decision) float64 {
		if d.Age == nil || math.IsNaN(*d.Age) {
			return math.Inf(-1)
		}
		return *d.Age
	}
	slices.SortStableFunc(ds, func(a, b decision.Decision) int {
		return cmp.Or(cmp.Compare(age(b), age(a)), cmp.Compare(a.ID, b.ID))
	})
}

// slice takes of wanted, which are of one kind and in order, as many as an owner and the sweep allow. left is how many acts the sweep may
// still carry out.
func (c Caps) slice(kind string, wanted []decision.Decision, left int, so *spent) (taken map[string]bool, caps []decision.Cap) {
	taken = map[string]bool{}
	by, over := map[string]int{}, map[string]int{}
	for _, d := range wanted {
		over[d.Owner]++
		if by[d.Owner]+so.by[owned{kind, d.Owner}] >= c.PerOwner {
			continue
		}
		by[d.Owner]++
		if len(taken) < left {
			taken[d.ID] = true
		}
	}
	n := len(wanted)
	if left = max(left, 0); n > left {
		why := fmt.Sprintf("%d acts of kind %s are wanted, and act.caps.per_sweep allows a sweep %d", n, kind, c.PerSweep)
		if left < c.PerSweep {
			why = fmt.Sprintf("%d acts of kind %s are wanted; act.caps.per_sweep allows %[4]d, and other acts leave %[3]d of them", n, kind, left, c.PerSweep)
		}
		caps = append(caps, decision.Cap{Kind: kind, Cap: decision.CapPerSweep, Limit: float64(c.PerSweep), Wanted: n, Held: n - left, Flag: decision.FlagMax, Stops: c.PerSweep <= 0, Why: why})
	}
	return taken, append(caps, c.perOwner(kind, n, over, so)...)
}

// perOwner is the cap on one owner's part, for all owners that are over it; without a known owner candidates count as one owner's.
func (c Caps) perOwner(kind string, n int, wanted map[string]int, so *spent) []decision.Cap {
	held, worst := 0, ""
	owners := 0
	for o, k := range wanted {
		over := k - max(c.PerOwner-so.by[owned{kind, o}], 0)
		if over <= 0 {
			continue
		}
		held += over
		owners++
		if worst == "" && owners == 1 || k > wanted[worst] || k == wanted[worst] && o < worst {
			worst = o
		}
	}
	if held == 0 {
		return nil
	}
	why := fmt.Sprintf("%d acts of kind %s are wanted for %s, and act.caps.per_owner allows an owner %d in one sweep", wanted[worst], kind, ownerName(worst), c.PerOwner)
	if owners > 1 {
		why += fmt.Sprintf(" (%d other owners fare the same)", owners-1)
	}
	return []decision.Cap{{Kind: kind, Cap: decision.CapPerOwner, Limit: float64(c.PerOwner), Wanted: n, Held: held, Flag: decision.FlagMax, Stops: c.PerOwner <= 0, Why: why}}
}

// brakes are the accidents that stop everything of a kind: things of living owners are wanted, much of what was in use just now suddenly is
// not, or a source that speaks for owners suddenly says much less.
func (c Caps) brakes(kind string, wanted, all []decision.Decision, past Past) []decision.Cap {
	if slices.Contains(c.AllOf, kind) {
		return nil
	}
	var out []decision.Cap
	for _, why := range []struct{ cap, text string }{
		{decision.CapAlive, c.alive(kind, wanted, all)},
		{decision.CapJump, c.jump(kind, wanted, all, past)},
		{decision.CapShrunk, c.shrunk(past)},
	} {
		if why.text != "" {
			out = append(out, decision.Cap{Kind: kind, Cap: why.cap, Limit: c.Share, Wanted: len(wanted), Held: len(wanted), Flag: decision.FlagAllOf, Stops: true, Why: why.text})
		}
	}
	return out
}

// alive counts what is wanted although a record says that its owner lives, of all such candidates, and of those of each owner. The rules
// that keep object to each of them, so there is none unless a rule was turned off or is wrong.
func (c Caps) alive(kind string, wanted, all []decision.Decision) string {
	living := func(ds []decision.Decision) (n int, by map[string]int, example string) {
		by = map[string]int{}
		for _, d := range ds {
			if d.Kind == kind && d.Alive != "" {
				n++
				by[d.Owner]++
				example = cmp.Or(example, d.Alive)
			}
		}
		return n, by, example
	}
	n, by, example := living(wanted)
	total, ofOwner, _ := living(all)
	if c.overShare(n, total) {
		return fmt.Sprintf("%d of the %d candidates of kind %s whose owner is alive by a record (%s) are wanted. act.caps.share allows %g of them (from act.caps.share_from = %d on)",
			n, total, kind, example, c.Share, c.ShareFrom)
	}
	for _, o := range slices.Sorted(maps.Keys(by)) {
		if c.overShare(by[o], ofOwner[o]) {
			return fmt.Sprintf("%d of the %d candidates of kind %s of %s whose owner is alive by a record are wanted. act.caps.share allows %g of them (from act.caps.share_from = %d on)",
				by[o], ofOwner[o], kind, ownerName(o), c.Share, c.ShareFrom)
		}
	}
	return ""
}

// jump counts what is wanted and was in use at an earlier look, of all that was in use then and is still there: of all of a kind, and of
// each of its groups, since a record of one project that is wrong may be a small part of all. Processes are counted by
// their owners: an agent that ends leaves all that it started behind, which is one event.
func (c Caps) jump(kind string, wanted, all []decision.Decision, past Past) string {
	going, had := past.units(kind, wanted), past.units(kind, all)
	for _, group := range slices.Sorted(maps.Keys(going)) {
		n, total := len(going[group]), len(had[group])
		if !c.overShare(n, total) {
			continue
		}
		what := "candidates of kind " + kind
		if kind == kindProcess {
			what = "owners of processes"
		}
		if group != "" {
			what += " of " + group
		}
		return fmt.Sprintf("%d of the %d %s that were in use at the look of %s are suddenly wanted. act.caps.share allows %g of them (from act.caps.share_from = %d on)",
			n, total, what, past.At.Local().Format(time.TimeOnly), c.Share, c.ShareFrom)
	}
	return ""
}

// units are what was in use at the earlier look: all of a kind under "", and those of each group.
func (p Past) units(kind string, ds []decision.Decision) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, d := range ds {
		if d.Kind != kind || !p.Used[d.ID] {
			continue
		}
		unit := d.ID
		if kind == kindProcess {
			unit = cmp.Or(d.Owner, d.ID)
		}
		for _, group := range append([]string{""}, d.Groups...) {
			if out[group] == nil {
				out[group] = map[string]bool{}
			}
			out[group][unit] = true
		}
	}
	return out
}

// shrunk finds a source that suddenly gives much less. What it no longer says may be what kept things, of any kind.
func (c Caps) shrunk(past Past) string {
	for _, name := range slices.Sorted(maps.Keys(past.Now)) {
		now, most := past.Now[name], past.Most[name]
		if lost := most.Seen - now; lost > 0 && c.overShare(lost, most.Seen) {
			return fmt.Sprintf("%s gave %d at %s and gives %d now. act.caps.share allows %g of it to be gone (from act.caps.share_from = %d on)",
				name, most.Seen, most.At.Local().Format(time.DateTime), now, c.Share, c.ShareFrom)
		}
	}
	return ""
}

// overShare reports whether n of total is too large a part. The small term forgives what floating point adds to an exact
// share; the comparison is written so that a share that is not a number allows nothing.
func (c Caps) overShare(n, total int) bool {
	return n >= c.ShareFrom && n > 0 && !(float64(n) <= c.Share*float64(total)+1e-9)
}

func ownerName(o string) string { return cmp.Or(o, "candidates without a known owner") }
