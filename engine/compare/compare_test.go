package compare_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/compare"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// decided makes a decision of a text such as "reap: a, b@ask | p": findings, and behind the bar objections. "" is out of scope.
func decided(id, text string) []decision.Decision {
	if text == "" {
		return nil
	}
	verdict, rest, _ := strings.Cut(text, ":")
	findings, objections, _ := strings.Cut(rest, "|")
	reasons := func(text string) []decision.Reason {
		var out []decision.Reason
		for name := range strings.SplitSeq(text, ",") {
			if name = strings.TrimSpace(name); name != "" {
				rule, level, _ := strings.Cut(name, "@")
				out = append(out, decision.Reason{Rule: rule, Message: rule + " says so", Level: level})
			}
		}
		return out
	}
	return []decision.Decision{{ID: id, Kind: "dir", Verdict: verdict, InScope: true, Findings: reasons(findings), Objections: reasons(objections)}}
}

// told is a result in words: the change, then each cause.
func told(r compare.Result) string {
	var out []string
	for _, f := range r.Flips {
		words := []string{f.Change}
		for _, c := range f.Causes {
			words = append(words, strings.TrimSpace(c.Rule+" "+c.What))
		}
		out = append(out, strings.Join(words, ", "))
	}
	return strings.Join(out, "; ")
}

func TestCompare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, head, want string }{
		{"reap: a", "reap: a", ""},
		{"spare: a | p", "spare: a | p", ""},
		{"", "reap: a", "new_reap, a found"},
		{"spare:", "reap: a", "new_reap, a found"},
		{"spare: a | p", "reap: a", "new_reap, p silent"},
		{"spare: a | p", "reap: a, b", "new_reap, p silent"},
		{"spare: | p", "reap: a", "new_reap, a found, p silent"},
		{"spare: b@observe | p", "reap: a, b@observe", "new_reap, a found, p silent"},
		{"spare: a@ask", "reap: a", "new_reap, a raised"},
		{"spare: a@ask", "reap: a@ask, b", "new_reap, b found"},
		{"reap: a", "", "new_keep, a no_more"},
		{"reap: a", "spare:", "new_keep, a no_more"},
		{"reap: a", "spare: a | p, q", "new_keep, p objects, q objects"},
		{"reap: a, b", "spare: b | p", "new_keep, p objects"},
		{"reap: a", "spare: a@observe", "new_keep, a lowered"},
		{"reap: a, b", "reap: a", "reasons, b no_more"},
		{"reap: a", "reap: a, b@ask", "reasons, b found"},
		{"spare: a | p", "spare: a | q", "reasons, p silent, q objects"},
		{"spare: a@observe", "spare: a@ask", "reasons, a raised"},
		{"spare: a | p, p", "spare: a | p", ""},
		{"", "spare: | p", "scope, claims, p objects"},
		{"spare:", "", "scope, released"},
	} {
		got := compare.Compare(&snapshot.Snapshot{}, decided("dir:/w/x", c.base), decided("dir:/w/x", c.head))
		if told(got) != c.want || got.Compared != 1 || got.Same+len(got.Flips) != 1 {
			t.Errorf("%q to %q: want %q, got %q (%+v)", c.base, c.head, c.want, told(got), got)
		}
	}
}

// TestWhatARuleSaysInOtherWordsIsTheSame: neither the sentence nor the facts count.
func TestWhatARuleSaysInOtherWordsIsTheSame(t *testing.T) {
	t.Parallel()
	base, head := decided("dir:/w/x", "reap: a"), decided("dir:/w/x", "reap: a")
	head[0].Findings[0].Message, head[0].Findings[0].Evidence = "in other words", map[string]any{"age": 3}
	if got := compare.Compare(&snapshot.Snapshot{}, base, head); len(got.Flips) > 0 || got.Same != 1 {
		t.Errorf("got %+v", got)
	}
}

// TestEveryFlipOfAVerdictHasACause compares random decisions both ways: the one is the other one turned around, and a flip of the verdict always
// names what decided.
func TestEveryFlipOfAVerdictHasACause(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	some := func(levels bool, of ...string) (out []decision.Reason) {
		for _, rule := range of {
			if r.IntN(2) == 0 {
				continue
			}
			reason := decision.Reason{Rule: rule}
			if levels {
				reason.Level = []string{"", "", decision.Ask, decision.Observe}[r.IntN(4)]
			}
			out = append(out, reason)
		}
		return out
	}
	one := func() []decision.Decision {
		if r.IntN(8) == 0 {
			return nil
		}
		d := decision.Decision{ID: "dir:/w/x", Kind: "dir", Verdict: decision.Spare, InScope: true, Findings: some(true, "a", "b", "c"), Objections: some(false, "p", "q")}
		if len(d.Objections) == 0 {
			switch level, _ := d.Counting(); level {
			case decision.On:
				d.Verdict = decision.Reap
			default:
				d.Level = level
			}
		}
		return []decision.Decision{d}
	}
	turned := map[string]string{compare.NewReap: compare.NewKeep, compare.NewKeep: compare.NewReap, compare.Reasons: compare.Reasons, compare.Scope: compare.Scope}
	seen := map[string]int{}
	for range 5000 {
		base, head := one(), one()
		there, back := compare.Compare(&snapshot.Snapshot{}, base, head), compare.Compare(&snapshot.Snapshot{}, head, base)
		at := fmt.Sprintf("seed %d: %+v and %+v", seed, base, head)
		if len(there.Flips) != len(back.Flips) || there.Same != back.Same {
			t.Fatalf("%s: %q, and turned around %q", at, told(there), told(back))
		}
		for i, f := range there.Flips {
			seen[f.Change]++
			b := back.Flips[i]
			if b.Change != turned[f.Change] || b.Base != f.Head || b.Head != f.Base || len(b.Causes) != len(f.Causes) {
				t.Fatalf("%s: %q, and turned around %q", at, told(there), told(back))
			}
			if len(f.Causes) == 0 {
				t.Fatalf("%s: %s without a cause", at, f.Change)
			}
			if (f.Change == compare.NewReap) != (f.Head.Verdict == decision.Reap && f.Base.Verdict != decision.Reap) {
				t.Fatalf("%s: %s from %s to %s", at, f.Change, f.Base.Verdict, f.Head.Verdict)
			}
		}
	}
	for _, change := range compare.Changes {
		if seen[change] < 50 {
			t.Errorf("seed %d: %s came %d times, so this shows little", seed, change, seen[change])
		}
	}
}

