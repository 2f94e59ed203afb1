package comparison

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/flips"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/text"
)

const (
	// maxListed is how many flips of one change are listed; more are counted.
	maxListed = 5000
	// maxNames is how many snapshots a flip names.
	maxNames = 20
	// maxExplained is for how many flips of one rule the facts are looked for.
	maxExplained = 20
	// maxFacts is how many conditions a cause shows of each side.
	maxFacts = 3
	// maxLabelled is how many labelled candidates are named.
	maxLabelled = 1000
)

// Rules are the rules of one version, and the levels that its configuration gives them.
type Rules struct {
	Loaded map[string]policy.Rule
	// Shipped are the names of the files that Winnow brings.
	Shipped map[string]bool
	Levels  []subject.RuleLevel
}

// level is the level of a rule for a kind.
func (r Rules) level(rule, kind string) string {
	for _, l := range r.Levels {
		if l.Rule == rule && l.Kind == kind {
			return l.Level
		}
	}
	return decision.On
}

// Builder gathers what is different, one snapshot after the other.
type Builder struct {
	doc        Document
	base, head Rules
	seed       maphash.Seed
	things     map[uint64]bool
	flips      map[string]*entry
	order      []*entry
	listed     map[string]int
	explained  map[string]int
	named      map[string]int // how many flips name a cause
	judged     map[string]int // snapshots with something in scope, by kind
	spoken     map[string]int // reasons of the head, by rule
}

// entry is a flip that is listed.
type entry struct {
	flip   Flip
	change string
}

// New begins a document of two versions, with the rules of each.
func New(base, head Side, baseRules, headRules Rules) *Builder {
	return &Builder{
		doc:  Document{Schema: Schema, Base: base, Head: head, Lost: []Labelled{}, Doomed: []Labelled{}, Groups: []Group{}, Snapshots: []Snapshot{}, Failed: []string{}},
		base: baseRules, head: headRules, seed: maphash.MakeSeed(), things: map[uint64]bool{}, flips: map[string]*entry{},
		listed: map[string]int{}, explained: map[string]int{}, judged: map[string]int{}, spoken: map[string]int{},
	}
}

// Broken adds a snapshot that could not be compared.
func (b *Builder) Broken(name string, why error) {
	b.doc.Snapshots = append(b.doc.Snapshots, Snapshot{Name: name, Error: why.Error()})
}

// Stop notes why the rest of the snapshots was not decided.
func (b *Builder) Stop(why string) { b.doc.Stopped = why }

// Wants reports whether the facts of a flip are still to be looked for.
func (b *Builder) Wants(f flips.Flip) bool {
	return f.Change == flips.NewReap && slices.ContainsFunc(f.Causes, func(c flips.Cause) bool { return b.explained[c.Rule+" "+c.What] < maxExplained })
}

// Explained are the explanations of one candidate by both; a nil one was not asked for, or came to nothing.
type Explained struct{ Base, Head *explain.Explanation }

// Add adds what is different in one snapshot. explain is asked for the flips that Wants names.
func (b *Builder) Add(name string, taken time.Time, host string, r flips.Result, unanswered []Unanswered, explain func(id string) Explained) {
	s := Snapshot{Name: name, TakenAt: &taken, Unanswered: unanswered}
	b.doc.Candidates += r.Compared
	b.doc.Same += r.Same
	if r.Live.Labelled+r.Dead.Labelled > 0 {
		if b.doc.Labels == nil {
			b.doc.Labels = &Tallies{}
		}
		add(&b.doc.Labels.Live, r.Live)
		add(&b.doc.Labels.Dead, r.Dead)
	}
	for _, id := range r.Doomed {
		b.doc.Doomed = b.labelled(b.doc.Doomed, name, id)
	}
	for _, f := range r.Flips {
		switch f.Change {
		case flips.NewReap:
			s.NewReap++
		case flips.NewKeep:
			s.NewKeep++
		case flips.Reasons:
			s.Reasons++
		default:
			s.Scope++
		}
		if f.Lost() {
			s.Lost++
			b.doc.Lost = b.labelled(b.doc.Lost, name, f.ID)
		}
		b.flip(name, host, f, explain)
	}
	b.doc.Snapshots = append(b.doc.Snapshots, s)
}

