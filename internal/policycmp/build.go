package policycmp

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/compare"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/document"
)

const (
	// maxListed is how many flips of one change are listed; more are counted.
	maxListed = 5000
	// maxNames is how many snapshots a flip names.
	maxNames = 20
	// maxExplained is for how many flips of one rule the facts are looked for.
	maxExplained = 20
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
	return (&subject.Config{Levels: r.Levels}).Level(kind, rule)
}

// Builder gathers what is different, one snapshot after the other.
type Builder struct {
	doc       document.Comparison
	rules     [2]Rules
	things    map[thing]bool
	flips     map[string]*document.Flip
	order     []*document.Flip
	listed    map[string]int
	explained map[group]int
	judged    map[string]int // snapshots with something in scope, by kind
	spoken    map[string]int // reasons of the head, by rule
}

// thing is what counts once: of one name on one machine. key is empty, and for one that there is no room for what its flip is found by.
type thing struct{ change, host, id, label, key string }

// group is what flips are listed under.
type group struct{ change, rule, what string }

// New begins a document of two versions, with the rules of each.
func New(versions [2]document.Version, rules [2]Rules) *Builder {
	return &Builder{
		doc: document.Comparison{
			Schema: document.ComparisonSchema, Base: versions[0], Head: versions[1], Lost: []document.LabelledCandidate{}, Doomed: []document.LabelledCandidate{},
			Groups: []document.Group{}, Snapshots: []document.ComparedSnapshot{},
		},
		rules: rules, things: map[thing]bool{}, flips: map[string]*document.Flip{}, listed: map[string]int{}, explained: map[group]int{},
		judged: map[string]int{}, spoken: map[string]int{},
	}
}

// Add adds what is different in one snapshot, or why it could not be compared. explain is asked for the first flips of each rule.
func (b *Builder) Add(o compare.Outcome, explain func(id string) compare.Explained) {
	s := document.ComparedSnapshot{Name: o.Name, Unanswered: o.Unanswered}
	if o.Err != nil {
		s.Error = o.Err.Error()
	} else {
		s.TakenAt = new(o.Snapshot.TakenAt) // not the address, which would keep the snapshot in memory
		b.count(o)
	}
	for _, f := range o.Flips {
		*s.Count(f.Change)++
		if f.Lost() {
			s.Lost++
			b.doc.Lost = labelled(b.doc.Lost, o.Name, f.ID)
		}
		b.flip(o.Name, o.Snapshot.Host.Name, f, explain)
	}
	b.doc.Snapshots = append(b.doc.Snapshots, s)
}

// count counts what is decided in one snapshot.
func (b *Builder) count(o compare.Outcome) {
	b.doc.Candidates += o.Compared
	b.doc.Same += o.Same
	if o.Live.Labelled+o.Dead.Labelled > 0 {
		if b.doc.Labels == nil {
			b.doc.Labels = &document.Tallies{}
		}
		b.doc.Labels.Live.Add(o.Live)
		b.doc.Labels.Dead.Add(o.Dead)
	}
	for _, id := range o.Doomed {
		b.doc.Doomed = labelled(b.doc.Doomed, o.Name, id)
	}
	kinds := map[string]bool{}
	for _, d := range o.Decided {
		kinds[d.Kind] = true
		for _, r := range slices.Concat(d.Findings, d.Objections) {
			b.spoken[r.Rule]++
		}
	}
	for kind := range kinds {
		b.judged[kind]++
	}
}

func labelled(to []document.LabelledCandidate, name, id string) []document.LabelledCandidate {
	if len(to) >= maxLabelled {
		return to
	}
	return append(to, document.LabelledCandidate{Snapshot: name, ID: id})
}

// flip counts a flip, and lists it unless it is listed or there is no room.
func (b *Builder) flip(name, host string, f compare.Flip, explain func(id string) compare.Explained) {
	one := thing{f.Change, host, f.ID, f.Label, ""}
	b.countThing(b.doc.Changes.Count(f.Change), one)
	words := []string{f.Change, host, f.ID, f.Label, f.Truth}
	for _, c := range f.Causes {
		words = append(words, c.Rule, c.What)
	}
	key := strings.Join(words, "\x00")
	if known := b.flips[key]; known != nil {
		if known.Count++; len(known.Snapshots) < maxNames {
			known.Snapshots = append(known.Snapshots, name)
		}
		return
	}
	if b.listed[f.Change] >= maxListed {
		one.key = key
		b.countThing(b.doc.Unlisted.Count(f.Change), one)
		return
	}
	b.listed[f.Change]++
	b.explain(&f, explain)
	b.flips[key] = &document.Flip{Flip: f, Host: host, Snapshots: []string{name}, Count: 1}
	b.order = append(b.order, b.flips[key])
}

func (b *Builder) countThing(c *document.Count, one thing) {
	c.Decisions++
	if !b.things[one] {
		b.things[one] = true
		c.Things++
	}
}

