package comparison

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/winnow-reaper/winnow/engine/flips"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/junit"
	"github.com/winnow-reaper/winnow/internal/sys/sarif"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/text"
)

// maxFindings is how many things that would go are findings of their own, well below the 5,000 of which GitHub shows the first.
const maxFindings = 1000

// notCompared is the finding of a snapshot that could not be compared.
const notCompared = "not_compared"

// Findings are the flips for code scanning, each at its rule in the head: a finding for each thing that would go, and one for all else that
// a rule changes. What is of no file there stands at the head's configuration, or at its folder.
func (d *Document) Findings() (rules []sarif.Rule, out []sarif.Finding) {
	left := maxFindings
	for _, g := range d.Groups {
		id := strings.TrimSuffix(g.Change+"/"+g.Rule, "/")
		rules = append(rules, sarif.Rule{ID: id, Short: termsafe.Line(cmp.Or(g.Title, title(g.Change)))})
		f := sarif.Finding{Rule: id, File: d.fallbackFile(), Line: 1, Level: sarif.Note}
		if g.File != "" && !g.Shipped && g.In != Base {
			f.File, f.Line = g.File, g.Line
		}
		if d.fails(g.Change) {
			f.Level = sarif.Error
		} else if g.Change == flips.NewReap {
			f.Level = sarif.Warning
		}
		listed := 0
		for _, x := range g.Flips {
			if g.Change != flips.NewReap || left == 0 {
				break
			}
			left--
			listed++
			one := f
			if x.Truth == snapshot.Live {
				one.Level = sarif.Error
			}
			one.Message = termsafe.Line(fmt.Sprintf("%s %s (%s): now %s; before, %s", x.ID, "stays today and would go", x.where(), cut(x.now(), maxSaid), cut(x.baseWords(), maxSaid)))
			out = append(out, one)
		}
		if rest := g.Count.Things - listed; rest > 0 {
			f.Message = termsafe.Line(fmt.Sprintf("%s: %s, such as %s in %s", groupWords(g.Rule, g.What), title(g.Change)+", "+text.Plural(rest, "thing"), g.Flips[listed].ID, g.Flips[listed].where()))
			out = append(out, f)
		}
	}
	for _, s := range d.Snapshots {
		if s.Error != "" {
			out = append(out, sarif.Finding{Rule: notCompared, Level: sarif.Error, File: s.Name, Line: 1, Message: termsafe.Line(cut(s.Error, maxSaid))})
		}
		for _, u := range s.Unanswered {
			out = append(out, sarif.Finding{Rule: notCompared, Level: sarif.Error, File: d.fallbackFile(), Line: 1, Message: termsafe.Line(fmt.Sprintf("%s: the policies of the %s came to no answer on %s: %s", s.Name, u.In, u.ID, cut(u.Error, maxSaid)))})
		}
	}
	return rules, out
}

// fallbackFile is the file for what is of no rule's file in the head.
func (d *Document) fallbackFile() string {
	config := d.Head.Config
	if config != d.Base.Config && config != "" {
		if _, file, inRevision := strings.Cut(config, ":"); inRevision {
			config = file
		}
		return config
	}
	return cmp.Or(d.Head.Folder, "policies")
}

// fails reports whether a change is what was asked to fail.
func (d *Document) fails(change string) bool {
	return d.FailOn == FailAny || d.FailOn == FailNewReap && change == flips.NewReap
}

// Suites are the snapshots as a CI system shows tests: one that is decided alike has passed, or whose flips nobody asked to fail.
func (d *Document) Suites() []junit.Suite {
	lines := map[string][]string{}
	for _, g := range d.Groups {
		for _, f := range g.Flips {
			for _, name := range f.Snapshots {
				if len(lines[name]) < maxNamed {
					lines[name] = append(lines[name], termsafe.Line(fmt.Sprintf("%s: %s: %s", title(g.Change), f.ID, groupWords(g.Rule, g.What))))
				}
			}
		}
	}
	suite := junit.Suite{Name: termsafe.Line(d.Base.name() + " to " + d.Head.name())}
	for _, s := range d.Snapshots {
		c := junit.Case{Name: termsafe.Line(s.Name), Class: "winnow.policy.diff", File: termsafe.Line(s.Name)}
		counts := fmt.Sprintf("%d would go, %d would stay, %d with other reasons, %d in scope of one of both", s.NewReap, s.NewKeep, s.Reasons, s.Scope)
		said := strings.Join(append([]string{counts}, lines[s.Name]...), "\n")
		any := s.NewReap + s.NewKeep + s.Reasons + s.Scope
		switch {
		case s.Error != "":
			c.Error = &junit.Outcome{Message: "not compared", Type: notCompared, Text: termsafe.Line(s.Error)}
		case len(s.Unanswered) > 0:
			u := s.Unanswered[0]
			c.Error = &junit.Outcome{Message: "policies came to no answer", Type: "policy_error", Text: termsafe.Line(fmt.Sprintf("%s: %s: %s", u.In, u.ID, u.Error))}
		case s.Lost > 0:
			c.Failure = &junit.Outcome{Message: fmt.Sprintf("%d labelled as live would go", s.Lost), Type: "live", Text: said}
		case d.FailOn == FailNewReap && s.NewReap > 0, d.FailOn == FailAny && any > 0:
			c.Failure = &junit.Outcome{Message: counts, Type: d.FailOn, Text: said}
		default:
			c.Output = said
		}
		suite.Cases = append(suite.Cases, c)
	}
	return []junit.Suite{suite}
}
