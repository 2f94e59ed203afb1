package render

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/compare"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sys/junit"
	"github.com/winnow-reaper/winnow/internal/sys/sarif"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/text"
)

// listedText is how many flips of a group are shown to a person, unless all are asked for.
const listedText = 10

// Comparison writes what two versions decide otherwise for a person: what would go first.
func (p Paint) Comparison(w io.Writer, d *document.Comparison, all bool) {
	p.liveText(w, d.Lost, "the head")
	p.liveText(w, d.Doomed, "both")
	fmt.Fprintln(w, p.Bold(d.Headline()))
	for _, s := range comparedWords(d) {
		p.Sentence(w, text.Clean(s))
	}
	for i, v := range []document.Version{d.Base, d.Head} {
		line := versionName(v)
		if v.Config != "" {
			line += ", configuration " + configName(v)
		}
		p.Sentence(w, p.Dim(compare.Sides[i]+"  "+text.Clean(line)))
	}
	p.problemsText(w, d)
	change := ""
	for _, g := range d.Groups {
		if g.Change != change {
			change = g.Change
			fmt.Fprintf(w, "\n%s\n", p.Bold(changeTitles[change])+"  "+p.Dim(counted(*d.Changes.Count(change))))
		}
		p.groupText(w, g, all)
	}
	for _, change := range compare.Changes {
		if c := d.Unlisted.Count(change); c.Decisions > 0 {
			fmt.Fprintf(w, "\n%s\n", p.Yellow(fmt.Sprintf("%s: %s counted above and not listed; compare fewer snapshots to see them", changeTitles[change], counted(*c))))
		}
	}
	p.silentText(w, d)
	if len(d.Failed) > 0 {
		fmt.Fprintln(w)
	}
	for _, f := range d.Failed {
		p.Sentence(w, p.Red("fails: "+text.Clean(f)))
	}
}

func (p Paint) liveText(w io.Writer, list []document.LabelledCandidate, who string) {
	for _, x := range list {
		p.Sentence(w, p.Bold(p.Red("live "))+p.Bold(text.Clean(x.ID))+text.Clean(" is labelled as live in "+x.Snapshot+", and "+who+" would reap it"))
	}
}

// silentText names the rules that said nothing, and the levels to write into the configuration.
func (p Paint) silentText(w io.Writer, d *document.Comparison) {
	for _, s := range d.Silent {
		fmt.Fprintf(w, "\n  %s  %s\n", p.Bold(text.Clean(s.Rule+" says nothing")), p.Dim(place(s.File, s.Line)))
		for _, e := range s.Ended {
			p.Indented(w, 4, p.Dim("for "+text.Clean(e.ID)+"  ")+text.Clean(factWords(e.Fact)))
		}
	}
	if len(d.Levels) > 0 && len(d.Failed) == 0 {
		fmt.Fprintf(w, "\n%s\nrules:\n  levels:\n", p.Bold("write into the configuration:"))
		for _, l := range d.Levels {
			fmt.Fprintf(w, "    %s: %s\n", text.Clean(l.Rule), l.Level)
		}
	}
}

// problemsText names the snapshots that could not be compared, and the evaluations without an answer.
func (p Paint) problemsText(w io.Writer, d *document.Comparison) {
	for _, s := range d.Snapshots {
		if s.Error != "" {
			p.Rows(w, text.Row{Lead: "broken", Color: p.Red, Text: s.Name + ": " + text.Cut(s.Error, maxSaid)})
		}
		for _, u := range s.Unanswered {
			p.Rows(w, text.Row{Lead: "no answer", Color: p.Red, Text: fmt.Sprintf("%s, %s, %s: %s; it is kept", s.Name, u.In, u.ID, text.Cut(u.Error, maxSaid))})
		}
	}
}

func (p Paint) groupText(w io.Writer, g document.Group, all bool) {
	var where []string
	if g.File != "" {
		where = append(where, place(g.File, g.Line))
	}
	switch g.In {
	case compare.Head:
		where = append(where, "not in the base")
	case compare.Base:
		where = append(where, "not in the head")
	}
	fmt.Fprintf(w, "\n  %s  %s\n", p.Bold(text.Clean(ruleDoes(g.Rule, g.What))), p.Dim(strings.Join(where, ", ")))
	for i, f := range g.Flips {
		if i == listedText && !all {
			fmt.Fprintf(w, "    %s\n", p.Dim(fmt.Sprintf("and %d more; --all lists them", len(g.Flips)-i)))
			return
		}
		p.flipText(w, f, g.Change)
	}
}

