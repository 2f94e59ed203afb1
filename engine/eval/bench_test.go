package eval_test

import (
	"bytes"
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/policies"
	"github.com/winnow-reaper/winnow/test/kit/rules"
	"github.com/winnow-reaper/winnow/test/kit/worlds"
)

// defaults is the configuration that Winnow comes with, as far as it matters here: nothing is protected by name.
func defaults() *subject.Config {
	c := worlds.Config()
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
// same run. Reported are microseconds of processor time a candidate of each, how many times longer than the join the whole pass takes, how many
// decisions a second of processor time makes, and how long a candidate takes by the clock: two workers take the same of one and less of the other.
func BenchmarkDecide(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the program does
	policy := rules.Shipped(b)
	for _, n := range []int{1000, 10000, 100000} {
		s := worlds.New(1, 0).World(n)
		for _, workers := range []int{1, 2} {
			e := worlds.Engine(b, policy, eval.Limits{Workers: workers})
			b.Run(fmt.Sprintf("n=%d/workers=%d", n, workers), func(b *testing.B) {
				b.ReportAllocs()
				clock := 0.0
				took := leastWork(b, func() {
					took := seconds(func() { decided(b, e, s) })
					if clock == 0 || took < clock {
						clock = took
					}
				}, func() { subject.Join(s, defaults()) })
				b.ReportMetric(1e6*took[0]/float64(n), "µs/dec")
				b.ReportMetric(1e6*took[1]/float64(n), "join-µs/dec")
				b.ReportMetric(took[0]/took[1], "x-join")
				b.ReportMetric(float64(n)/took[0], "dec/cpu-s")
				b.ReportMetric(1e6*clock/float64(n), "clock-µs/dec")
			})
		}
	}
}

// BenchmarkJudge judges subjects that were joined before: nothing is joined and no identity is made. In turn it asks OPA's plan, OPA's topdown, both as Decide does
// (topdown confirms what would be reaped). What reads subjects is in the time of each, and so is what the watchdog does. Reported are microseconds of processor time
// a candidate of each, how many times less than topdown the plan takes, and how many decisions of the plan's a second of processor time makes. Candidates that are
// out of scope are apart.
func BenchmarkJudge(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the program does
	e := worlds.Engine(b, rules.Shipped(b), eval.Limits{Workers: 1})
	scopes := map[bool]string{true: "in-scope", false: "out-of-scope"}
	for _, scope := range []bool{true, false} {
		for _, kind := range snapshot.KindNames() {
			b.Run(scopes[scope]+"/"+kind, func(b *testing.B) { judgeAll(b, e, kind, scope) })
		}
	}
}

func judgeAll(b *testing.B, e *eval.Engine, kind string, scope bool) {
	world := worlds.New(1, 0).World
	if kind == snapshot.KindTab || kind == snapshot.KindTerminal {
		world = worlds.New(1, 0).Further
	}
	s := world(1500)
	if !scope {
		ordinary(s)
	}
	j := subject.Join(s, unlisted())
	judge := eval.NewAsker(b, e, j)
	defer judge.Close()
	var subs []*subject.Subject
	reaped := 0
	for _, id := range j.IDs(kind) {
		sub, _ := j.Subject(id)
		a, err := judge.Plan(sub)
		if err != nil {
			b.Fatal(sub.ID, err)
		}
		if a.In == scope {
			subs = append(subs, sub)
		}
		if len(a.Findings) > 0 && len(a.Objections) == 0 {
			reaped++
		}
	}
	if len(subs) < 200 || scope && reaped == len(subs) {
		b.Fatalf("%d candidates, %d of them reaped", len(subs), reaped)
	}
	asked := func(ask func(*subject.Subject) (eval.Said, error)) func() {
		return func() {
			for _, sub := range subs {
				if a, err := ask(sub); err != nil || a.In != scope {
					b.Fatal(sub.ID, a.In, err)
				}
			}
		}
	}
	b.ReportAllocs()
	took := leastWork(b, asked(judge.Plan), asked(judge.Topdown), asked(judge.Both))
	each := func(i int) float64 { return 1e6 * took[i] / float64(len(subs)) }
	b.ReportMetric(each(0), "µs/dec")
	b.ReportMetric(each(1), "topdown-µs/dec")
	b.ReportMetric(each(2), "confirmed-µs/dec")
	b.ReportMetric(took[1]/took[0], "x-topdown")
	b.ReportMetric(float64(len(subs))/took[0], "dec/cpu-s")
	b.ReportMetric(float64(reaped)/float64(len(subs)), "reaped")
}

// unlisted is the configuration under which every rule can say something, and nothing is protected by name: so is the one that Winnow comes with.
func unlisted() *subject.Config {
	c := worlds.Every()
	c.Protected = nil
	return c
}

// ordinary makes all candidates of a snapshot what most of a machine is: nothing that an agent made.
func ordinary(s *snapshot.Snapshot) {
	s.Registry, s.Spawns = nil, nil
	for id, d := range s.Dirs {
		d.Name, d.Git, d.Checkout = "photos", nil, new(false)
		s.Dirs[id] = d
	}
	for id, x := range s.Sessions {
		x.Name = "mine"
		s.Sessions[id] = x
	}
	for id, x := range s.Terminals {
		x.RoleKind = "shell"
		s.Terminals[id] = x
	}
	for id, t := range s.Tabs {
		t.Label = "main"
		if t.Editor != nil {
			e := *t.Editor
			e.CreationName, e.Program, e.Markers, e.Codev = new(""), new(""), []string{}, nil
			t.Editor = &e
		}
		s.Tabs[id] = t
	}
	for _, p := range s.Processes {
		p.Markers, p.CwdDeleted = &map[string]string{}, new(false)
	}
}

// BenchmarkExplain explains candidates, and decides them with their reasons in the same run.
func BenchmarkExplain(b *testing.B) {
	e := worlds.Engine(b, rules.Shipped(b), eval.Limits{Workers: 1})
	s := worlds.New(1, 0).World(90)
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

// BenchmarkCounterfactual searches what would turn the verdicts of candidates, those with the same reasons trying the same way first as a report does,
// and decides them in the same run.
func BenchmarkCounterfactual(b *testing.B) {
	e := worlds.Engine(b, rules.Shipped(b), eval.Limits{Workers: 1})
	s := worlds.New(1, 0).World(90)
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
			o, err := e.Counterfactual(b.Context(), sub, eval.Search{Decisions: 500, First: first[key]})
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
	took, bare := compared(b, func() { worlds.Engine(b, rules.Shipped(b), eval.Limits{}) }, func() {
		if _, err := ast.CompileModules(text); err != nil {
			b.Fatal(err)
		}
	})
	b.ReportMetric(1e3*took, "ms/load")
	b.ReportMetric(took/bare, "x-bare-compile")
}

// BenchmarkInput writes the documents of a snapshot, and does it by way of JSON in the same run.
func BenchmarkInput(b *testing.B) {
	j := subject.Join(worlds.New(1, 0).World(900), defaults())
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
			if _, err := ast.ValueFromReader(bytes.NewReader(worlds.JSON(b, sub))); err != nil {
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

// leastWork calls functions in turn and gives the least processor time that each took, in seconds, with what the collector of garbage and others did for it meanwhile;
// only the first is on the clock. What others left over is collected before each.
func leastWork(b *testing.B, fs ...func()) []float64 {
	b.Helper()
	took := make([]float64, len(fs))
	for b.Loop() {
		for i, f := range fs {
			if i > 0 {
				b.StopTimer()
			}
			runtime.GC()
			before := worked(b)
			f()
			if t := worked(b) - before; took[i] == 0 || t < took[i] {
				took[i] = t
			}
		}
		b.StartTimer()
	}
	return took
}

// worked is how long the processors have worked for this program, on all its threads, in seconds.
func worked(b *testing.B) float64 {
	b.Helper()
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return float64(t.Nano()) / 1e9
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

var embedded = policy.Tree{Name: "embedded", FS: policies.Files, Prefix: "policies"}

// BenchmarkApart decides 1,000 candidates in a process apart, and here in the same run.
func BenchmarkApart(b *testing.B) {
	s := worlds.New(1, 0).World(1000)
	here := worlds.Engine(b, rules.Shipped(b), eval.Limits{})
	there, _, err := sandbox.Load(b.Context(), policy.LoadOptions{Trees: []policy.Tree{embedded}}, eval.Limits{}, sandbox.Self())
	if err != nil {
		b.Fatal(err)
	}
	defer there.Close()
	took, other := compared(b, func() { decided(b, there, s) }, func() { decided(b, here, s) })
	b.ReportMetric(1e3*took, "ms/1000")
	b.ReportMetric(took/other, "x-here")
}

// BenchmarkApartLoad starts the process and loads the shipped policies in it, and loads them here in the same run.
func BenchmarkApartLoad(b *testing.B) {
	took, other := compared(b, func() {
		e, _, err := sandbox.Load(b.Context(), policy.LoadOptions{Trees: []policy.Tree{embedded}}, eval.Limits{}, sandbox.Self())
		if err != nil {
			b.Fatal(err)
		}
		_ = e.Close()
	}, func() { worlds.Engine(b, rules.Shipped(b), eval.Limits{}) })
	b.ReportMetric(1e3*took, "ms/load")
	b.ReportMetric(took/other, "x-here")
}