func add(to *flips.Tally, more flips.Tally) {
	to.Labelled += more.Labelled
	to.Base += more.Base
	to.Head += more.Head
}

func (b *Builder) labelled(to []Labelled, name, id string) []Labelled {
	if len(to) >= maxLabelled {
		return to
	}
	return append(to, Labelled{Snapshot: name, ID: id})
}

// flip counts a flip, and lists it unless it is listed or there is no room.
func (b *Builder) flip(name, host string, f flips.Flip, explain func(id string) Explained) {
	count := b.doc.Changes.Count(f.Change)
	count.Decisions++
	// The same thing is that of the same name on the same machine.
	thing := maphash.String(b.seed, f.Change+"\x00"+host+"\x00"+f.ID+"\x00"+f.Label)
	if !b.things[thing] {
		b.things[thing] = true
		count.Things++
	}
	key := []string{f.Change, host, f.ID, f.Label, f.Truth}
	for _, c := range f.Causes {
		key = append(key, c.Rule, c.What)
	}
	if e := b.flips[strings.Join(key, "\x00")]; e != nil {
		if e.flip.Count++; len(e.flip.Snapshots) < maxNames {
			e.flip.Snapshots = append(e.flip.Snapshots, name)
		}
		return
	}
	if b.listed[f.Change] >= maxListed {
		unlisted := b.doc.Unlisted.Count(f.Change)
		unlisted.Decisions++
		if thing = maphash.String(b.seed, "unlisted\x00"+strings.Join(key, "\x00")); !b.things[thing] {
			b.things[thing] = true
			unlisted.Things++
		}
		return
	}
	b.listed[f.Change]++
	e := &entry{change: f.Change, flip: Flip{
		ID: f.ID, Kind: f.Kind, Label: f.Label, Owner: f.Owner, Host: host, Truth: f.Truth, Snapshots: []string{name}, Count: 1,
		Base: Verdict(f.Base), Head: Verdict(f.Head), Causes: []Cause{},
		Was: append([]decision.Reason{}, f.Was...), Why: append([]decision.Reason{}, f.Why...),
	}}
	var why Explained
	if b.Wants(f) {
		why = explain(f.ID)
	}
	for _, c := range f.Causes {
		b.explained[c.Rule+" "+c.What]++
		cause := Cause{Rule: c.Rule, What: c.What, Base: c.Base, Head: c.Head}
		if x, y := b.base.level(c.Rule, f.Kind), b.head.level(c.Rule, f.Kind); x != y {
			cause.Levels = &Levels{x, y}
		} else {
			cause.Facts = facts(c, why)
		}
		e.flip.Causes = append(e.flip.Causes, cause)
	}
	b.flips[strings.Join(key, "\x00")] = e
	b.order = append(b.order, e)
}

// facts are the conditions at which one side ended and the other did not: of a finding that is new those that the base's rule ended at, of
// an objection that fell silent what kept it before, and what the head's rule ended at or was shown.
func facts(c flips.Cause, why Explained) []Fact {
	var out []Fact
	add := func(in string, held bool, conditions []explain.Condition) {
		for i, x := range innermost(conditions) {
			if i == maxFacts {
				break
			}
			out = append(out, newFact(in, held, x))
		}
	}
	silent := func(of []explain.Silent) (all []explain.Silent) {
		for _, s := range of {
			if s.Rule == c.Rule {
				all = append(all, s)
			}
		}
		return all
	}
	if why.Base != nil {
		switch c.What {
		case flips.Found:
			for _, s := range silent(why.Base.NoFinding) {
				add(Base, false, s.Failed)
			}
		case flips.Silent:
			for _, f := range why.Base.Objections {
				if f.Rule == c.Rule {
					add(Base, false, f.Missing)
				}
			}
		}
	}
	if why.Head != nil && c.What == flips.Silent {
		for _, s := range silent(why.Head.NoObjection) {
			if len(s.Shown) > 0 {
				add(Head, true, s.Shown)
			} else {
				add(Head, false, s.Failed)
			}
		}
	}
	return out[:min(len(out), 2*maxFacts)]
}

