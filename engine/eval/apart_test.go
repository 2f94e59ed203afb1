package eval_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/policies"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/rules"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// apart loads policies into a process of their own, which ends with the test.
func apart(t testing.TB, l eval.Limits, trees ...policy.Tree) *eval.Engine {
	t.Helper()
	e, _, err := eval.LoadApart(t.Context(), policy.LoadOptions{Trees: trees}, l, eval.Self())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

var embedded = policy.Tree{Name: "embedded", FS: policies.Files, Prefix: "policies"}

// TestApartDecidesTheSame holds the decisions of policies that are judged in a process of their own to those that are made here.
func TestApartDecidesTheSame(t *testing.T) {
	t.Parallel()
	here := ready(t, shipped(t), eval.Limits{})
	there := apart(t, eval.Limits{}, embedded)
	for seed := range uint64(6) {
		s := newMaker(seed, 0.05*float64(seed%3)).world(300)
		s.Dirs["dir:/w/\xff-review-0000000a"] = snapshot.Dir{Source: "dirs//w", Name: "\xff-review-0000000a", Path: "/w/\xff-review-0000000a"}
		s.Dirs["dir:/w/\xfe-review-0000000a"] = snapshot.Dir{Source: "dirs//w", Name: "\xfe-review-0000000a", Path: "/w/\xfe-review-0000000a"}
		want, err := here.Decide(t.Context(), s, config())
		if err != nil {
			t.Fatal(err)
		}
		have, err := there.Decide(t.Context(), s, config())
		if err != nil {
			t.Fatal(err)
		}
		// JSON writes the mark for a byte that is no UTF-8 in two ways; the candidate and what is said of it are the same.
		text := func(r eval.Result) string {
			return strings.ReplaceAll(string(marshal(t, r.Decisions)), `\ufffd`, "\ufffd")
		}
		if text(want) != text(have) {
			t.Fatalf("seed %d (-here +there):\n%s", seed, gocmp.Diff(want, have))
		}
		if diff := gocmp.Diff(want.Seen, have.Seen); diff != "" || len(have.Errors) > 0 {
			t.Errorf("%s %v", diff, have.Errors)
		}
		for i, d := range want.Decisions {
			if diff := gocmp.Diff(d.Identity, have.Decisions[i].Identity); diff != "" || d.ID != have.Decisions[i].ID || d.InScope != have.Decisions[i].InScope {
				t.Fatalf("%s: %s", d.ID, diff)
			}
		}
	}
}

// TestApartExplainsTheSame holds explanations to each other.
func TestApartExplainsTheSame(t *testing.T) {
	attack.WithoutRaces(t)
	t.Parallel()
	here := ready(t, shipped(t), eval.Limits{})
	there := apart(t, eval.Limits{}, embedded)
	j := subject.Join(newMaker(3, 0.05).world(60), config())
	for _, kind := range snapshot.KindNames() {
		for _, id := range j.IDs(kind) {
			sub, _ := j.Subject(id)
			want, err := here.Explain(t.Context(), sub)
			if err != nil {
				t.Fatal(err)
			}
			have, err := there.Explain(t.Context(), sub)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(string(marshal(t, want)), string(marshal(t, have))); diff != "" {
				t.Fatalf("%s (-here +there):\n%s", id, diff)
			}
		}
	}
}

// TestApartSearchesTheSame holds what would turn the first verdicts of each kind to each other.
func TestApartSearchesTheSame(t *testing.T) {
	attack.WithoutRaces(t)
	t.Parallel()
	here := ready(t, shipped(t), eval.Limits{})
	there := apart(t, eval.Limits{}, embedded)
	j := subject.Join(newMaker(3, 0.05).world(60), config())
	for _, kind := range snapshot.KindNames() {
		ids := j.IDs(kind)
		for _, id := range ids[:min(3, len(ids))] {
			sub, _ := j.Subject(id)
			want, err := here.Counterfactual(t.Context(), sub, eval.Search{Decisions: 60})
			if err != nil {
				t.Fatal(err)
			}
			have, err := there.Counterfactual(t.Context(), sub, eval.Search{Decisions: 60})
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(string(marshal(t, want)), string(marshal(t, have))); diff != "" {
				t.Fatalf("%s (-here +there):\n%s", id, diff)
			}
		}
	}
}

// TestApartLoadsTheSame holds what is said of a policy, and of one that is refused, to what Load says.
func TestApartLoadsTheSame(t *testing.T) {
	t.Parallel()
	want := shipped(t)
	e, have, err := eval.LoadApart(t.Context(), policy.LoadOptions{Trees: []policy.Tree{embedded}}, eval.Limits{}, eval.Self())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if diff := gocmp.Diff(want.Rules(), have.Rules()); diff != "" || want.Digest != have.Digest || want.Revision != have.Revision || len(want.Files) != len(have.Files) {
		t.Errorf("digest %s %s, revision %s %s: %s", want.Digest, have.Digest, want.Revision, have.Revision, diff)
	}
	for name, files := range map[string]map[string]string{
		"syntax": rules.Objection("input.kind := := 1"), "schema": rules.Objection("input.dir.naem == \"\""), "lint": rules.Finding("not input.dir.symlink"),
		"manifest": {".manifest": "{", "lib/x/x.rego": "package policies.lib.x\n"},
	} {
		o := policy.LoadOptions{Trees: []policy.Tree{{Name: "embedded", FS: rules.Small(nil), Prefix: "p"}, {Name: "mine", FS: rules.Tree(files), Prefix: "my"}}}
		_, want := policy.Load(t.Context(), o)
		_, _, have := eval.LoadApart(t.Context(), o, eval.Limits{}, eval.Self())
		if want == nil || have == nil || want.Error() != have.Error() {
			t.Errorf("%s: here %v\nthere %v", name, want, have)
		}
	}
}

func TestApartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, _, err := eval.LoadApart(ctx, policy.LoadOptions{Trees: []policy.Tree{embedded}}, eval.Limits{}, eval.Program{Path: "/bin/sleep", Args: []string{"sleep", "60"}})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > wait.Patience {
		t.Errorf("%v after %s", err, time.Since(begin))
	}
	var refused policy.Refusals
	if errors.As(err, &refused) {
		t.Errorf("policies were refused that nobody looked at: %v", refused)
	}
}

