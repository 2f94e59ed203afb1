// Package tester runs the tests of policies, with the stock tester and what it says, but under limits: a test calls no built-in that leads
// out of it, and ends at a deadline. What takes too much in one step is for the process to bound that this runs in: see eval.TestApart.
package tester

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	stock "github.com/open-policy-agent/opa/v1/tester"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/winnow-reaper/winnow/engine/policy"
)

// The outcomes of a test, in OPA's words.
const (
	Pass  = "pass"
	Fail  = "fail"
	Error = "error"
	Skip  = "skipped"
)

// Options say which tests run, and how.
type Options struct {
	// Run is a regular expression that the whole name of a test matches somewhere, such as data.mine_test.test_a; "" for all.
	Run string `json:"run,omitempty"`
	// Timeout is how long one test may take; 0 is the stock tester's 5 seconds.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Coverage also counts which lines the tests reach.
	Coverage bool `json:"coverage,omitempty"`
	// Workers is how many tests run at once.
	Workers int `json:"workers,omitempty"`
	// Alone runs the tests one after the other, and says of each that it begins: to find the one that does not end. Known are the names of
	// tests that have a result already.
	Alone bool     `json:"alone,omitempty"`
	Known []string `json:"known,omitempty"`
}

// DefaultTimeout is the stock tester's.
const DefaultTimeout = 5 * time.Second

// Result is of one test.
type Result struct {
	// Name is whole: data.mine_test.test_a.
	Name    string `json:"name"`
	Outcome string `json:"outcome" jsonschema:"enum=pass,enum=fail,enum=error,enum=skipped"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
	// At is the condition of the test that did not hold, the last one that was tried, where it is known. Text is that line.
	At   int    `json:"at,omitempty"`
	Text string `json:"text,omitempty"`
	// Message is why there is no result, or what a case decides otherwise than it wants. Output is what it printed.
	Message string `json:"message,omitempty"`
	Output  string `json:"output,omitempty"`
	// Cases are those of a test that has several, each with its name.
	Cases []Case `json:"cases,omitempty"`
}

// Case is one of several in a test.
type Case struct {
	Name    string `json:"name"`
	Outcome string `json:"outcome" jsonschema:"enum=pass,enum=fail"`
}

// Passed reports whether the stock tester would call it passed.
func (r Result) Passed() bool { return r.Outcome == Pass }

// Coverage is which lines the tests reached, of the trees that are tested.
type Coverage struct {
	// Percent is of all lines that can be reached.
	Percent float64 `json:"percent"`
	// Covered and Missed count lines.
	Covered int    `json:"covered"`
	Missed  int    `json:"missed"`
	Files   []File `json:"files"`
}

// File is the coverage of one file, with the lines that no test reached, in ranges of first and last.
type File struct {
	File    string   `json:"file"`
	Percent float64  `json:"percent"`
	Missed  [][2]int `json:"missed"`
}

// maxSaid is how many bytes of a message and of an output are kept.
const maxSaid = 64 << 10

// Listener is told what a run comes to, as it comes.
type Listener struct {
	// Begins is told which test begins, with Options.Alone: a result with its name and place alone.
	Begins func(Result)
	// Tested is told each result, Covered the coverage of all. After that Tested is told some results again, of tests that failed, with the place.
	Tested  func(Result)
	Covered func(Coverage)
}

// Run runs the tests of a suite. The error wraps lint.Refusals where the suite does not compile.
func Run(ctx context.Context, s *policy.Suite, o Options, l Listener) error {
	store := inmem.NewFromObjectWithOpts(s.Data, inmem.OptRoundTripOnWrite(false))
	txn, err := store.NewTransaction(ctx)
	if err != nil {
		return err
	}
	defer store.Abort(ctx, txn)
	// As `opa test` does (cmd/test.go), but for what tests may call.
	c := ast.NewCompiler().WithPathConflictsCheck(storage.NonEmpty(ctx, store, txn)).WithEnablePrintStatements(true).
		WithCapabilities(policy.TestCapabilities()).WithUseTypeCheckAnnotations(true).WithRewriteTestRules(false)
	r := stock.NewRunner().SetCompiler(c).SetStore(store).SetModules(s.Modules).SetTimeout(cmp.Or(o.Timeout, DefaultTimeout)).
		SetParallel(o.Workers).CapturePrintOutput(true).Filter(o.Run)
	var counted *cover.Cover
	if o.Coverage {
		counted = cover.New()
		r.SetCoverageQueryTracer(counted).SetCoverageRuns(nil)
	}
	var failed []Result
	hear := func(tr *stock.Result) {
		told := result(tr)
		if told.Outcome == Fail && len(told.Cases) == 0 && tr.Duration < quick && len(failed) < maxTraced {
			failed = append(failed, told)
		}
		l.Tested(told)
	}
	if o.Alone {
		err = alone(ctx, r, c, txn, o.Known, l.Begins, hear)
	} else {
		err = run(ctx, r, txn, hear)
	}
	if err != nil {
		return s.Refused(err)
	}
	if counted != nil {
		l.Covered(coverage(counted.Report(s.Given), s.Given))
	}
	return trace(ctx, r, c, txn, failed, l.Tested)
}

// Of tests that failed in no time this many run again, with every step noted, to see which condition did not hold.
const (
	quick     = 100 * time.Millisecond
	maxTraced = 50
)

func trace(ctx context.Context, r *stock.Runner, c *ast.Compiler, txn storage.Transaction, failed []Result, tell func(Result)) error {
	if len(failed) == 0 {
		return nil
	}
	r.SetModules(nil).EnableTracing(true)
	all := tests(c)
	for _, f := range failed {
		i := slices.IndexFunc(all, func(t test) bool { return t.name == f.Name })
		if i < 0 {
			continue
		}
		t := all[i]
		err := run(ctx, r.SetPrefixMatchers(t.ref), txn, func(tr *stock.Result) {
			if at := condition(tr.Trace, t.rule); at != nil && tr.Fail && at.File == f.File {
				line, _, _ := strings.Cut(string(at.Text), "\n")
				f.At, f.Text = at.Row, truncate(strings.TrimSpace(line))
				tell(f)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// condition is where the last condition of a rule's own body stands that did not hold; nil where none is known.
func condition(events []*topdown.Event, of *ast.Rule) *ast.Location {
	var at *ast.Location
	own := map[uint64]bool{}
	for _, e := range events {
		switch n := e.Node.(type) {
		case *ast.Rule:
			if e.Op == topdown.EnterOp && n.Loc().Equal(of.Loc()) {
				own[e.QueryID] = true
			}
		case *ast.Expr:
			if e.Op == topdown.FailOp && own[e.QueryID] && e.Location.HasFile() {
				at = e.Location
			}
		}
	}
	return at
}

func run(ctx context.Context, r *stock.Runner, txn storage.Transaction, hear func(*stock.Result)) error {
	results, err := r.RunTests(ctx, txn)
	if err != nil {
		return err
	}
	for tr := range results {
		hear(tr)
	}
	return nil
}

// alone runs tests one by one, by name.
func alone(ctx context.Context, r *stock.Runner, c *ast.Compiler, txn storage.Transaction, known []string, begins func(Result), hear func(*stock.Result)) error {
	nothing := ast.MustParseRef("data.nothing.has.this.name")
	if err := run(ctx, r.SetPrefixMatchers(nothing), txn, func(*stock.Result) {}); err != nil { // it compiles, once for all
		return err
	}
	r.SetModules(nil)
	for _, t := range tests(c) {
		if slices.Contains(known, t.name) {
			continue
		}
		begins(Result{Name: t.name, File: t.rule.Loc().File, Line: t.rule.Loc().Row})
		if err := run(ctx, r.SetPrefixMatchers(t.ref), txn, hear); err != nil {
			return err
		}
	}
	return nil
}

// test is a test by the name that its result has.
type test struct {
	name string
	ref  ast.Ref
	rule *ast.Rule
}

// tests are all tests that were compiled, by name.
func tests(c *ast.Compiler) []test {
	var out []test
	for _, m := range c.Modules {
		for _, r := range m.Rules {
			ref := r.Head.Ref().GroundPrefix()
			for i, t := range ref {
				name := strings.Trim(t.Value.String(), `"`)
				if strings.HasPrefix(name, stock.TestPrefix) || strings.HasPrefix(name, stock.SkipTestPrefix) {
					out = append(out, test{m.Package.Path.String() + "." + ref[:i+1].String(), m.Package.Path.Extend(ref[:i+1]), r})
					break
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b test) int { return strings.Compare(a.name, b.name) })
	return slices.CompactFunc(out, func(a, b test) bool { return a.name == b.name })
}

