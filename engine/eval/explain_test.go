package eval_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/rules"
	"github.com/winnow-reaper/winnow/test/kit/worlds"
)

// checked is a policy whose explanations are short: a folder goes unless it is shown to hold no changes.
func checked() policy.Tree {
	return policy.Tree{Name: "x", Prefix: "p", FS: rules.Small(map[string]string{
		"protect/held/held.rego": "",
		"protect/unsaved/unsaved.rego": `# METADATA
# title: Unsaved
# description: It may hold work.
package policies.protect.unsaved

objections contains {"rule": "protect.unsaved", "message": "unsaved", "evidence": {}} if {
	input.kind == "dir"
	not _saved
}

objections contains {"rule": "protect.unsaved", "message": "of a session", "evidence": {}} if {
	input.kind == "session"
	not _saved
}

_saved if {
	input.dir.git.worktree == true
	input.dir.git.dirty < 1
}

objections contains {"message": "what only a session has", "evidence": {}} if input.session.error != ""
`,
	})}
}

func dirSubject(t *testing.T, d snapshot.Dir) *subject.Subject {
	t.Helper()
	d.Path, d.Source = "/w/"+d.Name, "dirs//w"
	j := subject.Join(&snapshot.Snapshot{TakenAt: worlds.Now, Dirs: map[string]snapshot.Dir{"dir:" + d.Path: d}}, worlds.Config())
	sub, ok := j.Subject("dir:" + d.Path)
	if !ok {
		t.Fatal("no subject")
	}
	return sub
}

func TestExplainSaysWhatWouldHaveToBeDifferent(t *testing.T) {
	t.Parallel()
	e := worlds.Engine(t, rules.Load(t, checked()), eval.Limits{})
	const reap, keep = "p/reap/dirs/disposable/disposable.rego", "p/protect/unsaved/unsaved.rego"
	saved := explain.Condition{Rule: "policies.protect.unsaved._saved", File: keep}
	cases := map[string]struct {
		dir  snapshot.Dir
		want explain.Explanation
	}{
		"work in it": {
			snapshot.Dir{Name: "x-review-0000000a", Git: &snapshot.Git{Worktree: new(true), Dirty: new(3)}},
			explain.Explanation{
				Verdict: decision.Spare, InScope: true,
				Findings: []explain.Fired{{
					Reason: decision.Reason{
						Rule: "reap.dirs.disposable", Message: "x-review-0000000a is disposable", Evidence: map[string]any{"name": "x-review-0000000a"},
					},
					File: reap, Line: 17, Title: "A disposable folder", Description: "Its name says so.",
				}},
				Objections: []explain.Fired{{
					Reason: decision.Reason{Rule: "protect.unsaved", Message: "unsaved"},
					File:   keep, Line: 6, Title: "Unsaved", Description: "It may hold work.",
					Missing: []explain.Condition{{
						Rule: saved.Rule, File: keep, Line: 18, Text: "input.dir.git.dirty < 1",
						Values: []explain.Value{{Name: "input.dir.git.dirty", Value: number(3)}},
					}},
				}},
			},
		},
		"a fact is missing": {
			snapshot.Dir{Name: "x-review-0000000a", Git: &snapshot.Git{Dirty: new(3)}},
			explain.Explanation{
				Verdict: decision.Spare, InScope: true,
				Findings: []explain.Fired{{
					Reason: decision.Reason{
						Rule: "reap.dirs.disposable", Message: "x-review-0000000a is disposable", Evidence: map[string]any{"name": "x-review-0000000a"},
					},
					File: reap, Line: 17, Title: "A disposable folder", Description: "Its name says so.",
				}},
				Objections: []explain.Fired{{
					Reason: decision.Reason{Rule: "protect.unsaved", Message: "unsaved"},
					File:   keep, Line: 6, Title: "Unsaved", Description: "It may hold work.",
					Missing: []explain.Condition{{
						Rule: saved.Rule, File: keep, Line: 17, Text: "input.dir.git.worktree == true",
						Values: []explain.Value{{Name: "input.dir.git.worktree", Unknown: true}},
					}},
				}},
			},
		},
		"nothing against it": {
			snapshot.Dir{Name: "mine", Git: &snapshot.Git{Worktree: new(true), Dirty: new(0)}},
			explain.Explanation{
				Verdict: decision.Spare,
				NoFinding: []explain.Silent{
					{
						Rule: "reap.dirs.disposable", File: reap, Line: 9, Title: "In scope", Description: "True for a folder with a disposable name.",
						Failed: []explain.Condition{{
							Rule: "policies.reap.dirs.disposable.in_scope", File: reap, Line: 11, Text: "regex.match(pattern, input.dir.name)",
							Values: []explain.Value{{Name: "input.config.disposable_dirs[_]", Value: `(?i)-review-[0-9a-f]{8}$`}, {Name: "input.dir.name", Value: "mine"}},
						}},
					},
					{
						Rule: "reap.dirs.disposable", File: reap, Line: 17, Title: "A disposable folder", Description: "Its name says so.",
						Failed: []explain.Condition{{
							Rule: "policies.reap.dirs.disposable.findings", File: reap, Line: 17,
							Text: `findings contains {"message": $"{input.dir.name} is disposable", "evidence": {"name": input.dir.name}} if in_scope`,
							Because: []explain.Condition{{
								Rule: "policies.reap.dirs.disposable.in_scope", File: reap, Line: 11, Text: "regex.match(pattern, input.dir.name)",
								Values: []explain.Value{{Name: "input.config.disposable_dirs[_]", Value: `(?i)-review-[0-9a-f]{8}$`}, {Name: "input.dir.name", Value: "mine"}},
							}},
						}},
					},
				},
				NoObjection: []explain.Silent{{
					Rule: "protect.unsaved", File: keep, Line: 6, Title: "Unsaved", Description: "It may hold work.",
					Failed: []explain.Condition{{Rule: "policies.protect.unsaved.objections", File: keep, Line: 8, Text: "not _saved"}},
					Shown: []explain.Condition{{
						Rule: saved.Rule, File: keep, Line: 16, Text: "_saved if { input.dir.git.worktree == true input.dir.git.dirty < 1 }",
					}},
				}},
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			have := must.Get(e.Explain(t.Context(), dirSubject(t, c.dir)))(t)
			c.want.ID, c.want.Label, c.want.Kind = "dir:/w/"+c.dir.Name, "/w/"+c.dir.Name, "dir"
			for _, fired := range [][]explain.Fired{have.Findings, have.Objections} {
				for i := range fired {
					fired[i].Facts = nil // see TestExplainNamesFactsWithTheirSource
				}
			}
			if diff := cmp.Diff(string(worlds.JSON(t, c.want)), string(worlds.JSON(t, have))); diff != "" {
				t.Errorf("(-want +have):\n%s", diff)
			}
		})
	}
}

