package sandbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/policies"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/rules"
	"github.com/winnow-reaper/winnow/test/kit/wait"
	"github.com/winnow-reaper/winnow/test/kit/worlds"
)

// apart loads policies into a process of their own, which ends with the test.
func apart(t testing.TB, l eval.Limits, trees ...policy.Tree) *eval.Engine {
	t.Helper()
	e, _, err := sandbox.Load(t.Context(), policy.LoadOptions{Trees: trees}, l, sandbox.Self())
	must.Do(t, err)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

var embedded = policy.Tree{Name: "embedded", FS: policies.Files, Prefix: "policies"}

// TestApartDecidesTheSame holds the decisions of policies that are judged in a process of their own to those that are made here.
func TestApartDecidesTheSame(t *testing.T) {
	t.Parallel()
	here := worlds.Engine(t, rules.Shipped(t), eval.Limits{})
	there := apart(t, eval.Limits{}, embedded)
	for seed := range uint64(6) {
		s := worlds.New(seed, 0.05*float64(seed%3)).World(300)
		s.Dirs["dir:/w/\xff-review-0000000a"] = snapshot.Dir{Source: "dirs//w", Name: "\xff-review-0000000a", Path: "/w/\xff-review-0000000a"}
		s.Dirs["dir:/w/\xfe-review-0000000a"] = snapshot.Dir{Source: "dirs//w", Name: "\xfe-review-0000000a", Path: "/w/\xfe-review-0000000a"}
		want := must.Get(here.Decide(t.Context(), s, worlds.Config()))(t)
		have := must.Get(there.Decide(t.Context(), s, worlds.Config()))(t)
		// JSON writes the mark for a byte that is no UTF-8 in two ways; the candidate and its reasons are the same.
		text := func(r eval.Result) string {
			return strings.ReplaceAll(string(worlds.JSON(t, r.Decisions)), `\ufffd`, "\ufffd")
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
	here := worlds.Engine(t, rules.Shipped(t), eval.Limits{})
	there := apart(t, eval.Limits{}, embedded)
	j := subject.Join(worlds.New(3, 0.05).World(60), worlds.Config())
	for _, kind := range snapshot.KindNames() {
		for _, id := range j.IDs(kind) {
			sub, _ := j.Subject(id)
			want := must.Get(here.Explain(t.Context(), sub))(t)
			have := must.Get(there.Explain(t.Context(), sub))(t)
			if diff := gocmp.Diff(string(worlds.JSON(t, want)), string(worlds.JSON(t, have))); diff != "" {
				t.Fatalf("%s (-here +there):\n%s", id, diff)
			}
		}
	}
}

// TestApartSearchesTheSame holds what would turn the first verdicts of each kind to each other.
func TestApartSearchesTheSame(t *testing.T) {
	attack.WithoutRaces(t)
	t.Parallel()
	here := worlds.Engine(t, rules.Shipped(t), eval.Limits{})
	there := apart(t, eval.Limits{}, embedded)
	j := subject.Join(worlds.New(3, 0.05).World(60), worlds.Config())
	for _, kind := range snapshot.KindNames() {
		ids := j.IDs(kind)
		for _, id := range ids[:min(3, len(ids))] {
			sub, _ := j.Subject(id)
			want, err := here.Counterfactual(t.Context(), sub, eval.Search{Decisions: 60})
			must.Do(t, err)
			have, err := there.Counterfactual(t.Context(), sub, eval.Search{Decisions: 60})
			must.Do(t, err)
			if diff := gocmp.Diff(string(worlds.JSON(t, want)), string(worlds.JSON(t, have))); diff != "" {
				t.Fatalf("%s (-here +there):\n%s", id, diff)
			}
		}
	}
}

// TestApartLoadsTheSame holds the messages about a policy, and of one that is refused, to what Load says.
func TestApartLoadsTheSame(t *testing.T) {
	t.Parallel()
	want := rules.Shipped(t)
	e, have, err := sandbox.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{embedded}}, eval.Limits{}, sandbox.Self())
	must.Do(t, err)
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
		_, _, have := sandbox.Load(t.Context(), o, eval.Limits{}, sandbox.Self())
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
	_, _, err := sandbox.Load(ctx, policy.LoadOptions{Trees: []policy.Tree{embedded}}, eval.Limits{}, sandbox.Program{Path: "/bin/sleep", Args: []string{"sleep", "60"}})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > wait.Patience {
		t.Errorf("%v after %s", err, time.Since(begin))
	}
	var refused lint.Refusals
	if errors.As(err, &refused) {
		t.Errorf("policies were refused that were not looked at: %v", refused)
	}
}

func TestApartWithoutAProgram(t *testing.T) {
	t.Parallel()
	for _, p := range []sandbox.Program{{Path: "/nonexistent", Args: []string{"x"}}, {Path: "/bin/true", Args: []string{"true"}}, {Path: "/bin/echo", Args: []string{"echo", "{}"}}, {Path: "/bin/echo", Args: []string{"echo", "nonsense"}}} {
		if e, _, err := sandbox.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{embedded}}, eval.Limits{}, p); err == nil {
			_ = e.Close()
			t.Errorf("%v: policies were not loaded", p)
		}
	}
}
