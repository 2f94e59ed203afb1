package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/incidents"
	"github.com/winnow-reaper/winnow/internal/policytest"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/sys/junit"
	"github.com/winnow-reaper/winnow/internal/sys/sarif"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/text"
)

// conformance decides the shipped incidents with the policies that a person names.
func (a *app) conformance(ctx context.Context, folders []string, f testFlags) error {
	trees, err := a.given(ctx, folders)
	if err != nil {
		return err
	}
	cfg := a.Cfg
	if len(folders) > 0 { // what the configuration says is of the rules that it loads
		cfg = &config.Config{Policy: a.Cfg.Policy}
	}
	e, p, err := ruleset.Set{Trees: trees, Cfg: cfg}.Engine(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	doc := report.Conformance{Schema: report.ConformanceSchema, Incidents: []report.Incident{}}
	doc.Trees, doc.Embedded = treeNames(trees)
	all, err := incidents.All()
	if err != nil {
		return err
	}
	only, err := regexp.Compile(f.run)
	if err != nil {
		return config.Mistakef("--run: %v; nothing was run", err)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !only.MatchString(name) && !only.MatchString(all[name].Sentence) {
			continue
		}
		i, err := policytest.DecideIncident(ctx, e, p, cfg.Rules.Custom, name, all[name])
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("interrupted after %s; the rest was not decided", text.Plural(len(doc.Incidents), "incident"))
		case err != nil:
			return fmt.Errorf("decide the incident %s: %w", name, err)
		}
		doc.Add(i)
		if doc.Undecided == maxUndecided {
			doc.Problem = fmt.Sprintf("%s came to no answer, the last one %s; the rest was not decided", text.Plural(maxUndecided, "incident"), name)
			break
		}
	}
	if len(doc.Incidents) == 0 {
		return config.Mistakef("no incident matches --run %s; nothing was decided", text.Quote(f.run))
	}
	if err := a.written(ctx, func(a *app) error { return a.showConformance(doc, f.verbose) }); err != nil {
		return err
	}
	if !doc.OK {
		return exit.Error{Code: exit.Failed}
	}
	return nil
}

// maxUndecided is how many incidents may come to no answer: a rule that never ends takes its whole time in each.
const maxUndecided = 10

func (a *app) showConformance(doc report.Conformance, verbose bool) error {
	if a.flags.format == formJUnit {
		s := junit.Suite{Name: "incidents"}
		for _, i := range doc.Incidents {
			c := junit.Case{Name: termsafe.Line(i.Sentence), Class: "incidents." + i.Name}
			said := &junit.Outcome{Type: i.Outcome, Message: outcomeWords[i.Outcome], Text: strings.Join(policytest.CandidateLines(i), "\n")}
			switch i.Outcome {
			case report.WronglyReaped:
				c.Failure = said
			case report.Undecided:
				c.Error = said
			case report.Kept:
				c.Skipped = said
			}
			s.Cases = append(s.Cases, c)
		}
		return a.junit("winnow policy test --conformance", []junit.Suite{s})
	}
	if a.finds() {
		return a.findings("policy test --conformance", incidentRules, policytest.IncidentFindings(doc))
	}
	return a.show(doc, "  ", func(w io.Writer) { a.conformanceText(w, doc, verbose) })
}

var incidentRules = []sarif.Rule{
	{ID: "incident-reaped", Short: "In an incident that ships with Winnow, something goes that has to stay."},
	{ID: "incident-undecided", Short: "In an incident that ships with Winnow, the policies come to no answer."},
	{ID: "incident-kept", Short: "In an incident that ships with Winnow, something stays that could go."},
}

var outcomeWords = map[string]string{
	report.Right:         "as it has to be",
	report.WronglyReaped: "what has to stay goes",
	report.Undecided:     "the policies came to no answer",
	report.Kept:          "what could go stays",
}

func (a *app) conformanceText(w io.Writer, doc report.Conformance, verbose bool) {
	colours := map[string]func(string) string{report.Right: a.paint.Green, report.Kept: a.paint.Yellow}
	for _, o := range []string{report.Right, report.Kept, report.Undecided, report.WronglyReaped} { // the worst last, where a person looks first
		for _, i := range doc.Incidents {
			if i.Outcome != o || o == report.Right && !verbose {
				continue
			}
			paint := colours[o]
			if paint == nil {
				paint = a.paint.Red
			}
			fmt.Fprintf(w, "%s  %s %s\n", paint(fmt.Sprintf("%-9s", o)), text.Clean(i.Sentence), a.paint.Dim("["+i.Name+"]"))
			for _, line := range policytest.CandidateLines(i) {
				fmt.Fprintf(w, "    %s\n", line)
			}
		}
	}
	fmt.Fprintf(w, "%s: %d right", text.Plural(len(doc.Incidents), "incident"), doc.Right)
	for _, c := range []struct {
		n    int
		what string
	}{{doc.Kept, "in which something stays that could go"}, {doc.Undecided, "without an answer"}, {doc.Reaped, "in which something goes that has to stay"}} {
		if c.n > 0 {
			fmt.Fprintf(w, ", %d %s", c.n, c.what)
		}
	}
	fmt.Fprintln(w)
	if doc.Problem != "" {
		fmt.Fprintf(w, "%s\n", a.paint.Red("failed: "+text.Clean(doc.Problem)))
	}
}
