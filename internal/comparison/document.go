// Package comparison is what a base and a head decide otherwise over many snapshots, in every form: the JSON document, text for a person, markdown
// for a pull request, and findings for code scanning and CI systems.
package comparison

import (
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/flips"
	"github.com/winnow-reaper/winnow/internal/report"
)

// Schema names the document's shape.
const Schema = "winnow.policy_diff/v1"

// Document is what is different. docs/reference/schemas/policy-diff.json is generated from it.
type Document struct {
	Schema string `json:"schema" jsonschema:"enum=winnow.policy_diff/v1"`
	Base   Side   `json:"base"`
	Head   Side   `json:"head"`
	// Candidates counts what some rule of one of both claims, once for each snapshot that it is in, and Same those of them that both decide alike.
	Candidates int `json:"candidates"`
	Same       int `json:"same"`
	// Changes counts the others by what changed.
	Changes Changes `json:"changes"`
	// Labels counts the candidates that snapshots label; absent where no snapshot labels any.
	Labels *Tallies `json:"labels,omitempty"`
	// Lost are those labelled as live that the head would reap and the base would not; Doomed those that both would.
	Lost   []Labelled `json:"lost"`
	Doomed []Labelled `json:"doomed"`
	// Groups are the flips by what changed and by the rule that decided: those that end something first, then the ones with the most.
	Groups []Group `json:"groups"`
	// Unlisted are flips that are counted above, and not listed because there are too many.
	Unlisted Changes `json:"unlisted"`
	// Snapshots are all that were given, in the order of their names. Stopped is why some of them were not decided, "" where all were.
	Snapshots []Snapshot `json:"snapshots"`
	Stopped   string     `json:"stopped,omitempty"`
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
	Fact
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

// Side is one of both versions.
type Side struct {
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
	switch change {
	case flips.NewReap:
		return &c.NewReap
	case flips.NewKeep:
		return &c.NewKeep
	case flips.Reasons:
		return &c.Reasons
	}
	return &c.Scope
}

// Tallies counts labelled candidates, and how many of them each of both reaps.
type Tallies struct {
	Live flips.Tally `json:"live"`
	Dead flips.Tally `json:"dead"`
}

// Labelled is a candidate with a label in one snapshot.
type Labelled struct {
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
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	Label string `json:"label,omitempty"`
	Owner string `json:"owner,omitempty"`
	// Host is the machine that the snapshots are of.
	Host string `json:"host,omitempty"`
	// Truth is the candidate's label.
	Truth string `json:"truth,omitempty" jsonschema:"enum=live,enum=dead"`
	// Snapshots are the names of the first of those in which it flips, Count how many there are in all. What is below is of the first one.
	Snapshots []string `json:"snapshots"`
	Count     int      `json:"count"`
	Base      Verdict  `json:"base"`
	Head      Verdict  `json:"head"`
	// Was is what the base's verdict rests on, and Why what the head's does: the findings that count where it reaps, else the objections.
	Was []decision.Reason `json:"was"`
	Why []decision.Reason `json:"why"`
	// Causes are the rules that decided.
	Causes []Cause `json:"causes"`
}

// Verdict is what one of both decided.
type Verdict struct {
	Verdict string `json:"verdict" jsonschema:"enum=reap,enum=spare"`
	Level   string `json:"level,omitempty" jsonschema:"enum=ask,enum=observe"`
	InScope bool   `json:"in_scope"`
}

// Cause is what one rule does otherwise.
type Cause struct {
	Rule string `json:"rule,omitempty"`
	What string `json:"what" jsonschema:"enum=found,enum=no_more,enum=raised,enum=lowered,enum=silent,enum=objects,enum=claims,enum=released,enum=within"`
	// Base and Head are what it said, absent where it said nothing.
	Base *decision.Reason `json:"base,omitempty"`
	Head *decision.Reason `json:"head,omitempty"`
	// Levels are the rule's levels for this kind, where they differ.
	Levels *Levels `json:"levels,omitempty"`
	// Facts are conditions that one of both came to an end at and the other did not. They are there for the first flips of each rule.
	Facts []Fact `json:"facts,omitempty"`
}

// Levels are what the configurations make of one rule (rules.levels).
type Levels struct {
	Base string `json:"base" jsonschema:"enum=on,enum=ask,enum=observe,enum=off"`
	Head string `json:"head" jsonschema:"enum=on,enum=ask,enum=observe,enum=off"`
}

// Fact is a line of a policy with its operands.
type Fact struct {
	// In is the side whose policy it is. Held is true for a condition that held, and false for one that did not.
	In   string `json:"in" jsonschema:"enum=base,enum=head"`
	Held bool   `json:"held"`
	// Rule is the rule that it is part of, such as policies.protect.unsaved._saved.
	Rule   string  `json:"rule"`
	File   string  `json:"file"`
	Line   int     `json:"line"`
	Text   string  `json:"text"`
	Values []Value `json:"values,omitempty"`
}

// Value is a fact that a condition reads.
type Value struct {
	Name string `json:"name"`
	// Value is absent where the fact is unknown.
	Value   any  `json:"value,omitempty"`
	Unknown bool `json:"unknown,omitempty"`
}

// Snapshot is what is different in one snapshot.
type Snapshot struct {
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
	Unanswered []Unanswered `json:"unanswered,omitempty"`
}

// Unanswered is an evaluation that came to no answer.
type Unanswered struct {
	In    string `json:"in" jsonschema:"enum=base,enum=head"`
	ID    string `json:"id"`
	Error string `json:"error"`
}

// The sides.
const (
	Base = "base"
	Head = "head"
	both = "both"
)

// The words of --fail-on.
const (
	FailNewReap = "new-reap"
	FailAny     = "any"
)

// FailOn lists them.
var FailOn = []string{FailNewReap, FailAny}
