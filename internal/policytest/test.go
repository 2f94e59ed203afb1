package policytest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/tester"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/policyset"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/saved"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
	"github.com/winnow-reaper/winnow/internal/sys/strict"
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

// Own is a case that lies beside somebody's own rules, as YAML or JSON.
type Own struct {
	Case
	*strict.File
}

// ReadOwn reads a case. Every error is strict.Problems, with the file and the line of what is wrong; keys that no case has are refused.
func ReadOwn(file string, data []byte) (*Own, error) {
	o := &Own{}
	f, err := strict.Read(file, data, strict.Shape{Type: reflect.TypeFor[Case](), Null: reflect.TypeFor[*Want]()}, &o.Case)
	if err != nil {
		return nil, err
	}
	o.File = f
	return o, o.check()
}

// check refuses what no case can mean.
func (o *Own) check() error {
	worlds := worldNames()
	switch {
	case o.Sentence == "":
		return o.Bad(o.Line(), "sentence is missing: say in one what has to happen")
	case len(o.Want)+len(o.Remembered) == 0:
		return o.Bad(o.Line("want"), "want is missing or empty: name a candidate with its verdict")
	case o.World != "" && o.Snapshot != nil:
		return o.Bad(o.Line("world"), "world and snapshot are both there; leave one of the two out")
	case o.World != "" && !slices.Contains(worlds, o.World):
		return o.Bad(o.Line("world"), "world: there is no %q%s", o.World, spelling.Hint(o.World, worlds))
	}
	for id, w := range o.Want {
		if w != nil && w.Verdict != decision.Reap && w.Verdict != decision.Spare {
			return o.Bad(o.Line("want", id), "want: verdict of %s is %q; it is reap or spare, and ~ in place of all of it for what no rule claims", id, w.Verdict)
		}
	}
	return nil
}

func worldNames() []string {
	files, err := fs.Glob(winnow.Incidents, folder+"/worlds/*.json")
	if err != nil {
		return nil
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(path.Base(f), ".json")
	}
	return files
}

// Look is the case's snapshot. A fact in change that no snapshot has is refused: misspelt, it would change nothing.
func (o *Own) Look() (*snapshot.Snapshot, error) {
	doc, err := o.Document()
	if err != nil {
		return nil, o.misread(err)
	}
	for _, unknown := range unknownFacts(doc) {
		if o.Snapshot == nil || len(unknownFacts(o.Snapshot)) == 0 { // else another version of Winnow may have written it
			return nil, o.Bad(o.factLine(unknown), "a snapshot has no fact %q; winnow policy schema snapshot lists all", unknown)
		}
	}
	s, err := Parse(doc)
	if err != nil {
		return nil, o.misread(err)
	}
	return s, nil
}

// unknownFacts are the names in a document that no snapshot has.
func unknownFacts(doc Document) (names []string) {
	data, err := json.Marshal(doc)
	if err != nil {
		return nil
	}
	for _, at := range saved.Unknown(data) {
		at, _, _ = strings.Cut(at, " (the nearest is ")
		names = append(names, at[strings.LastIndexByte(at, '.')+1:])
	}
	return names
}

// misread says of an error in reading the snapshot where in the file it comes from.
func (o *Own) misread(err error) error {
	var shape *json.UnmarshalTypeError
	if errors.As(err, &shape) {
		field := shape.Field[strings.LastIndexByte(shape.Field, '.')+1:]
		return o.Bad(o.factLine(field), "%s is a %s; it wants a value of the type %s", field, shape.Value, shape.Type)
	}
	return o.Bad(o.factLine(""), "%v", err)
}

// factLine is the line of the first key of that name in what the case says of the machine.
func (o *Own) factLine(name string) int {
	return cmp.Or(o.Find(name, "change"), o.Find(name, "snapshot"), o.Line("change"), o.Line("snapshot"))
}

// Configuration is the shipped configuration with what the case says of its rules section, read as config.yaml is. As for the incidents that
// ship, sessions named worker- are in scope.
func (o *Own) Configuration() (*config.Config, error) {
	rules := Merge(map[string]any{"session_names": map[string]any{"exact": []any{}, "prefix": []any{"worker-"}}}, o.Config)
	data, err := yaml.Marshal(map[string]any{"version": 1, "rules": rules})
	if err != nil {
		return nil, o.Bad(o.Line("config"), "%v", err)
	}
	c, err := config.Parse(o.Name, data, nil)
	if err != nil {
		return nil, o.InConfig(err)
	}
	return c, nil
}

// InConfig says of an error in the configuration where in the case it comes from.
func (o *Own) InConfig(err error) error {
	var wrong strict.Problems
	if !errors.As(err, &wrong) {
		words := strings.TrimSuffix(strings.TrimPrefix(err.Error(), o.Name+": "), "; nothing was done")
		return o.Bad(o.Line("config"), "config: %s", inText.ReplaceAllString(words, ""))
	}
	out := slices.Clone(wrong)
	for i, p := range wrong {
		keys := strings.Split(strings.TrimPrefix(p.Key, "rules."), ".")
		out[i].Line = o.Line(append([]string{"config"}, keys...)...)
		out[i].Text = strings.ReplaceAll(p.Text, "rules.", "config.")
	}
	return out
}

// inText is a line of the text that was made of the case, which says nothing to anybody.
var inText = regexp.MustCompile(`^[^ ]*:[0-9]+: `)