func result(tr *stock.Result) Result {
	r := Result{Name: tr.Package + "." + tr.Name, Outcome: Pass, Seconds: math.Round(tr.Duration.Seconds()*1e6) / 1e6, Output: truncate(string(tr.Output))}
	if tr.Location != nil {
		r.File, r.Line = tr.Location.File, tr.Location.Row
	}
	switch {
	case tr.Fail:
		r.Outcome = Fail
	case tr.Skip:
		r.Outcome = Skip
	case tr.Error != nil:
		r.Outcome, r.Message = Error, truncate(tr.Error.Error())
	}
	for names, sub := range tr.SubResults.Iter {
		if len(sub.SubResults) > 0 || len(r.Cases) == maxCases {
			continue
		}
		c := Case{Name: truncate(strings.Join(names, "/")), Outcome: Pass}
		if sub.Fail {
			c.Outcome = Fail
		}
		r.Cases = append(r.Cases, c)
	}
	return r
}

// maxCases is how many cases of one test are told.
const maxCases = 1000

func truncate(s string) string {
	if len(s) > maxSaid {
		s = strings.ToValidUTF8(s[:maxSaid], "") + "..."
	}
	return s
}

// coverage is of the files that are tested, as `opa test --coverage` counts.
func coverage(report cover.Report, given map[string]*ast.Module) Coverage {
	out := Coverage{Files: []File{}}
	for name := range given {
		of, ok := report.Files[name]
		if !ok {
			continue
		}
		f := File{File: name, Percent: of.Coverage, Missed: [][2]int{}}
		for _, rng := range of.NotCovered {
			f.Missed = append(f.Missed, [2]int{rng.Start.Row, rng.End.Row})
		}
		out.Covered, out.Missed = out.Covered+of.CoveredLines, out.Missed+of.NotCoveredLines
		out.Files = append(out.Files, f)
	}
	slices.SortFunc(out.Files, func(a, b File) int { return strings.Compare(a.File, b.File) })
	if lines := out.Covered + out.Missed; lines > 0 {
		out.Percent = 100 * float64(out.Covered) / float64(lines)
	}
	return out
}