type number int

func TestExplainNamesFactsWithTheirSource(t *testing.T) {
	t.Parallel()
	x, err := worlds.Engine(t, rules.Load(t, checked()), eval.Limits{}).Explain(t.Context(), dirSubject(t, snapshot.Dir{Name: "x-review-0000000a", Git: &snapshot.Git{Dirty: new(3)}}))
	must.Do(t, err)
	if len(x.Objections) != 1 {
		t.Fatalf("%d objections", len(x.Objections))
	}
	at := worlds.Now
	want := []explain.Fact{
		{Fact: "input.dir.git.dirty", Value: number(3), Source: "dirs//w", AsOf: &at},
		{Fact: "input.dir.git.worktree", Unknown: true, Source: "dirs//w", AsOf: &at},
	}
	if diff := cmp.Diff(string(worlds.JSON(t, want)), string(worlds.JSON(t, x.Objections[0].Facts))); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
}

// TestCounterfactual: what would turn a verdict, by name, and nothing more than it takes.
func TestCounterfactual(t *testing.T) {
	t.Parallel()
	e := worlds.Engine(t, rules.Load(t, checked()), eval.Limits{})
	cases := map[string]struct {
		git  snapshot.Git
		want decision.Counterfactual
	}{
		"one fact": {
			snapshot.Git{Worktree: new(true), Dirty: new(3)},
			decision.Counterfactual{Verdict: decision.Reap, Ways: []decision.Way{{{Fact: "input.dir.git.dirty", From: 3, To: 0, Source: "dirs//w"}}}},
		},
		"two facts, of which one is not known": {
			snapshot.Git{Dirty: new(3)},
			decision.Counterfactual{Verdict: decision.Reap, Ways: []decision.Way{{
				{Fact: "input.dir.git.dirty", From: 3, To: 0, Source: "dirs//w"},
				{Fact: "input.dir.git.worktree", To: true, Unknown: true, Source: "dirs//w"},
			}}},
		},
		"what goes": {
			snapshot.Git{Worktree: new(true), Dirty: new(0)},
			decision.Counterfactual{Verdict: decision.Spare, Ways: []decision.Way{
				{{Fact: "input.dir.git.worktree", From: true, To: false, Source: "dirs//w"}},
			}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			have, err := e.Counterfactual(t.Context(), dirSubject(t, snapshot.Dir{Name: "x-review-0000000a", Git: &c.git}), eval.Search{})
			must.Do(t, err)
			if have.Decided == 0 {
				t.Error("nothing was decided")
			}
			c.want.Decided = have.Decided
			if diff := cmp.Diff(string(worlds.JSON(t, c.want)), string(worlds.JSON(t, have))); diff != "" {
				t.Errorf("(-want +have):\n%s", diff)
			}
		})
	}
}

