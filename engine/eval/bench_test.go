package eval_test

import (
	"bytes"
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"winnow/engine/decision"
	"winnow/engine/eval"
	"winnow/engine/snapshot"
	"winnow/engine/subject"
	"winnow/policies"
	"winnow/testkit/rules"
)

// defaults is the configuration that Winnow comes with, as far as it matters here: nothing is protected by name.
func defaults() *subject.Config {
	c := config()
	c.Protected = nil
	return c
}

// answers are the verdict and the rules of each decision.
func answers(ds []decision.Decision) []string {
	out := make([]string, len(ds))
	for i, d := range ds {
		rules := []string{}
		for _, r := range slices.Concat(d.Findings, d.Objections) {
			rules = append(rules, r.Rule)
		}
		slices.Sort(rules)
		out[i] = fmt.Sprintf("%s %s %s", d.ID, d.Verdict, strings.Join(slices.Compact(rules), " "))
	}
	return out
}

// TestNativeAgrees holds the function that the engine is measured against to the engine's answers.
func TestNativeAgrees(t *testing.T) {
	t.Parallel()
	e := ready(t, shipped(t), eval.Limits{})
	for seed := range uint64(6) {
		s := newMaker(seed, 0.04*float64(seed%3)).world(300)
		agree(t, decided(t, e, s), newNative(defaults()).decide(s))
	}
}

func decided(t testing.TB, e *eval.Engine, s *snapshot.Snapshot) []decision.Decision {
	t.Helper()
	r, err := e.Decide(t.Context(), s, defaults())
	if err != nil || len(r.Errors) > 0 {
		t.Fatal(err, r.Errors)
	}
	return r.Decisions
}

func agree(t testing.TB, have, want []decision.Decision) {
	t.Helper()
	h, w := answers(have), answers(want)
	if len(h) != len(w) {
		t.Fatalf("native has %d decisions, the engine %d", len(w), len(h))
	}
	for i := range w {
		if w[i] != h[i] {
			t.Fatalf("native %q\nengine %q", w[i], h[i])
		}
	}
}

// BenchmarkDecide decides whole snapshots, from the join to the sorted decisions with their reasons, and does the same with the
// hand-written function in the same run. Reported are nanoseconds a candidate of each, and how many times longer the engine
// takes.
func BenchmarkDecide(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the program does
	policy := shipped(b)
	hand := newNative(defaults())
	for _, n := range []int{1000, 10000, 100000} {
		s := newMaker(1, 0).world(n)
		agree(b, decided(b, ready(b, policy, eval.Limits{}), s), hand.decide(s))
		for _, workers := range []int{1, 2} {
			e := ready(b, policy, eval.Limits{Workers: workers})
			b.Run(fmt.Sprintf("n=%d/workers=%d", n, workers), func(b *testing.B) {
				b.ReportAllocs()
				took, native := compared(b, func() { decided(b, e, s) }, func() { hand.decide(s) })
				b.ReportMetric(1e9*took/float64(n), "ns/dec")
				b.ReportMetric(1e9*native/float64(n), "native-ns/dec")
				b.ReportMetric(took/native, "x-native")
				b.ReportMetric(float64(n)/took, "dec/s")
			})
		}
	}
}

// BenchmarkExplain explains candidates, and decides them with their reasons in the same run.
func BenchmarkExplain(b *testing.B) {
	e := ready(b, shipped(b), eval.Limits{Workers: 1})
	s := newMaker(1, 0).world(90)
	j := subject.Join(s, defaults())
	b.ReportAllocs()
	took, decide := compared(b, func() {
		for _, kind := range snapshot.KindNames() {
			for _, id := range j.IDs(kind) {
				sub, _ := j.Subject(id)
				if _, err := e.Explain(b.Context(), sub); err != nil {
					b.Fatal(err)
				}
			}
		}
	}, func() { decided(b, e, s) })
	b.ReportMetric(1e9*took/90, "ns/explanation")
	b.ReportMetric(took/decide, "x-decision")
}

// BenchmarkLoad loads the shipped policies and prepares their queries, and lets OPA parse and compile the same files in the same
// run, without any of the checks.
func BenchmarkLoad(b *testing.B) {
	text := rules.Texts(b, policies.Files)
	took, bare := compared(b, func() { ready(b, shipped(b), eval.Limits{}) }, func() {
		if _, err := ast.CompileModules(text); err != nil {
			b.Fatal(err)
		}
	})
	b.ReportMetric(1e3*took, "ms/load")
	b.ReportMetric(took/bare, "x-bare-compile")
}

// BenchmarkInput writes the documents of a snapshot, and does it by way of JSON in the same run.
func BenchmarkInput(b *testing.B) {
	j := subject.Join(newMaker(1, 0).world(900), defaults())
	var subs []*subject.Subject
	for _, kind := range snapshot.KindNames() {
		for _, id := range j.IDs(kind) {
			sub, _ := j.Subject(id)
			subs = append(subs, sub)
		}
	}
	input := eval.Inputs(j)
	b.ReportAllocs()
	took, round := compared(b, func() {
		for _, sub := range subs {
			input(sub)
		}
	}, func() {
		for _, sub := range subs {
			if _, err := ast.ValueFromReader(bytes.NewReader(marshal(b, sub))); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(1e9*took/float64(len(subs)), "ns/document")
	b.ReportMetric(took/round, "x-json")
}

// compared runs both functions in turn and gives the median time of each, in seconds; only the first is on the clock.
func compared(b *testing.B, f, against func()) (took, other float64) {
	var fs, others []float64
	for b.Loop() {
		fs = append(fs, seconds(f))
		b.StopTimer()
		others = append(others, seconds(against))
		b.StartTimer()
	}
	return median(fs), median(others)
}

func median(of []float64) float64 {
	slices.SortFunc(of, cmp.Compare)
	return of[len(of)/2]
}

// seconds is how long a call took.
func seconds(f func()) float64 {
	from := time.Now()
	f()
	return time.Since(from).Seconds()
}