func newFact(in string, held bool, x explain.Condition) Fact {
	f := Fact{In: in, Held: held, Rule: x.Rule, File: x.File, Line: x.Line, Text: x.Text}
	for _, v := range x.Values {
		if v.Name != "" {
			f.Values = append(f.Values, Value{Name: v.Name, Value: short(v.Value), Unknown: v.Unknown})
		}
	}
	return f
}

// innermost are the places at which conditions came to their end, each once.
func innermost(cs []explain.Condition) (out []explain.Condition) {
	for _, c := range cs {
		if len(c.Because) > 0 {
			out = append(out, innermost(c.Because)...)
		} else if !slices.ContainsFunc(out, func(x explain.Condition) bool { return x.File == c.File && x.Line == c.Line }) {
			out = append(out, c)
		}
	}
	return out
}

// Count counts what the head says in one snapshot.
func (b *Builder) Count(head []decision.Decision) {
	kinds := map[string]bool{}
	for _, d := range head {
		kinds[d.Kind] = true
		for _, r := range slices.Concat(d.Findings, d.Objections) {
			b.spoken[r.Rule]++
		}
	}
	for kind := range kinds {
		b.judged[kind]++
	}
}

// Require notes the levels that the head was given, and in how many snapshots there must be something for their rules to judge; 0 requires nothing.
func (b *Builder) Require(levels []subject.RuleLevel, snapshots int) {
	b.doc.Required = snapshots
	for _, l := range levels {
		b.doc.Levels = append(b.doc.Levels, TriedLevel{Rule: l.Rule, Kind: l.Kind, Level: l.Level, Judged: b.judged[l.Kind], Findings: b.spoken[l.Rule]})
	}
}

// Silent are the rules of the head that said nothing so far, those that Winnow brings left out. There are none where an evaluation came to no answer: any
// rule may have been about to speak.
func (b *Builder) Silent() []SilentRule {
	if len(b.doc.Silent) > 0 || slices.ContainsFunc(b.doc.Snapshots, func(s Snapshot) bool { return len(s.Unanswered) > 0 }) {
		return b.doc.Silent
	}
	for _, id := range slices.Sorted(maps.Keys(b.head.Loaded)) {
		if r := b.head.Loaded[id]; b.spoken[id] == 0 && !b.head.Shipped[r.File] {
			b.doc.Silent = append(b.doc.Silent, SilentRule{Rule: id, File: r.File, Line: r.Line, Ended: []Ended{}})
		}
	}
	return b.doc.Silent
}

// Ended notes where the silent rules ended for a candidate, by its explanation.
func (b *Builder) Ended(id, kind string, x *explain.Explanation) {
	for i := range b.doc.Silent {
		s := &b.doc.Silent[i]
		for _, ended := range slices.Concat(x.NoFinding, x.NoObjection) {
			if ended.Rule != s.Rule {
				continue
			}
			for _, c := range innermost(slices.Concat(ended.Failed, ended.Shown)) {
				s.Ended = append(s.Ended, Ended{id, newFact(Head, len(ended.Failed) == 0, c)})
				break
			}
			break
		}
	}
}

// Document is all that was gathered; failOn is what was asked to fail.
func (b *Builder) Document(failOn string) *Document {
	doc := &b.doc
	groups := b.groups()
	for _, e := range b.order {
		c := b.decides(e, groups)
		key := groupKey(e.change, c)
		g := groups[key]
		g.Count.Things++
		g.Count.Decisions += e.flip.Count
		g.Flips = append(g.Flips, e.flip)
	}
	for _, g := range groups {
		if len(g.Flips) > 0 {
			slices.SortStableFunc(g.Flips, func(x, y Flip) int {
				return cmp.Or(cmp.Compare(truthRank(x), truthRank(y)), strings.Compare(x.Kind, y.Kind), strings.Compare(x.ID, y.ID), strings.Compare(x.Host, y.Host))
			})
			doc.Groups = append(doc.Groups, *g)
		}
	}
	slices.SortFunc(doc.Groups, func(x, y Group) int {
		return cmp.Or(cmp.Compare(slices.Index(flips.Changes, x.Change), slices.Index(flips.Changes, y.Change)), cmp.Compare(y.Count.Decisions, x.Count.Decisions),
			strings.Compare(x.Rule, y.Rule), strings.Compare(x.What, y.What))
	})
	doc.Silent = b.Silent()
	doc.FailOn = failOn
	doc.judge()
	return doc
}

