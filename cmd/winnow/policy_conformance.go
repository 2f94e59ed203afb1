package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/incidents"
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
		i, err := decideIncident(ctx, e, p, cfg.Rules.Custom, name, all[name])
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

// decideIncident says what the policies do in one incident, and where that is not what has to happen.
func decideIncident(ctx context.Context, e *eval.Engine, p *policy.Policy, own map[string]any, name string, c incidents.Case) (report.Incident, error) {
	out := report.Incident{Name: name, Sentence: c.Sentence, Outcome: report.Right, Candidates: []report.IncidentCandidate{}}
	doc, err := c.Document()
	if err != nil {
		return out, err
	}
	world, err := incidents.Parse(doc)
	if err != nil {
		return out, err
	}
	rules, err := c.Rules()
	if err != nil {
		return out, err
	}
	rules.Custom = own
	r, err := e.Decide(ctx, world, rules)
	if err != nil {
		return out, err
	}
	got := map[string]decision.Decision{}
	for _, d := range r.Decisions {
		got[d.ID] = d
	}
	failed := map[string]string{}
	for _, f := range r.Errors {
		failed[f.ID] = f.Err.Error()
	}
	for _, id := range slices.Sorted(maps.Keys(c.Want)) {
		want, d := c.Want[id], got[id]
		of := report.IncidentCandidate{ID: id, Want: decision.Spare, Got: decision.Spare, Findings: reasonsOf(p, d.Findings), Objections: reasonsOf(p, d.Objections), Error: failed[id]}
		if want != nil {
			of.Want = want.Verdict
		}
		if d.Verdict == decision.Reap {
			of.Got = d.Verdict
		}
		switch {
		case of.Want != decision.Reap && of.Got == decision.Reap:
			of.Outcome = report.WronglyReaped
		case of.Error != "":
			of.Outcome = report.Undecided
		case of.Want == decision.Reap && of.Got != decision.Reap:
			of.Outcome = report.Kept
		default:
			continue
		}
		out.Candidates = append(out.Candidates, of)
	}
	out.Outcome = report.Worst(out.Candidates)
	return out, nil
}

// reasonsOf are reasons by their rules, each once, with the place of the rule.
func reasonsOf(p *policy.Policy, rs []decision.Reason) []report.IncidentReason {
	out := []report.IncidentReason{}
	for _, r := range rs {
		rule := p.Rule(r.Rule)
		out = append(out, report.IncidentReason{Rule: r.Rule, Message: r.Message, File: rule.File, Line: rule.Line})
	}
	return out
}

func (a *app) showConformance(doc report.Conformance, verbose bool) error {
	if a.flags.format == formJUnit {
		s := junit.Suite{Name: "incidents"}
		for _, i := range doc.Incidents {
			c := junit.Case{Name: termsafe.Line(i.Sentence), Class: "incidents." + i.Name}
			said := &junit.Outcome{Type: i.Outcome, Message: outcomeWords[i.Outcome], Text: strings.Join(candidateLines(i), "\n")}
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
		return a.findings("policy test --conformance", incidentRules, incidentFindings(doc))
	}
	return a.show(doc, "  ", func(w io.Writer) { a.conformanceText(w, doc, verbose) })
}

var incidentRules = []sarif.Rule{
	{ID: "incident-reaped", Short: "In an incident that ships with Winnow, something goes that has to stay."},
	{ID: "incident-undecided", Short: "In an incident that ships with Winnow, the policies come to no answer."},
	{ID: "incident-kept", Short: "In an incident that ships with Winnow, something stays that could go."},
}

// incidentFindings are at the rules that decided: a finding of which what has to stay goes, an objection of which what could go stays.
func incidentFindings(doc report.Conformance) []sarif.Finding {
	var findings []sarif.Finding
	for _, i := range doc.Incidents {
		for n, c := range i.Candidates {
			level, by := sarif.Error, c.Findings
			if c.Outcome == report.Kept {
				level, by = sarif.Note, c.Objections
			}
			f := sarif.Finding{Rule: "incident-" + c.Outcome, Level: level, Message: termsafe.Line(i.Sentence) + ": " + candidateLines(i)[n], File: "policies"}
			for _, r := range by {
				if r.File != "" {
					f.File, f.Line = r.File, r.Line
				}
			}
			findings = append(findings, f)
		}
	}
	return findings
}

var outcomeWords = map[string]string{
	report.Right:         "as it has to be",
	report.WronglyReaped: "what has to stay goes",
	report.Undecided:     "the policies came to no answer",
	report.Kept:          "what could go stays",
}

// candidateLines say of each candidate that is not as it has to be what happens to it, and by which rules.
func candidateLines(i report.Incident) []string {
	var out []string
	for _, c := range i.Candidates {
		line := text.Clean(c.ID)
		switch {
		case c.Error != "":
			line += ": " + text.Clean(c.Error)
		case c.Outcome == report.WronglyReaped:
			line += " goes, by " + reasonLine(c.Findings)
		case len(c.Objections) > 0:
			line += " stays, by " + reasonLine(c.Objections)
		default:
			line += " stays: no rule finds a reason"
		}
		out = append(out, line)
	}
	return out
}

func reasonLine(rs []report.IncidentReason) string {
	var out []string
	for _, r := range rs {
		s := text.Clean(r.Rule)
		if r.File != "" {
			s += fmt.Sprintf(" (%s:%d)", text.Clean(r.File), r.Line)
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return strings.Join(out, ", ")
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
			for _, line := range candidateLines(i) {
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
