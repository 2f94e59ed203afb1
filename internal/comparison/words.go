package comparison

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/flips"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/text"
)

// title is what a change is called.
func title(change string) string {
	switch change {
	case flips.NewReap:
		return "stay today, would go"
	case flips.NewKeep:
		return "go today, would stay"
	case flips.Reasons:
		return "same verdict, other reasons"
	}
	return "in scope of one of both only"
}

// does is what a rule does otherwise, behind its name.
func does(what string) string {
	switch what {
	case flips.Found:
		return "finds a reason to reap"
	case flips.NotFound:
		return "finds no reason to reap any more"
	case flips.Raised:
		return "has a higher level"
	case flips.Lowered:
		return "has a lower level"
	case flips.Silent:
		return "does not object any more"
	case flips.Objects:
		return "objects"
	case flips.Claims:
		return "some rule claims it now"
	case flips.Released:
		return "no rule claims it any more"
	}
	return "it goes with the worktree that it lies in"
}

// groupWords is a group or a cause in words.
func groupWords(rule, what string) string { return strings.TrimSpace(rule + " " + does(what)) }

// Headline says in one line what matters most.
func (d *Document) Headline() string {
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

// compared says what the comparison rests on.
func (d *Document) compared() string {
	n := 0
	for _, s := range d.Snapshots {
		if s.Error == "" {
			n++
		}
	}
	return fmt.Sprintf("%s compared in %s, %d decided alike", text.Plural(d.Candidates, "candidate"), text.Plural(n, "snapshot"), d.Same)
}

// labels says how many of what is labelled each of both reaps; nothing where nothing is.
func (d *Document) labels() (out []string) {
	if d.Labels == nil {
		return nil
	}
	if dead := d.Labels.Dead; dead.Labelled > 0 {
		out = append(out, fmt.Sprintf("of %d labelled as dead, the head reaps %d, the base %d", dead.Labelled, dead.Head, dead.Base))
	}
	if live := d.Labels.Live; live.Labelled > 0 {
		out = append(out, fmt.Sprintf("of %d labelled as live, the head reaps %d, the base %d", live.Labelled, live.Head, live.Base))
	}
	return out
}

// name is what a side is called: its name, and the commit that a revision stands for.
func (s Side) name() string {
	if s.Commit == "" {
		return s.Name
	}
	short := s.Commit[:min(len(s.Commit), 10)]
	if behind, ok := strings.CutPrefix(s.Name, s.Commit); ok { // the commit itself was named
		return short + behind
	}
	return s.Name + " (" + short + ")"
}

// config is what its configuration is called: one of the same commit by its path alone.
func (s Side) config() string {
	if path, ok := strings.CutPrefix(s.Config, s.Commit+":"); ok && s.Commit != "" {
		return path
	}
	return s.Config
}

// label is what a person calls a flip's candidate.
func (f Flip) label() string {
	return report.Label(decision.Decision{ID: f.ID, Kind: f.Kind, Label: f.Label})
}

// where names the first snapshot, and counts the others.
func (f Flip) where() string {
	if f.Count == 1 {
		return f.Snapshots[0]
	}
	return fmt.Sprintf("%s and %d more", f.Snapshots[0], f.Count-1)
}

// baseWords is what the base says that decides, now what the head does.
func (f Flip) baseWords() string { return grounds(f.Was, f.Base, Base) }
func (f Flip) now() string       { return grounds(f.Why, f.Head, Head) }

func grounds(reasons []decision.Reason, v Verdict, in string) string {
	var out []string
	for _, r := range reasons {
		out = append(out, r.Rule+": "+r.Message)
	}
	switch {
	case len(out) > 0:
		return strings.Join(out, "; ")
	case v.Level != "":
		return "the rules that found a reason were at " + v.Level
	case !v.InScope:
		return "no rule of the " + in + " claims it"
	}
	return "no rule of the " + in + " found a reason to reap it"
}

// differs is what rules do otherwise, where the verdict is the same.
func (f Flip) differs() string {
	var out []string
	for _, c := range f.Causes {
		out = append(out, groupWords(c.Rule, c.What))
	}
	return strings.Join(out, "; ")
}

// levels says how a rule's level differs, "" where it does not.
func (c Cause) levels() string {
	if c.Levels == nil {
		return ""
	}
	return fmt.Sprintf("rules.levels has %s at %s in the base, and at %s in the head", c.Rule, c.Levels.Base, c.Levels.Head)
}

// shown is a fact in one line: where it stands, what is written there and what its operands were.
func (f Fact) shown() string {
	word := "ended at"
	if f.Held {
		word = "was shown"
	}
	var values []string
	for _, v := range f.Values {
		if v.Unknown {
			values = append(values, v.Name+" is unknown")
		} else {
			values = append(values, v.Name+" is "+jsonOf(v.Value))
		}
	}
	out := fmt.Sprintf("%s %s %s:%d: %s", f.In, word, f.File, f.Line, cut(f.Text, maxLine))
	if len(values) > 0 {
		out += " (" + strings.Join(slices.Compact(values), ", ") + ")"
	}
	return out
}

// evidence are the facts that a reason names, sorted.
func evidence(r *decision.Reason) string {
	if r == nil {
		return ""
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(r.Evidence)) {
		if v := jsonOf(r.Evidence[k]); v != "[]" && v != "null" {
			out = append(out, k+" is "+v)
		}
	}
	return strings.Join(out, ", ")
}

const (
	// maxValue is how much of one fact is shown to a person, maxLine how much of a line, maxSaid how much of a sentence, in characters.
	maxValue = 120
	maxLine  = 160
	maxSaid  = 300
	// maxBytes is how much of one fact is in the document.
	maxBytes = 2 << 10
)

// short is a fact as the document has it.
func short(v any) any {
	if data, err := json.Marshal(v); err != nil || len(data) > maxBytes {
		return "(too long to show)"
	}
	return v
}

func jsonOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return cut(string(data), maxValue)
}

// cut leaves the first n characters. What stands behind is not shown.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