func (p Paint) flipText(w io.Writer, f document.Flip, change string) {
	name := p.Bold(text.Clean(flipLabel(f)))
	if f.Truth != "" {
		name += " " + p.Red("("+f.Truth+")")
	}
	if id := flipID(f); id != "" {
		name += "  " + text.Clean(id)
	}
	p.Indented(w, 4, name+"  "+p.Dim(text.Clean(firstOf(f.Snapshots, f.Count))))
	line := func(lead, s string) {
		if s != "" {
			p.Indented(w, 6, p.Dim(lead)+text.Clean(text.Cut(s, maxSaid)))
		}
	}
	if change == compare.Reasons || change == compare.Scope {
		line("", differenceWords(f))
		return
	}
	line("now   ", headWords(f))
	line("was   ", baseWords(f))
	for _, c := range f.Causes {
		line("level ", levelWords(c))
		line("facts ", evidenceWords(c))
		for _, x := range c.Facts {
			line("      ", factWords(x))
		}
	}
}

const (
	// maxLine is how much of a line of a policy is shown to a person, maxSaid how much of a sentence, in characters.
	maxLine = 160
	maxSaid = 300
)

// changeTitles are what the changes are called.
var changeTitles = map[string]string{
	compare.NewReap: "stay today, would go", compare.NewKeep: "go today, would stay",
	compare.Reasons: "same verdict, other reasons", compare.Scope: "in scope of one of both only",
}

// does is what a rule does otherwise, behind its name.
var does = map[string]string{
	compare.Found: "finds a reason to reap", compare.NotFound: "finds no reason to reap any more",
	compare.Raised: "has a higher level", compare.Lowered: "has a lower level",
	compare.Silent: "does not object any more", compare.Objects: "objects",
	compare.Claims: "some rule claims it now", compare.Released: "no rule claims it any more",
	compare.Within: "it goes with the worktree that it lies in",
}

// ruleDoes is a group or a cause in words.
func ruleDoes(rule, what string) string { return strings.TrimSpace(rule + " " + does[what]) }

// comparedWords says what a comparison rests on.
func comparedWords(d *document.Comparison) []string {
	n := 0
	for _, s := range d.Snapshots {
		if s.Error == "" {
			n++
		}
	}
	out := []string{fmt.Sprintf("%s compared in %s, %d decided alike", text.Plural(d.Candidates, "candidate"), text.Plural(n, "snapshot"), d.Same)}
	if d.Labels == nil {
		return out
	}
	for _, l := range []struct {
		label string
		compare.Tally
	}{{"dead", d.Labels.Dead}, {"live", d.Labels.Live}} {
		if l.Labelled > 0 {
			out = append(out, fmt.Sprintf("of %d labelled as %s, the head reaps %d, the base %d", l.Labelled, l.label, l.Head, l.Base))
		}
	}
	return out
}

// counted says how many things, and in how many decisions where these are more.
func counted(c document.Count) string {
	out := text.Plural(c.Things, "thing")
	if c.Decisions > c.Things {
		out += fmt.Sprintf(" in %d decisions", c.Decisions)
	}
	return out
}

// versionName is what a version is called: its name, and the commit that a revision stands for.
func versionName(v document.Version) string {
	if v.Commit == "" {
		return v.Name
	}
	short := v.Commit[:min(len(v.Commit), 10)]
	if path, ok := strings.CutPrefix(v.Name, v.Commit); ok { // the commit itself was named
		return short + path
	}
	return v.Name + " (" + short + ")"
}

// configName is what a version's configuration is called: one of the same commit by its path alone, "" for the defaults.
func configName(v document.Version) string {
	if path, ok := strings.CutPrefix(v.Config, v.Commit+":"); ok && v.Commit != "" {
		return path
	}
	return text.Home(v.Config)
}

