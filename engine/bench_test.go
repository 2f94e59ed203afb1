package engine_test

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"winnow/engine"
	"winnow/engine/decision"
	"winnow/engine/snapshot"
	"winnow/engine/subject"
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
	e := ready(t, shipped(t), engine.Limits{})
	for seed := range uint64(6) {
		s := newMaker(seed, 0.04*float64(seed%3)).world(300)
		agree(t, decided(t, e, s), newNative(defaults()).decide(s))
	}
}

func decided(t testing.TB, e *engine.Engine, s *snapshot.Snapshot) []decision.Decision {
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
	policy := shipped(b)
	for _, n := range []int{1000, 10000, 100000} {
		s := newMaker(1, 0).world(n)
		hand := newNative(defaults())
		for _, workers := range []int{1, 2} {
			e := ready(b, policy, engine.Limits{Workers: workers})
			agree(b, decided(b, e, s), hand.decide(s))
			b.Run(fmt.Sprintf("n=%d/workers=%d", n, workers), func(b *testing.B) {
				var took, native []float64
				b.ReportAllocs()
				for b.Loop() {
					took = append(took, seconds(func() { decided(b, e, s) }))
					b.StopTimer()
					native = append(native, seconds(func() { hand.decide(s) }))
					b.StartTimer()
				}
				b.ReportMetric(1e9*median(took)/float64(n), "ns/dec")
				b.ReportMetric(1e9*median(native)/float64(n), "native-ns/dec")
				b.ReportMetric(median(took)/median(native), "x-native")
				b.ReportMetric(float64(n)/median(took), "dec/s")
			})
		}
		runtime.GC()
	}
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