// truthRank puts what is labelled as live first.
func truthRank(f Flip) int {
	if f.Truth == snapshot.Live {
		return 0
	}
	return 1
}

func groupKey(change string, c Cause) string { return change + "\x00" + c.Rule + "\x00" + c.What }

// groups are those that any flip may belong to, each with how many flips name it.
func (b *Builder) groups() map[string]*Group {
	out := map[string]*Group{}
	for _, e := range b.order {
		if len(e.flip.Causes) == 0 {
			e.flip.Causes = append(e.flip.Causes, Cause{What: flips.Within})
		}
		for _, c := range e.flip.Causes {
			key := groupKey(e.change, c)
			if out[key] == nil {
				g := &Group{Change: e.change, Rule: c.Rule, What: c.What, Flips: []Flip{}}
				b.describe(g)
				out[key] = g
			}
		}
	}
	return out
}

// describe says where a group's rule stands.
func (b *Builder) describe(g *Group) {
	base, inBase := b.base.Loaded[g.Rule]
	head, inHead := b.head.Loaded[g.Rule]
	r, shipped := head, b.head.Shipped
	switch {
	case inBase && inHead:
		g.In = both
	case inHead:
		g.In = Head
	case inBase:
		g.In, r, shipped = Base, base, b.base.Shipped
	}
	g.Title, g.File, g.Line, g.Shipped = r.Title, r.File, r.Line, shipped[r.File]
}

// decides is the cause under which a flip is listed: the one that most flips of the change have, so that the change of one rule is one group.
func (b *Builder) decides(e *entry, groups map[string]*Group) Cause {
	if b.named == nil {
		b.named = map[string]int{}
		for _, other := range b.order {
			for _, c := range other.flip.Causes {
				b.named[groupKey(other.change, c)]++
			}
		}
	}
	best := e.flip.Causes[0]
	for _, c := range e.flip.Causes[1:] {
		if b.named[groupKey(e.change, c)] > b.named[groupKey(e.change, best)] {
			best = c
		}
	}
	return best
}

// judge says why the comparison fails.
func (d *Document) judge() {
	fail := func(format string, args ...any) { d.Failed = append(d.Failed, fmt.Sprintf(format, args...)) }
	if d.Stopped != "" {
		fail("%s", d.Stopped)
	}
	broken, unanswered := map[string]bool{}, map[string]int{}
	for _, s := range d.Snapshots {
		if s.Error != "" {
			broken[s.Name] = true
		}
		for _, u := range s.Unanswered {
			unanswered[u.In]++
		}
	}
	if len(broken) > 0 {
		fail("%s could not be compared: %s", text.Plural(len(broken), "snapshot"), few(slices.Sorted(maps.Keys(broken))))
	}
	for _, in := range slices.Sorted(maps.Keys(unanswered)) {
		fail("the policies of the %s came to no answer %s (policy_error)", in, text.Plural(unanswered[in], "time"))
	}
	if n := len(d.Lost); n > 0 {
		fail("%s labelled as live would go, and would stay by the base", text.Plural(n, "candidate"))
	}
	for _, l := range d.Levels {
		if d.Required > 0 && l.Judged < d.Required {
			fail("%s had something for %s to judge, and --require wants %d: record more sweeps (record in config.yaml), or name more snapshots",
				text.Plural(l.Judged, "snapshot"), l.Rule, d.Required)
		}
		if d.Required > 0 && l.Findings == 0 {
			fail("%s found nothing in them, so nothing is known of what it does", l.Rule)
		}
	}
	c := d.Changes
	switch all := c.NewReap.Things + c.NewKeep.Things + c.Reasons.Things + c.Scope.Things; {
	case d.FailOn == FailNewReap && c.NewReap.Things > 0:
		fail("%s, which --fail-on %s forbids", wouldGo(c.NewReap.Things), FailNewReap)
	case d.FailOn == FailAny && all > 0:
		fail("%s changed, which --fail-on %s forbids", text.Plural(c.NewReap.Decisions+c.NewKeep.Decisions+c.Reasons.Decisions+c.Scope.Decisions, "decision"), FailAny)
	}
}

// few names the first of many.
func few(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
