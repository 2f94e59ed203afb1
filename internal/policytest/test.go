package policytest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/engine/tester"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/policyset"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Options say what is run.
type Options struct {
	// Folders are those of the policies, and Unused policies that count for the configuration alone.
	Folders, Unused []string
	// Run is a regular expression for the names of what is run.
	Run       string
	Coverage  bool
	Threshold float64
	Timeout   time.Duration

	only *regexp.Regexp
}

// Check refuses what no run can mean.
func (o *Options) Check() (err error) {
	if o.only, err = regexp.Compile(o.Run); err != nil {
		return config.Usagef("--run: %v; nothing was run", err)
	}
	if o.Threshold < 0 || o.Threshold > 100 {
		return config.Usagef("--threshold: %v is no percentage; give 0 to 100. Nothing was run", o.Threshold)
	}
	if o.Timeout <= 0 {
		return config.Usagef("--timeout: %s; a test needs some time. Nothing was run", o.Timeout)
	}
	o.Coverage = o.Coverage || o.Threshold > 0
	return nil
}

// Test runs the tests of policies and decides their cases. Where not all is in order, the error says with which exit code, beside the document.
func Test(ctx context.Context, of *ops.Ops, o Options) (*report.PolicyTest, error) {
	trees, err := policyset.Trees(ctx, of, o.Folders, o.Unused)
	if err != nil {
		return nil, err
	}
	sources, err := policyset.Read(ctx, policy.LoadOptions{Trees: trees, Tests: true, Data: true, Cases: true})
	if err != nil {
		return nil, err
	}
	doc := &report.PolicyTest{Schema: report.PolicyTestSchema, Tests: []tester.Result{}, Threshold: o.Threshold, Problems: []lint.Refusal{}}
	doc.Trees, _ = policyset.Names(trees)
	limits := tester.Options{Run: o.Run, Timeout: o.Timeout, Coverage: o.Coverage}
	results, coverage, err := sandbox.Test(ctx, sources, of.Limits(), sandbox.Self(), limits)
	doc.Tests, doc.Coverage = append(doc.Tests, results...), coverage
	if err != nil && ctx.Err() == nil {
		doc.Problem = "the policies and tests do not load, and none was run"
		if doc.Problems, err = policyset.Refusals(err); err != nil {
			return nil, err
		}
		return doc, exit.Error{Code: exit.Usage}
	}
	if cases := sources.Cases(); len(cases) > 0 && ctx.Err() == nil {
		results, err := decideCases(ctx, of, trees, cases, o.only)
		doc.Tests = append(doc.Tests, results...)
		if err != nil {
			if doc.Problems, err = policyset.Refusals(err); err != nil {
				return nil, err
			}
			left, verb := len(cases)-len(results), "were"
			if left == 1 {
				verb = "was"
			}
			doc.Problem = fmt.Sprintf("the policies do not load as a whole, so that %s %s not decided", text.Plural(left, "case"), verb)
		}
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("interrupted after %s; the rest was not run", text.Plural(len(doc.Tests), "test"))
	}
	doc.Problem = cmp.Or(doc.Problem, o.problem(doc))
	return doc, judge(doc)
}

// judge says whether all is in order.
func judge(doc *report.PolicyTest) error {
	doc.OK = doc.Problem == "" && !slices.ContainsFunc(doc.Tests, func(r tester.Result) bool { return !r.Passed() })
	return exit.CodeIf(!doc.OK, exit.Failed)
}

// problem is why a run of tests is not in order although no test failed.
func (o Options) problem(doc *report.PolicyTest) string {
	switch {
	case len(doc.Tests) == 0 && o.Run != "":
		return fmt.Sprintf("no test matches --run %s", text.Quote(o.Run))
	case len(doc.Tests) == 0:
		return "there are no tests: write rules called test_... in files called ..._test.rego"
	case o.Coverage && doc.Coverage == nil:
		return "the coverage is not known, since a test ended the process that counted it"
	case o.Coverage && doc.Coverage.Percent < o.Threshold:
		return fmt.Sprintf("the coverage is %.1f %%, and --threshold wants %g %%: test the lines that are not reached, or ask for less",
			doc.Coverage.Percent, o.Threshold)
	}
	return ""
}

