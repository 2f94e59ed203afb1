package document

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/compare"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/text"
)

// ComparisonSchema names the shape of a Comparison.
const ComparisonSchema = "winnow.policy_diff/v1"

// Comparison is what a base and a head decide otherwise over many snapshots. docs/reference/schemas/policy-diff.json is generated from it.
type Comparison struct {
	Schema string  `json:"schema" jsonschema:"enum=winnow.policy_diff/v1"`
	Base   Version `json:"base"`
	Head   Version `json:"head"`
	// Candidates counts what some rule of one of both claims, once for each snapshot that it is in, and Same those of them that both decide alike.
	Candidates int `json:"candidates"`
	Same       int `json:"same"`
	// Changes counts the others by what changed.
	Changes Changes `json:"changes"`
	// Labels counts the candidates that snapshots label; absent where no snapshot labels any.
	Labels *Tallies `json:"labels,omitempty"`
	// Lost are those labelled as live that the head would reap and the base would not; Doomed those that both would.
	Lost   []LabelledCandidate `json:"lost"`
	Doomed []LabelledCandidate `json:"doomed"`
	// Groups are the flips by what changed and by the rule that decided: those that end something first, then the ones with the most.
	Groups []Group `json:"groups"`
	// Unlisted are flips that are counted above, and not listed because there are too many.
	Unlisted Changes `json:"unlisted"`
	// Snapshots are all that were given, in the order of their names. Stopped is why some of them were not decided, "" where all were.
	Snapshots []ComparedSnapshot `json:"snapshots"`
	Stopped   string             `json:"stopped,omitempty"`
	// Silent are the rules of the head, those that Winnow brings left out, that said nothing about any candidate.
	Silent []SilentRule `json:"silent,omitempty"`
	// Levels are those that were given to the head for this comparison, and Required is how many snapshots had to have something to judge for
	// each of their rules.
	Levels   []TriedLevel `json:"levels,omitempty"`
	Required int          `json:"required,omitempty"`
	// FailOn is what was asked to fail. Failed says why the exit code is not 0, a sentence each; empty where it is.
	FailOn string   `json:"fail_on,omitempty" jsonschema:"enum=new-reap,enum=any"`
	Failed []string `json:"failed"`
}

// SilentRule is a rule that said nothing.
type SilentRule struct {
	Rule string `json:"rule"`
	File string `json:"file"`
	Line int    `json:"line"`
	// Ended are conditions at which it ended, each for one candidate.
	Ended []Ended `json:"ended"`
}

// Ended is a condition at which a rule ended for a candidate.
type Ended struct {
	ID string `json:"id"`
	compare.Fact
}

// TriedLevel is a level that was given to a rule for this comparison. Judged counts the snapshots that had something in scope of the kind that the
// rule is about, and Findings the reasons that it gave in all of them.
type TriedLevel struct {
	Rule     string `json:"rule"`
	Kind     string `json:"kind"`
	Level    string `json:"level" jsonschema:"enum=on,enum=ask,enum=observe,enum=off"`
	Judged   int    `json:"judged"`
	Findings int    `json:"findings"`
}

// Version is one of both versions of the policies.
type Version struct {
	// Name is what was given: a folder, a revision, embedded. Commit is what a revision stands for.
	Name   string `json:"name"`
	Commit string `json:"commit,omitempty"`
	// Folder is where its policies are, in the revision if it is one; "" for those that Winnow brings.
	Folder string           `json:"folder,omitempty"`
	Policy report.PolicyRef `json:"policy"`
	// Config is the configuration's file, "" where the defaults alone hold.
	Config string `json:"config,omitempty"`
}

// Changes counts flips.
type Changes struct {
	NewReap Count `json:"new_reap"`
	NewKeep Count `json:"new_keep"`
	Reasons Count `json:"reasons"`
	Scope   Count `json:"scope"`
}

// Count says how many things changed, and how many decisions: recorded snapshots hold the same thing many times.
type Count struct {
	Things    int `json:"things"`
	Decisions int `json:"decisions"`
}

// Count is the count of one change.
func (c *Changes) Count(change string) *Count {
	return []*Count{&c.NewReap, &c.NewKeep, &c.Reasons, &c.Scope}[slices.Index(compare.Changes, change)]
}

// Tallies counts labelled candidates, and how many of them each of both reaps.
type Tallies struct {
	Live compare.Tally `json:"live"`
	Dead compare.Tally `json:"dead"`
}

