package eval_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"winnow/engine/decision"
	"winnow/engine/eval"
	"winnow/engine/explain"
	"winnow/engine/policy"
	"winnow/engine/snapshot"
	"winnow/engine/subject"
	"winnow/testkit/rules"
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
`,
	})}
}

func dirSubject(t *testing.T, d snapshot.Dir) *subject.Subject {
	t.Helper()
	d.Path, d.Source = "/w/"+d.Name, "dirs//w"
	j := subject.Join(&snapshot.Snapshot{TakenAt: now, Dirs: map[string]snapshot.Dir{"dir:" + d.Path: d}}, config())
	sub, ok := j.Subject("dir:" + d.Path)
	if !ok {
		t.Fatal("no subject")
	}
	return sub
}

func TestExplainSaysWhatWouldHaveToBeDifferent(t *testing.T) {
	t.Parallel()
	e := ready(t, load(t, checked()), eval.Limits{})
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
							Text: `findings contains {"rule": "reap.dirs.disposable", "message": $"{input.dir.name} is disposable", "evidence": {"name": input.dir.name}} if in_scope`,
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
			have, err := e.Explain(t.Context(), dirSubject(t, c.dir))
			if err != nil {
				t.Fatal(err)
			}
			c.want.ID, c.want.Label, c.want.Kind = "dir:/w/"+c.dir.Name, "/w/"+c.dir.Name, "dir"
			if diff := cmp.Diff(string(marshal(t, c.want)), string(marshal(t, have))); diff != "" {
				t.Errorf("(-want +have):\n%s", diff)
			}
		})
	}
}

type number int

// TestExplainAgreesWithDecide holds every explanation to the decision that it explains.
func TestExplainAgreesWithDecide(t *testing.T) {
	t.Parallel()
	e := ready(t, shipped(t), eval.Limits{})
	s := newMaker(3, 0.05).world(90)
	r, err := e.Decide(t.Context(), s, config())
	if err != nil {
		t.Fatal(err)
	}
	j := subject.Join(s, config())
	for _, d := range r.Decisions {
		sub, _ := j.Subject(d.ID)
		x, err := e.Explain(t.Context(), sub)
		if err != nil {
			t.Fatal(err)
		}
		have := decision.Decision{Verdict: x.Verdict, Findings: plain(x.Findings), Objections: plain(x.Objections)}
		if diff := cmp.Diff(said(t, d), said(t, have)); diff != "" {
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