// decideCases decides the cases that lie in trees, each as a test: by the embedded policies and these trees together, or by these alone.
func decideCases(ctx context.Context, of *ops.Ops, trees []policy.Tree, files []policy.File, only *regexp.Regexp) (results []tester.Result, err error) {
	var r Runner
	for _, file := range files {
		name := strings.TrimSuffix(file.Path, path.Ext(file.Path))
		result := tester.Result{Name: strings.TrimSuffix(name, "/case"), File: file.Name, Line: 1}
		c, err := ReadOwn(file.Name, file.Data())
		if !only.MatchString(result.Name) && (err != nil || !only.MatchString(c.Sentence)) {
			continue
		}
		if err != nil {
			results = append(results, unread(result, err))
			continue
		}
		if r.Engine == nil { // the configuration in force says nothing of what is decided here; each case brings its own
			cfg := &config.Config{Policy: of.Cfg.Policy}
			if r.Engine, r.Policy, err = (ruleset.Set{Trees: trees, Cfg: cfg}).Engine(ctx); err != nil {
				return results, err
			}
			defer func() { _ = r.Engine.Close() }()
		}
		begun := time.Now()
		result = r.Case(ctx, c, result)
		if ctx.Err() != nil {
			return results, nil
		}
		result.Seconds = time.Since(begun).Seconds()
		results = append(results, result)
	}
	return results, nil
}

// maxUndecided is how many incidents may come to no answer: a rule that never ends takes its whole time in each.
const maxUndecided = 10

// Conformance decides the shipped incidents with the policies that a person names. Where not all is in order, the error
// says with which exit code, beside the document.
func Conformance(ctx context.Context, of *ops.Ops, o Options) (*report.PolicyTest, error) {
	trees, err := policyset.Trees(ctx, of, o.Folders, o.Unused)
	if err != nil {
		return nil, err
	}
	cfg := of.Cfg
	if len(o.Folders) > 0 { // what the configuration says is of the rules that it loads
		cfg = &config.Config{Policy: of.Cfg.Policy}
	}
	var r Runner
	if r.Engine, r.Policy, err = (ruleset.Set{Trees: trees, Cfg: cfg}).Engine(ctx); err != nil {
		return nil, err
	}
	defer func() { _ = r.Engine.Close() }()
	doc := &report.PolicyTest{Schema: report.PolicyTestSchema, Tests: []tester.Result{}, Problems: []lint.Refusal{}}
	doc.Trees, _ = policyset.Names(trees)
	all, err := Incidents()
	if err != nil {
		return nil, err
	}
	undecided := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !o.only.MatchString(name) && !o.only.MatchString(all[name].Sentence) {
			continue
		}
		begun := time.Now()
		result, err := r.Incident(ctx, name, all[name], cfg.Rules.Custom)
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("interrupted after %s; the rest was not decided", text.Plural(len(doc.Tests), "incident"))
		case err != nil:
			return nil, fmt.Errorf("decide the incident %s: %w", name, err)
		}
		result.Seconds = time.Since(begun).Seconds()
		doc.Tests = append(doc.Tests, result)
		if result.Outcome == tester.Error {
			undecided++
		}
		if undecided == maxUndecided {
			doc.Problem = fmt.Sprintf("%s came to no answer, the last one %s; the rest was not decided",
				text.Plural(maxUndecided, "incident"), name)
			break
		}
	}
	if len(doc.Tests) == 0 {
		return nil, config.Usagef("no incident matches --run %s; nothing was decided", text.Quote(o.Run))
	}
	return doc, judge(doc)
}