// LabelledCandidate is a candidate with a label in one snapshot.
type LabelledCandidate struct {
	Snapshot string `json:"snapshot"`
	ID       string `json:"id"`
}

// Group are the flips of one change that one rule decided.
type Group struct {
	Change string `json:"change" jsonschema:"enum=new_reap,enum=new_keep,enum=reasons,enum=scope"`
	// Rule is the rule's name, "" where none is at work; What is what it does otherwise in the head than in the base.
	Rule string `json:"rule,omitempty"`
	What string `json:"what" jsonschema:"enum=found,enum=no_more,enum=raised,enum=lowered,enum=silent,enum=objects,enum=claims,enum=released,enum=within"`
	// Title, File and Line are of the rule in the head, of the base where the head has no such rule.
	Title string `json:"title,omitempty"`
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
	// Shipped is true for a rule that Winnow brings: its file lies in no folder.
	Shipped bool `json:"shipped,omitempty"`
	// In says which of both have the rule: both, base, head; "" where there is no rule.
	In string `json:"in,omitempty" jsonschema:"enum=both,enum=base,enum=head"`
	// Count is of all that belong here, Flips are those that are listed.
	Count Count  `json:"count"`
	Flips []Flip `json:"flips"`
}

// Flip is one thing that is decided otherwise, in one snapshot or in several, for the same reasons.
type Flip struct {
	compare.Flip
	// Host is the machine that the snapshots are of.
	Host string `json:"host,omitempty"`
	// Snapshots are the names of the first of those in which it flips, Count how many there are in all. The rest is of the first one.
	Snapshots []string `json:"snapshots"`
	Count     int      `json:"count"`
}

// ComparedSnapshot is what is different in one snapshot.
type ComparedSnapshot struct {
	Name    string     `json:"name"`
	TakenAt *time.Time `json:"taken_at,omitempty"`
	NewReap int        `json:"new_reap"`
	NewKeep int        `json:"new_keep"`
	Reasons int        `json:"reasons"`
	Scope   int        `json:"scope"`
	Lost    int        `json:"lost"`
	// Error is why it was not compared, or not whole.
	Error string `json:"error,omitempty"`
	// Unanswered are evaluations that came to no answer: such a candidate is kept.
	Unanswered []compare.Unanswered `json:"unanswered,omitempty"`
}

// Count is the count of one change.
func (s *ComparedSnapshot) Count(change string) *int {
	return []*int{&s.NewReap, &s.NewKeep, &s.Reasons, &s.Scope}[slices.Index(compare.Changes, change)]
}

// InBoth is the place of a rule that both sides have.
const InBoth = "both"

// The words of --fail-on.
const (
	FailNewReap = "new-reap"
	FailAny     = "any"
)

// FailOn lists them.
var FailOn = []string{FailNewReap, FailAny}

// Judge says why the comparison fails; failOn is what was asked to fail.
func (d *Comparison) Judge(failOn string) {
	d.FailOn, d.Failed = failOn, []string{}
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
	decisions := 0
	for _, change := range compare.Changes {
		decisions += d.Changes.Count(change).Decisions
	}
	switch n := d.Changes.NewReap.Things; {
	case failOn == FailNewReap && n > 0:
		fail("%s, which --fail-on %s forbids", wouldGo(n), FailNewReap)
	case failOn == FailAny && decisions > 0:
		fail("%s changed, which --fail-on %s forbids", text.Plural(decisions, "decision"), FailAny)
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

// Headline says in one line what matters most.
func (d *Comparison) Headline() string {
	c := d.Changes
	var parts []string
	if n := c.NewReap.Things; n > 0 {
		parts = append(parts, wouldGo(n))
	}
	if n := c.NewKeep.Things; n > 0 {
		verb := "that go today would stay"
		if n == 1 {
			verb = "that goes today would stay"
		}
		parts = append(parts, text.Plural(n, "thing")+" "+verb)
	}
	if n := c.Reasons.Things + c.Scope.Things; n > 0 && len(parts) == 0 {
		parts = append(parts, fmt.Sprintf("no verdict changes; %s would have other reasons", text.Plural(n, "thing")))
	}
	if len(parts) == 0 {
		return "no decision changes"
	}
	return strings.Join(parts, ", ")
}

func wouldGo(n int) string {
	if n == 1 {
		return "1 thing that stays today would go"
	}
	return fmt.Sprintf("%d things that stay today would go", n)
}