// explain adds to the causes of a flip the levels that differ, and for the first flips of a rule that end something the facts.
func (b *Builder) explain(f *compare.Flip, explain func(id string) compare.Explained) {
	var why compare.Explained
	wanted := func(c compare.Cause) bool { return b.explained[group{rule: c.Rule, what: c.What}] < maxExplained }
	if f.Change == compare.NewReap && slices.ContainsFunc(f.Causes, wanted) {
		why = explain(f.ID)
	}
	for i := range f.Causes {
		c := &f.Causes[i]
		b.explained[group{rule: c.Rule, what: c.What}]++
		if x, y := b.rules[0].level(c.Rule, f.Kind), b.rules[1].level(c.Rule, f.Kind); x != y {
			c.Levels = &compare.Levels{Base: x, Head: y}
		} else {
			c.Facts = why.Facts(*c)
		}
	}
}

// Require notes the levels that the head was given, and in how many snapshots there must be something for their rules to judge; 0 requires nothing.
func (b *Builder) Require(levels []subject.RuleLevel, snapshots int) {
	b.doc.Required = snapshots
	for _, l := range levels {
		b.doc.Levels = append(b.doc.Levels,
			document.TriedLevel{Rule: l.Rule, Kind: l.Kind, Level: l.Level, Judged: b.judged[l.Kind], Findings: b.spoken[l.Rule]})
	}
}

// Silent notes the rules of the head that said nothing, those that Winnow brings left out, and reports whether there are any. There are none where an
// evaluation came to no answer: any rule may have been about to speak.
func (b *Builder) Silent() bool {
	if slices.ContainsFunc(b.doc.Snapshots, func(s document.ComparedSnapshot) bool { return len(s.Unanswered) > 0 }) {
		return false
	}
	for _, id := range slices.Sorted(maps.Keys(b.rules[1].Loaded)) {
		if r := b.rules[1].Loaded[id]; b.spoken[id] == 0 && !b.rules[1].Shipped[r.File] {
			b.doc.Silent = append(b.doc.Silent, document.SilentRule{Rule: id, File: r.File, Line: r.Line, Ended: []document.Ended{}})
		}
	}
	return len(b.doc.Silent) > 0
}

// Ended notes where the silent rules ended for a candidate, by its explanation.
func (b *Builder) Ended(id string, x *explain.Explanation) {
	for i := range b.doc.Silent {
		s := &b.doc.Silent[i]
		if fact, ok := compare.EndOf(s.Rule, x); ok {
			s.Ended = append(s.Ended, document.Ended{ID: id, Fact: fact})
		}
	}
}

// Document is all that was gathered; failOn is what was asked to fail.
func (b *Builder) Document(failOn string) *document.Comparison {
	named, groups := map[group]int{}, map[group]*document.Group{}
	for _, f := range b.order {
		for _, c := range f.Causes {
			named[group{f.Change, c.Rule, c.What}]++
		}
	}
	for _, f := range b.order {
		key := listedUnder(f, named)
		if groups[key] == nil {
			groups[key] = b.group(key)
		}
		g := groups[key]
		g.Count.Things++
		g.Count.Decisions += f.Count
		g.Flips = append(g.Flips, *f)
	}
	for _, g := range groups {
		slices.SortStableFunc(g.Flips, func(x, y document.Flip) int {
			return cmp.Or(cmp.Compare(truthRank(x), truthRank(y)), strings.Compare(x.Kind, y.Kind), strings.Compare(x.ID, y.ID), strings.Compare(x.Host, y.Host))
		})
		b.doc.Groups = append(b.doc.Groups, *g)
	}
	slices.SortFunc(b.doc.Groups, func(x, y document.Group) int {
		return cmp.Or(cmp.Compare(slices.Index(compare.Changes, x.Change), slices.Index(compare.Changes, y.Change)),
			cmp.Compare(y.Count.Decisions, x.Count.Decisions), strings.Compare(x.Rule, y.Rule), strings.Compare(x.What, y.What))
	})
	b.doc.Judge(failOn)
	return &b.doc
}

// truthRank puts what is labelled as live first.
func truthRank(f document.Flip) int {
	if f.Truth == snapshot.Live {
		return 0
	}
	return 1
}

// listedUnder is the group of a flip: the cause that most flips of the change have, so that the change of one rule is one group.
func listedUnder(f *document.Flip, named map[group]int) group {
	best := group{change: f.Change, what: compare.Within}
	for _, c := range f.Causes {
		if g := (group{f.Change, c.Rule, c.What}); named[g] > named[best] {
			best = g
		}
	}
	return best
}

// group is an empty group, with where its rule stands.
func (b *Builder) group(key group) *document.Group {
	g := &document.Group{Change: key.change, Rule: key.rule, What: key.what, Flips: []document.Flip{}}
	base, inBase := b.rules[0].Loaded[key.rule]
	r, inHead := b.rules[1].Loaded[key.rule]
	shipped := b.rules[1].Shipped
	switch {
	case inBase && inHead:
		g.In = document.InBoth
	case inHead:
		g.In = compare.Head
	case inBase:
		g.In, r, shipped = compare.Base, base, b.rules[0].Shipped
	}
	g.Title, g.File, g.Line, g.Shipped = r.Title, r.File, r.Line, shipped[r.File]
	return g
}
