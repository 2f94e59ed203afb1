package eval_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/rules"
	"github.com/winnow-reaper/winnow/test/kit/worlds"
)

// hostile are rules that pass every check at load and would run for hours, or until the memory is gone.
var hostile = map[string]string{
	"nested loops":         "xs := [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n\tsome a in xs\n\tsome b in xs\n\tsome c in xs\n\tsome d in xs\n\tsome e in xs\n\tsome f in xs\n\tsome g in xs\n\tsome h in xs\n\ta + b + c + d + e + f + g + h == 91",
	"growing arrays":       "xs := [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n\tys := [array.concat(xs, [a, b, c, d, e, f, g]) | some a in xs; some b in xs; some c in xs; some d in xs; some e in xs; some f in xs; some g in xs]\n\tcount(ys) > 1",
	"a set that collides":  "xs := [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n\tys := {[a, b, c, d, e] | some a in xs; some b in xs; some c in xs; some d in xs; some e in xs}\n\tcount(ys) > 1",
	"doubled by concat":    rules.Doubled(`concat("", [s%d, s%d])`),
	"doubled by sprintf":   rules.Doubled(`sprintf("%%s%%s", [s%d, s%d])`),
	"doubled by template":  rules.Doubled(`$"{s%d}{s%d}"`),
	"doubled by replace":   rules.Doubled(`replace("ab", "b", concat("", [s%d, s%d]))`),
	"a bad regular one":    `regex.match("(", input.id)`,
	"every of every":       "xs := [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n\tevery a in xs {\n\t\tevery b in xs {\n\t\t\tevery c in xs {\n\t\t\t\tevery d in xs {\n\t\t\t\t\tevery e in xs {\n\t\t\t\t\t\tevery f in xs {\n\t\t\t\t\t\t\tevery g in xs {\n\t\t\t\t\t\t\t\ta + b + c + d + e + f + g < 100\n\t\t\t\t\t\t\t}\n\t\t\t\t\t\t}\n\t\t\t\t\t}\n\t\t\t\t}\n\t\t\t}\n\t\t}\n\t}",
	"a comprehension deep": "xs := [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n\tcount({s | some a in xs; some b in xs; some c in xs; some d in xs; some e in xs; some f in xs; some g in xs; s := $\"{a}{b}{c}{d}{e}{f}{g}\"}) > 10000000",
}

// TestHostilePoliciesSpare: of a hostile rule the candidate is spared, it is said, and the others are decided.
func TestHostilePoliciesSpare(t *testing.T) {
	for name, body := range hostile {
		t.Run(name, func(t *testing.T) {
			only := "input.dir.name == \"bad-review-0000000b\"\n\t" + body
			p := rules.Load(t, policy.Tree{Name: "embedded", FS: rules.Small(nil), Prefix: "p"}, policy.Tree{Name: "mine", FS: rules.Tree(rules.Finding(only)), Prefix: "my"})
			e := worlds.Engine(t, p, eval.Limits{Timeout: 150 * time.Millisecond, HeapBytes: 48 << 20})
			s := &snapshot.Snapshot{TakenAt: worlds.Now, Dirs: map[string]snapshot.Dir{}}
			for _, n := range []string{"bad-review-0000000b", "x-review-0000000a", "y-review-0000000c"} {
				s.Dirs["dir:/w/"+n] = snapshot.Dir{Source: "dirs//w", Name: n, Path: "/w/" + n}
			}
			r := must.Get(e.Decide(t.Context(), s, worlds.Config()))(t)
			if len(r.Errors) != 1 || r.Errors[0].ID != "dir:/w/bad-review-0000000b" {
				t.Fatalf("want one error, have %v", r.Errors)
			}
			var verdicts []string
			for _, d := range r.Decisions {
				verdicts = append(verdicts, d.ID+" "+d.Verdict)
				if d.ID == r.Errors[0].ID && (len(d.Objections) != 1 || d.Objections[0].Rule != decision.PolicyError || !d.Unknown()) {
					t.Errorf("want the objection policy_error, have %v", d.Objections)
				}
			}
			want := []string{"dir:/w/bad-review-0000000b spare", "dir:/w/x-review-0000000a reap", "dir:/w/y-review-0000000c reap"}
			if !slices.Equal(want, verdicts) {
				t.Errorf("want %v, have %v", want, verdicts)
			}
		})
	}
}

// TestScopeThatFailsSpares: a candidate whose scope is not known is in scope, and spared.
func TestScopeThatFailsSpares(t *testing.T) {
	t.Parallel()
	bad := strings.Replace(rules.Finding("input.dir.name == \"\"")["reap/dirs/mine/mine.rego"], `input.dir.name != ""`, `regex.match("(", input.dir.name)`, 1)
	p := rules.Load(t, policy.Tree{Name: "embedded", FS: rules.Small(nil), Prefix: "p"},
		policy.Tree{Name: "mine", FS: rules.Tree(map[string]string{"reap/dirs/mine/mine.rego": bad}), Prefix: "my"})
	s := &snapshot.Snapshot{TakenAt: worlds.Now, Dirs: map[string]snapshot.Dir{"dir:/w/x": {Source: "dirs//w", Name: "x", Path: "/w/x"}}}
	r := must.Get(worlds.Engine(t, p, eval.Limits{}).Decide(t.Context(), s, worlds.Config()))(t)
	if len(r.Errors) != 1 || len(r.Decisions) != 1 || r.Decisions[0].Verdict != decision.Spare || !r.Decisions[0].InScope {
		t.Errorf("have %+v", r)
	}
}

func TestPanicIsAnError(t *testing.T) {
	t.Parallel()
	if err := eval.AskWithoutASeat(worlds.Engine(t, rules.Shipped(t), eval.Limits{}), dirSubject(t, snapshot.Dir{Name: "x"})); err == nil {
		t.Error("a panic was no error")
	}
}