// flipLabel is what a person calls a flip's candidate, and flipID its id where the label does not say it.
func flipLabel(f document.Flip) string {
	return report.Label(decision.Decision{ID: f.ID, Kind: f.Kind, Label: f.Label})
}

func flipID(f document.Flip) string {
	if strings.HasSuffix(f.ID, flipLabel(f)) || strings.HasPrefix(f.ID, "dir:") {
		return ""
	}
	return f.ID
}

// firstOf names the first of so many snapshots.
func firstOf(names []string, n int) string {
	if n > 1 {
		return fmt.Sprintf("%s and %d more", names[0], n-1)
	}
	return names[0]
}

func baseWords(f document.Flip) string { return groundsWords(f.Was, f.Base, compare.Base) }
func headWords(f document.Flip) string { return groundsWords(f.Why, f.Head, compare.Head) }

// groundsWords is what one side says that decides.
func groundsWords(reasons []decision.Reason, v compare.Verdict, in string) string {
	out := text.Map(reasons, func(r decision.Reason) string { return r.Rule + ": " + r.Message })
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

// differenceWords is what rules do otherwise, where the verdict is the same.
func differenceWords(f document.Flip) string {
	return text.Join(f.Causes, "; ", func(c compare.Cause) string { return ruleDoes(c.Rule, c.What) })
}

// levelWords says how a rule's level differs, "" where it does not.
func levelWords(c compare.Cause) string {
	if c.Levels == nil {
		return ""
	}
	return fmt.Sprintf("rules.levels has %s at %s in the base, and at %s in the head", c.Rule, c.Levels.Base, c.Levels.Head)
}

// factWords is a fact in one line: where it stands, what is written there and what its operands were.
func factWords(f compare.Fact) string {
	word := "ended at"
	if f.Held {
		word = "was shown"
	}
	out := fmt.Sprintf("%s %s %s:%d: %s", f.In, word, f.File, f.Line, text.Cut(f.Text, maxLine))
	if values := namedValues(f.Values); len(values) > 0 {
		out += " (" + strings.Join(slices.Compact(values), ", ") + ")"
	}
	return out
}

// evidenceWords are the facts that the reasons of a cause name, those of the head only where they differ.
func evidenceWords(c compare.Cause) string {
	var out []string
	for _, r := range []*decision.Reason{c.Base, c.Head} {
		if s := reasonFacts(r); s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(slices.Compact(out), "; now ")
}

func reasonFacts(r *decision.Reason) string {
	if r == nil {
		return ""
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(r.Evidence)) {
		if v := value(r.Evidence[k]); v != "[]" && v != "null" {
			out = append(out, k+" is "+v)
		}
	}
	return strings.Join(out, ", ")
}

// maxFindings is how many things that would go are findings of their own, well below the 5,000 of which GitHub shows the first.
const maxFindings = 1000

// notCompared is the finding of a snapshot that could not be compared.
const notCompared = "not_compared"

// ComparisonFindings are the flips for code scanning, each at its rule in the head: a finding for each thing that would go, and one for all else
// that a rule changes. What is of no file there stands at the head's configuration, or at its folder.
func ComparisonFindings(d *document.Comparison) (rules []sarif.Rule, out []sarif.Finding) {
	room := maxFindings
	for _, g := range d.Groups {
		id := strings.TrimSuffix(g.Change+"/"+g.Rule, "/")
		rules = append(rules, sarif.Rule{ID: id, Short: termsafe.Line(cmp.Or(g.Title, changeTitles[g.Change]))})
		f := groupFinding(d, id, g)
		listed := 0
		if g.Change == compare.NewReap {
			listed = min(room, len(g.Flips))
			room -= listed
		}
		for _, x := range g.Flips[:listed] {
			one := f
			if x.Truth == snapshot.Live {
				one.Level = sarif.Error
			}
			one.Message = termsafe.Line(fmt.Sprintf("%s stays today and would go (%s): now %s; before, %s",
				x.ID, firstOf(x.Snapshots, x.Count), text.Cut(headWords(x), maxSaid), text.Cut(baseWords(x), maxSaid)))
			out = append(out, one)
		}
		if rest := g.Count.Things - listed; rest > 0 {
			x := g.Flips[listed]
			f.Message = termsafe.Line(fmt.Sprintf("%s: %s, %s, such as %s in %s",
				ruleDoes(g.Rule, g.What), changeTitles[g.Change], text.Plural(rest, "thing"), x.ID, firstOf(x.Snapshots, x.Count)))
			out = append(out, f)
		}
	}
	for _, s := range d.Snapshots {
		if s.Error != "" {
			out = append(out, sarif.Finding{Rule: notCompared, Level: sarif.Error, File: s.Name, Line: 1, Message: termsafe.Line(text.Cut(s.Error, maxSaid))})
		}
		for _, u := range s.Unanswered {
			out = append(out, sarif.Finding{Rule: notCompared, Level: sarif.Error, File: fallbackFile(d), Line: 1,
				Message: termsafe.Line(fmt.Sprintf("%s: the policies of the %s came to no answer on %s: %s", s.Name, u.In, u.ID, text.Cut(u.Error, maxSaid)))})
		}
	}
	return rules, out
}

// groupFinding is a finding of a group without words, at its rule.
func groupFinding(d *document.Comparison, id string, g document.Group) sarif.Finding {
	f := sarif.Finding{Rule: id, File: fallbackFile(d), Line: 1, Level: sarif.Note}
	if g.File != "" && !g.Shipped && g.In != compare.Base {
		f.File, f.Line = g.File, g.Line
	}
	switch {
	case d.FailOn == document.FailAny || d.FailOn == document.FailNewReap && g.Change == compare.NewReap:
		f.Level = sarif.Error
	case g.Change == compare.NewReap:
		f.Level = sarif.Warning
	}
	return f
}

// fallbackFile is the file for what is of no rule's file in the head.
func fallbackFile(d *document.Comparison) string {
	config := d.Head.Config
	if config == d.Base.Config || config == "" {
		return cmp.Or(d.Head.Folder, "policies")
	}
	if _, file, inRevision := strings.Cut(config, ":"); inRevision {
		return file
	}
	return config
}

// ComparisonSuites are the snapshots as a CI system shows tests: one that is decided alike has passed, or has only flips that --fail-on lets pass.
func ComparisonSuites(d *document.Comparison) []junit.Suite {
	lines := map[string][]string{}
	for _, g := range d.Groups {
		for _, f := range g.Flips {
			for _, name := range f.Snapshots {
				if len(lines[name]) < maxNamed {
					lines[name] = append(lines[name], termsafe.Line(fmt.Sprintf("%s: %s: %s", changeTitles[g.Change], f.ID, ruleDoes(g.Rule, g.What))))
				}
			}
		}
	}
	cases := text.Map(d.Snapshots, func(s document.ComparedSnapshot) junit.Case { return snapshotCase(d.FailOn, s, lines[s.Name]) })
	return []junit.Suite{{Name: termsafe.Line(versionName(d.Base) + " to " + versionName(d.Head)), Cases: cases}}
}

func snapshotCase(failOn string, s document.ComparedSnapshot, lines []string) junit.Case {
	c := junit.Case{Name: termsafe.Line(s.Name), Class: "winnow.policy.diff", File: termsafe.Line(s.Name)}
	counts := fmt.Sprintf("%d would go, %d would stay, %d with other reasons, %d in scope of one of both", s.NewReap, s.NewKeep, s.Reasons, s.Scope)
	details := strings.Join(append([]string{counts}, lines...), "\n")
	changed := s.NewReap+s.NewKeep+s.Reasons+s.Scope > 0
	switch {
	case s.Error != "":
		c.Error = &junit.Outcome{Message: "not compared", Type: notCompared, Text: termsafe.Line(s.Error)}
	case len(s.Unanswered) > 0:
		u := s.Unanswered[0]
		c.Error = &junit.Outcome{Message: "policies came to no answer", Type: "policy_error", Text: termsafe.Line(fmt.Sprintf("%s: %s: %s", u.In, u.ID, u.Error))}
	case s.Lost > 0:
		c.Failure = &junit.Outcome{Message: fmt.Sprintf("%d labelled as live would go", s.Lost), Type: "live", Text: details}
	case failOn == document.FailNewReap && s.NewReap > 0, failOn == document.FailAny && changed:
		c.Failure = &junit.Outcome{Message: counts, Type: failOn, Text: details}
	default:
		c.Output = details
	}
	return c
}
