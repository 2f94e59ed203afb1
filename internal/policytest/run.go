// Package policytest decides cases by policies, the incidents that Winnow ships and a person's own, and says what came of them and of tests as suites
// and findings.
package policytest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/compare"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/engine/tester"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/sys/strict"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Runner decides cases by an engine and the policies that it has.
type Runner struct {
	Engine *eval.Engine
	Policy *policy.Policy
}

// decided is what the policies make of a case.
type decided struct {
	all []decision.Decision
	// got, failed and flips are of the candidates that the case speaks of, by id: what was decided, why there is no answer, and what is not as the case wants it.
	got    map[string]decision.Decision
	failed map[string]error
	flips  map[string]compare.Flip
}

// decide decides a world and holds the decisions against what is wanted.
func (r Runner) decide(ctx context.Context, want map[string]*Want, world *snapshot.Snapshot, rules *subject.Config) (out decided, err error) {
	res, err := r.Engine.Decide(ctx, world, rules)
	if err != nil {
		return out, err
	}
	out = decided{all: res.Decisions, got: map[string]decision.Decision{}, failed: map[string]error{}, flips: map[string]compare.Flip{}}
	for _, d := range res.Decisions {
		if _, asked := want[d.ID]; asked {
			out.got[d.ID] = d
		}
	}
	for _, f := range res.Errors {
		out.failed[f.ID] = f.Err
	}
	var wanted []decision.Decision
	for id, w := range want {
		if w != nil {
			wanted = append(wanted, w.decision(id, out.got[id]))
		}
	}
	for _, f := range compare.Compare(&snapshot.Snapshot{}, wanted, slices.Collect(maps.Values(out.got))).Flips {
		out.flips[f.ID] = f
	}
	return out, nil
}

// decision is what a case wants. What it leaves out is as it was decided.
func (w *Want) decision(id string, got decision.Decision) decision.Decision {
	got.ID, got.Verdict, got.InScope, got.Level = id, w.Verdict, true, cmp.Or(w.Level, got.Level)
	if w.Findings != nil {
		got.Findings = reasonsBy(w.Findings, got.Findings)
	}
	if w.Objections != nil {
		got.Objections = reasonsBy(w.Objections, got.Objections)
	}
	return got
}

// reasonsBy are reasons of those rules, as they were given where they were.
func reasonsBy(rules []string, given []decision.Reason) (out []decision.Reason) {
	for _, rule := range rules {
		reason := decision.Reason{Rule: rule}
		for _, g := range given {
			if g.Rule == rule {
				reason = g
			}
		}
		out = append(out, reason)
	}
	return out
}

// Incident decides an incident. It fails where something goes that has to stay; what stays and could go is said in the
// message alone. custom are the parameters of the policies' own rules.
func (r Runner) Incident(ctx context.Context, name string, c Case, custom map[string]any) (tester.Result, error) {
	out := tester.Result{Name: report.IncidentPrefix + name, Outcome: tester.Pass}
	world, err := c.Look()
	if err != nil {
		return out, err
	}
	rules, err := c.Rules()
	if err != nil {
		return out, err
	}
	rules.Custom = custom
	d, err := r.decide(ctx, c.Want, world, rules)
	if err != nil {
		return out, err
	}
	var words []string
	for _, id := range slices.Sorted(maps.Keys(c.Want)) {
		flip, got := d.flips[id], d.got[id]
		switch {
		case flip.Change == compare.NewReap:
			out.Outcome = tester.Fail
			r.locate(&out, got.Findings)
		case d.failed[id] != nil:
			if out.Passed() {
				out.Outcome = tester.Error
			}
			words = append(words, id+": "+d.failed[id].Error())
			continue
		case flip.Change == compare.NewKeep:
			if out.Passed() {
				r.locate(&out, got.Objections)
			}
		default:
			continue
		}
		words = append(words, id+": "+r.unlike(flip, got))
	}
	if len(words) > 0 {
		out.Message = c.Sentence + ": " + strings.Join(words, "; ")
	}
	return out, nil
}

// locate puts a result at the rule of a reason.
func (r Runner) locate(result *tester.Result, reasons []decision.Reason) {
	for _, reason := range reasons {
		if rule := r.Policy.Rule(reason.Rule); rule.File != "" {
			result.File, result.Line = rule.File, rule.Line
		}
	}
}

