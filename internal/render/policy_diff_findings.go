package render

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/winnow-reaper/winnow/engine/compare"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/sys/junit"
	"github.com/winnow-reaper/winnow/internal/sys/sarif"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/text"
)

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
	suite := junit.Suite{Name: termsafe.Line(versionName(d.Base) + " to " + versionName(d.Head))}
	for _, s := range d.Snapshots {
		suite.Cases = append(suite.Cases, snapshotCase(d.FailOn, s, lines[s.Name]))
	}
	return []junit.Suite{suite}
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