// TestCounterfactualTriesAnotherCandidatesWayFirst: a way that was found for one costs the next one a few decisions.
func TestCounterfactualTriesAnotherCandidatesWayFirst(t *testing.T) {
	t.Parallel()
	e := worlds.Engine(t, rules.Load(t, checked()), eval.Limits{})
	ask := func(name string, s eval.Search) *decision.Counterfactual {
		t.Helper()
		o, err := e.Counterfactual(t.Context(), dirSubject(t, snapshot.Dir{Name: name, Git: &snapshot.Git{Dirty: new(3)}}), s)
		must.Do(t, err)
		return o
	}
	first := ask("x-review-0000000a", eval.Search{})
	next := ask("x-review-0000000b", eval.Search{First: first.Ways})
	if diff := cmp.Diff(first.Ways, next.Ways); diff != "" || next.Decided >= first.Decided || next.Decided > 5 {
		t.Errorf("%d decisions, before %d: %s", next.Decided, first.Decided, diff)
	}
	bad := []decision.Way{{{Fact: "input.dir.[", To: 1}}, {{Fact: "input.dir.git.dirty", From: 3, To: 7}}, {}}
	if diff := cmp.Diff(first.Ways, ask("x-review-0000000c", eval.Search{First: bad}).Ways); diff != "" {
		t.Errorf("ways that are none: %s", diff)
	}
}

// TestCounterfactualSaysThatItWasCutShort where its decisions or its time are used up.
func TestCounterfactualSaysThatItWasCutShort(t *testing.T) {
	t.Parallel()
	e := worlds.Engine(t, rules.Load(t, checked()), eval.Limits{})
	sub := dirSubject(t, snapshot.Dir{Name: "x-review-0000000a", Git: &snapshot.Git{Dirty: new(3)}})
	for _, s := range []eval.Search{{Decisions: 2}, {Within: 1}} {
		o, err := e.Counterfactual(t.Context(), sub, s)
		if err != nil || len(o.Ways) != 0 || o.Limit == "" {
			t.Errorf("%+v: %v, %+v", s, err, o)
		}
	}
	ctx, done := context.WithCancel(t.Context())
	done()
	if o, err := e.Counterfactual(ctx, sub, eval.Search{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %+v", err, o)
	}
}

// TestExplainAgreesWithDecide holds every explanation to the decision that it explains.
func TestExplainAgreesWithDecide(t *testing.T) {
	attack.WithoutRaces(t)
	t.Parallel()
	e := worlds.Engine(t, rules.Shipped(t), eval.Limits{})
	s := worlds.New(3, 0.05).World(90)
	r := must.Get(e.Decide(t.Context(), s, worlds.Config()))(t)
	j := subject.Join(s, worlds.Config())
	for _, d := range r.Decisions {
		sub, _ := j.Subject(d.ID)
		x := must.Get(e.Explain(t.Context(), sub))(t)
		have := decision.Decision{Verdict: x.Verdict, Findings: plain(x.Findings), Objections: plain(x.Objections)}
		if diff := cmp.Diff(reasons(t, d), reasons(t, have)); diff != "" {
			t.Fatalf("%s (-decision +explanation):\n%s", d.ID, diff)
		}
		for _, f := range slices.Concat(x.Findings, x.Objections) {
			if f.File == "" || f.Line == 0 || f.Title == "" || f.Description == "" {
				t.Errorf("%s: nothing is said of where %q stands or what it is: %+v", d.ID, f.Message, f)
			}
		}
	}
}

func plain(fs []explain.Fired) []decision.Reason {
	out := []decision.Reason{}
	for _, f := range fs {
		out = append(out, f.Reason)
	}
	return out
}
