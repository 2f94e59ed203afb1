// Package policytest runs cases and incidents against policies, and says what came of them as suites and findings.
package policytest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/internal/incidents"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sys/sarif"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/text"
)

// DecideIncident says what the policies do in one incident, and where that is not what has to happen.
func DecideIncident(ctx context.Context, e *eval.Engine, p *policy.Policy, own map[string]any, name string, c incidents.Case) (report.Incident, error) {
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

// IncidentFindings are at the rules that decided: a finding of which what has to stay goes, an objection of which what could go stays.
func IncidentFindings(doc report.Conformance) []sarif.Finding {
	var findings []sarif.Finding
	for _, i := range doc.Incidents {
		for n, c := range i.Candidates {
			level, by := sarif.Error, c.Findings
			if c.Outcome == report.Kept {
				level, by = sarif.Note, c.Objections
			}
			f := sarif.Finding{Rule: "incident-" + c.Outcome, Level: level, Message: termsafe.Line(i.Sentence) + ": " + CandidateLines(i)[n], File: "policies"}
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

// CandidateLines say of each candidate that is not as it has to be what happens to it, and by which rules.
func CandidateLines(i report.Incident) []string {
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
