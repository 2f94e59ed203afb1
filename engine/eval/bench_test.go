package eval_test

import (
	"bytes"
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"
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

func decided(t testing.TB, e *eval.Engine, s *snapshot.Snapshot) []decision.Decision {
	t.Helper()
	r, err := e.Decide(t.Context(), s, defaults())
	if err != nil || len(r.Errors) > 0 {
		t.Fatal(err, r.Errors)
	}
	return r.Decisions
}

// BenchmarkDecide decides whole snapshots, from the join to the sorted decisions with their reasons, and does the join alone in the
// same run. Reported are nanoseconds a candidate of each, and how many times longer than the join the whole pass takes.
func BenchmarkDecide(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the program does
	policy := shipped(b)
	for _, n := range []int{1000, 10000, 100000} {
		s := newMaker(1, 0).world(n)
		for _, workers := range []int{1, 2} {
			e := ready(b, policy, eval.Limits{Workers: workers})
			b.Run(fmt.Sprintf("n=%d/workers=%d", n, workers), func(b *testing.B) {
				b.ReportAllocs()
				took, join := compared(b, func() { decided(b, e, s) }, func() { subject.Join(s, defaults()) })
				b.ReportMetric(1e9*took/float64(n), "ns/dec")
				b.ReportMetric(1e9*join/float64(n), "join-ns/dec")
				b.ReportMetric(took/join, "x-join")
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

// BenchmarkOtherwise searches what would turn the verdicts of candidates, those with the same reasons trying the same way first as a report does,
// and decides them in the same run.
func BenchmarkOtherwise(b *testing.B) {
	e := ready(b, shipped(b), eval.Limits{Workers: 1})
	s := newMaker(1, 0).world(90)
	j := subject.Join(s, defaults())
	ds := decided(b, e, s)
	took, decide := compared(b, func() {
		first := map[string][]decision.Way{}
		for _, d := range ds {
			key := d.Kind
			for _, r := range slices.Concat(d.Findings, d.Objections) {
				key += " " + r.Rule
			}
			sub, _ := j.Subject(d.ID)
			o, err := e.Otherwise(b.Context(), sub, eval.Search{Decisions: 500, First: first[key]})
			if err != nil {
				b.Fatal(err)
			}
			if d.Verdict == decision.Spare && first[key] == nil {
				first[key] = o.Ways
			}
		}
	}, func() { decided(b, e, s) })
	b.ReportMetric(1e6*took/float64(len(ds)), "µs/candidate")
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