func TestApartWithoutAProgram(t *testing.T) {
	t.Parallel()
	for _, p := range []eval.Program{{Path: "/nonexistent", Args: []string{"x"}}, {Path: "/bin/true", Args: []string{"true"}}, {Path: "/bin/echo", Args: []string{"echo", "{}"}}, {Path: "/bin/echo", Args: []string{"echo", "nonsense"}}} {
		if e, _, err := eval.LoadApart(t.Context(), policy.LoadOptions{Trees: []policy.Tree{embedded}}, eval.Limits{}, p); err == nil {
			_ = e.Close()
			t.Errorf("%v: policies were loaded by nobody", p)
		}
	}
}

// BenchmarkApart decides 1,000 candidates in a process apart, and here in the same run.
func BenchmarkApart(b *testing.B) {
	s := newMaker(1, 0).world(1000)
	here := ready(b, shipped(b), eval.Limits{})
	there := apart(b, eval.Limits{}, embedded)
	took, other := compared(b, func() { decided(b, there, s) }, func() { decided(b, here, s) })
	b.ReportMetric(1e3*took, "ms/1000")
	b.ReportMetric(took/other, "x-here")
}

// BenchmarkApartLoad starts the process and loads the shipped policies in it, and loads them here in the same run.
func BenchmarkApartLoad(b *testing.B) {
	took, other := compared(b, func() {
		e, _, err := eval.LoadApart(b.Context(), policy.LoadOptions{Trees: []policy.Tree{embedded}}, eval.Limits{}, eval.Self())
		if err != nil {
			b.Fatal(err)
		}
		_ = e.Close()
	}, func() { ready(b, shipped(b), eval.Limits{}) })
	b.ReportMetric(1e3*took, "ms/load")
	b.ReportMetric(took/other, "x-here")
}