// Case decides a person's own case, and says in the result what is not as it wants.
func (r Runner) Case(ctx context.Context, c *Own, result tester.Result) tester.Result {
	result.Outcome, result.Line = tester.Pass, max(c.Line("sentence"), 1)
	wrong, err := r.differences(ctx, c)
	if err != nil {
		return unread(result, err)
	}
	if len(wrong) > 0 {
		result.Outcome, result.At, result.Text = tester.Fail, wrong[0].line, wrong[0].id
		each := text.Join(wrong, "; ", func(w difference) string { return w.id + ": " + w.what })
		result.Message = c.Sentence + ": " + each
	}
	return result
}

// unread is the result of a case that came to none, at the line that is wrong where that is known.
func unread(r tester.Result, err error) tester.Result {
	r.Outcome, r.Message = tester.Error, strings.ReplaceAll(err.Error(), "\n", "; ")
	var wrong strict.Problems
	if errors.As(err, &wrong) && len(wrong) > 0 {
		r.Line = max(wrong[0].Line, 1)
	}
	return r
}

// difference is what is not as a case wants it.
type difference struct {
	id, what string
	line     int
}

func (r Runner) differences(ctx context.Context, c *Own) (out []difference, err error) {
	world, err := c.Look()
	if err != nil {
		return nil, err
	}
	cfg, err := c.Configuration()
	if err != nil {
		return nil, err
	}
	if err := (ruleset.Set{Cfg: cfg}).Check(r.Policy); err != nil {
		return nil, c.InConfig(err)
	}
	d, err := r.decide(ctx, c.Want, world, &cfg.Rules.Config)
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(c.Want)) {
		_, there := world.Find(id)
		what := ""
		switch {
		case !there:
			what = "there is no such candidate on this machine"
		case d.failed[id] != nil:
			what = d.failed[id].Error()
		case d.flips[id].Change != "":
			what = r.unlike(d.flips[id], d.got[id])
		default:
			continue
		}
		out = append(out, difference{id, what, c.Line("want", id)})
	}
	next := eval.Sightings(world.Sightings, world, d.all)
	for _, id := range slices.Sorted(maps.Keys(c.Remembered)) {
		if _, left := next[id]; left != c.Remembered[id] {
			out = append(out, difference{id, fmt.Sprintf("a sighting of it is left: %v", left), c.Line("remembered", id)})
		}
	}
	return out, nil
}

// causeWords say what a rule did that a case does not want.
var causeWords = map[string]string{
	compare.Found: "finds a reason", compare.NotFound: "finds no reason", compare.Objects: "objects", compare.Silent: "does not object",
}

// unlike says in what a decision is not what a case wants.
func (r Runner) unlike(f compare.Flip, got decision.Decision) string {
	if want, have := verdictWords(f.Base), verdictWords(f.Head); want != have {
		by := ", and nothing is found, and nothing objects"
		if rs := slices.Concat(got.Findings, got.Objections); len(rs) > 0 {
			by = ", by " + r.rulesOf(rs)
		}
		return fmt.Sprintf("it was to be %s, and it is %s%s", want, have, by)
	}
	words := []string{"its reasons are not those that were wanted"}
	for _, c := range f.Causes {
		words = append(words, c.Rule+" "+causeWords[c.What])
	}
	return strings.Join(words, ", ")
}

func verdictWords(v compare.Verdict) string {
	switch {
	case !v.InScope:
		return "claimed by no rule"
	case v.Verdict == decision.Reap:
		return "reaped"
	case v.Level != "":
		return "spared at " + v.Level
	}
	return "spared"
}

// rulesOf names the rules of reasons with their places, each once.
func (r Runner) rulesOf(reasons []decision.Reason) string {
	var out []string
	for _, reason := range reasons {
		words := reason.Rule
		if rule := r.Policy.Rule(reason.Rule); rule.File != "" {
			words += fmt.Sprintf(" (%s:%d)", rule.File, rule.Line)
		}
		if !slices.Contains(out, words) {
			out = append(out, words)
		}
	}
	return strings.Join(out, ", ")
}