// TestLabels counts what is known to be live or dead, and names what is live and goes.
func TestLabels(t *testing.T) {
	t.Parallel()
	s := &snapshot.Snapshot{Labels: map[string]string{"dir:/w/1": "live", "dir:/w/2": "live", "dir:/w/3": "dead", "dir:/w/4": "dead", "dir:/w/5": "live"}}
	base := slices.Concat(decided("dir:/w/1", "spare: a | p"), decided("dir:/w/2", "reap: a"), decided("dir:/w/3", "reap: a"), decided("dir:/w/4", "spare: a | p"), decided("dir:/w/6", "spare: a | p"))
	head := slices.Concat(decided("dir:/w/1", "reap: a"), decided("dir:/w/2", "reap: a"), decided("dir:/w/3", "spare: | p"), decided("dir:/w/4", "reap: a"), decided("dir:/w/6", "reap: a"))
	got := compare.Compare(s, base, head)
	if diff := cmp.Diff([]string{"dir:/w/2"}, got.Doomed); diff != "" {
		t.Error(diff)
	}
	if got.Live != (compare.Tally{Labelled: 3, Base: 1, Head: 2}) || got.Dead != (compare.Tally{Labelled: 2, Base: 1, Head: 1}) {
		t.Errorf("live %+v, dead %+v", got.Live, got.Dead)
	}
	var lost []string
	for _, f := range got.Flips {
		if f.Lost() {
			lost = append(lost, f.ID)
		}
	}
	if diff := cmp.Diff([]string{"dir:/w/1"}, lost); diff != "" {
		t.Error(diff)
	}
}

// TestContentGoesWithItsWorktree: what can be made again is not decided where its worktree goes.
func TestContentGoesWithItsWorktree(t *testing.T) {
	t.Parallel()
	const tree, content = "dir:/w/x", "dir:/w/x/node_modules"
	s := &snapshot.Snapshot{Dirs: map[string]snapshot.Dir{tree: {}, content: {Content: &snapshot.Content{ID: tree}}}}
	stays := slices.Concat(decided(tree, "spare: a | p"), decided(content, "reap: c"))
	goes := decided(tree, "reap: a")
	kept := slices.Concat(decided(tree, "spare: a | p"), decided(content, "spare: c | p"))
	for _, c := range []struct {
		name       string
		base, head []decision.Decision
		label      string
		want       string
	}{
		{"the worktree goes too", stays, goes, "", "new_reap, p silent"},
		{"the worktree stays", goes, stays, "", "new_keep, p objects"},
		{"both go", kept, goes, "", "new_reap, p silent"},
		{"both go, and it is labelled", kept, goes, snapshot.Live, "new_reap, p silent; new_reap, within"},
		{"both stay, and it is labelled", goes, kept, snapshot.Dead, "new_keep, p objects; new_keep, within"},
		{"nothing changes", goes, goes, snapshot.Live, ""},
	} {
		s.Labels = nil
		if c.label != "" {
			s.Labels = map[string]string{content: c.label}
		}
		if got := compare.Compare(s, c.base, c.head); told(got) != c.want {
			t.Errorf("%s: want %q, got %q", c.name, c.want, told(got))
		}
	}
}

// TestNoSampleIsLeftOutOfWhatWasInterrupted: a list that ended early would look as if all of it was compared.
func TestNoSampleIsLeftOutOfWhatWasInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	read := func(ctx context.Context) (*snapshot.Snapshot, []string, error) { return nil, nil, ctx.Err() }
	n := 0
	for o := range compare.Run(ctx, [2]compare.Side{}, slices.Repeat([]compare.Sample{{Read: read}}, 100)) {
		if n++; !errors.Is(o.Err, context.Canceled) {
			t.Errorf("outcome %d: %v", n, o.Err)
		}
	}
	if n != 100 {
		t.Errorf("%d outcomes of 100 samples", n)
	}
}
