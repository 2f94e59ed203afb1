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
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/engine/tester"
	"github.com/winnow-reaper/winnow/internal/incidents"
	"github.com/winnow-reaper/winnow/internal/ruleset"
)

// casePrefix begins the name of a case among the results of tests.
const casePrefix = "cases/"

// DecideCase decides a case and holds the decisions to it.
func DecideCase(ctx context.Context, e *eval.Engine, p *policy.Policy, c *incidents.Own, r tester.Result) (tester.Result, error) {
	world, err := c.Look()
	if err != nil {
		return r, err
	}
	cfg, err := c.Configuration()
	if err != nil {
		return r, err
	}
	if err := (ruleset.Set{Cfg: cfg}).Check(p); err != nil {
		return r, c.InConfig(err)
	}
	decided, err := e.Decide(ctx, world, &cfg.Rules.Config)
	if err != nil {
		return r, err
	}
	joined := subject.Join(world, &cfg.Rules.Config)
	got, failed := map[string]decision.Decision{}, map[string]error{}
	for _, d := range decided.Decisions {
		got[d.ID] = d
	}
	for _, f := range decided.Errors {
		failed[f.ID] = f.Err
	}
	var wrong []string
	differs := func(section, id, what string) {
		wrong = append(wrong, what)
		if r.At == 0 {
			r.At, r.Text = c.Line(section, id), id
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.Want)) {
		_, there := joined.Subject(id)
		d, inScope := got[id]
		if what := unlike(p, c.Want[id], d, inScope, there, failed[id]); what != "" {
			differs("want", id, id+": "+what)
		}
	}
	next := eval.Sightings(world.Sightings, world, decided.Decisions)
	for _, id := range slices.Sorted(maps.Keys(c.Remembered)) {
		if _, left := next[id]; left != c.Remembered[id] {
			differs("remembered", id, fmt.Sprintf("%s: a sighting of it is left: %v", id, left))
		}
	}
	r.Outcome = tester.Pass
	if len(wrong) > 0 {
		r.Outcome, r.Message = tester.Fail, c.Sentence+": "+strings.Join(wrong, "; ")
	}
	return r, nil
}

// unlike says in what a decision is not what a case wants; "" where it is.
func unlike(p *policy.Policy, want *incidents.Want, d decision.Decision, inScope, there bool, failed error) string {
	by := func() string {
		said := "nothing is found, and nothing objects"
		if rs := slices.Concat(reasonsOf(p, d.Findings), reasonsOf(p, d.Objections)); len(rs) > 0 {
			said = "by " + reasonLine(rs)
		}
		return said
	}
	switch {
	case !there:
		return "there is no such candidate on this machine"
	case failed != nil:
		return failed.Error()
	case want == nil && inScope:
		return fmt.Sprintf("no rule was to claim it, and it would be %s, %s", verdictWords[d.Verdict], by())
	case want == nil:
		return ""
	case !inScope:
		return fmt.Sprintf("it was to be %s, and no rule claims it", verdictWords[want.Verdict])
	case want.Verdict != d.Verdict:
		return fmt.Sprintf("it was to be %s, and it is %s, %s", verdictWords[want.Verdict], verdictWords[d.Verdict], by())
	case want.Level != "" && want.Level != d.Level:
		return fmt.Sprintf("its level was to be %q, and it is %q", want.Level, d.Level)
	}
	for _, of := range []struct {
		what string
		want []string
		have []decision.Reason
	}{{"findings", want.Findings, d.Findings}, {"objections", want.Objections, d.Objections}} {
		var have []string
		for _, r := range of.have {
			have = append(have, r.Rule)
		}
		slices.Sort(have)
		have = slices.Compact(have)
		if of.want != nil && !slices.Equal(slices.Sorted(slices.Values(of.want)), have) { // left out, they are not asked for
			return fmt.Sprintf("its %s were to be %s, and they are %s", of.what, orNone(of.want), orNone(have))
		}
	}
	return ""
}

var verdictWords = map[string]string{decision.Reap: "reaped", decision.Spare: "spared"}

func orNone(rules []string) string {
	if len(rules) == 0 {
		return "none"
	}
	return strings.Join(rules, ", ")
}
