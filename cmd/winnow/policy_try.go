package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/cmd/winnow/bundles"
	"github.com/winnow-reaper/winnow/cmd/winnow/config"
	"github.com/winnow-reaper/winnow/cmd/winnow/report"
	"github.com/winnow-reaper/winnow/cmd/winnow/text"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// TrialSchema names the shape of Trial.
const TrialSchema = "winnow.policy_try/v1"

// Trial is what winnow policy try prints as JSON. docs/schemas/policy-try.json is generated from it.
type Trial struct {
	Schema string `json:"schema" jsonschema:"enum=winnow.policy_try/v1"`
	// File is what was given.
	File string `json:"file"`
	// Problems say why it cannot be loaded; nothing was decided then. Error is a problem that is of no line.
	Problems []policy.Refusal `json:"problems"`
	Error    string           `json:"error,omitempty"`
	// TakenAt is when the snapshot was taken.
	TakenAt *time.Time  `json:"taken_at,omitempty"`
	Rules   []TriedRule `json:"rules"`
	// Candidates are those about which a rule of the file says something, or that are decided otherwise with it: those first.
	Candidates []TriedCandidate `json:"candidates"`
	// Unanswered are the candidates for which the policies came to no answer.
	Unanswered []TriedFailure `json:"unanswered"`
}

// TriedRule is a rule of what is tried.
type TriedRule struct {
	Rule string `json:"rule"`
	File string `json:"file"`
	Line int    `json:"line"`
	// Levels are those that the configuration gives it, by kind, where it is not on.
	Levels map[string]string `json:"levels,omitempty"`
	// Says counts the candidates that it gives a reason for, and Judged those that it could be asked about.
	Says   int `json:"says"`
	Judged int `json:"judged"`
	// Ended are, for a rule that says nothing, conditions at which it came to its end for some of them.
	Ended []TriedEnd `json:"ended,omitempty"`
}

// TriedEnd is a condition at which a rule came to its end for a candidate.
type TriedEnd struct {
	ID     string          `json:"id"`
	File   string          `json:"file"`
	Line   int             `json:"line"`
	Text   string          `json:"text"`
	Values []explain.Value `json:"values,omitempty"`
}

// TriedCandidate is a candidate about which what is tried says something.
type TriedCandidate struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	Label string `json:"label,omitempty"`
	// Findings and Objections are those of the rules that are tried.
	Findings   []decision.Reason `json:"findings"`
	Objections []decision.Reason `json:"objections"`
	// With and Without are the verdicts with what is tried and without it. Keeps are the rules that keep it although a rule that is tried finds a reason.
	With    string   `json:"with" jsonschema:"enum=reap,enum=spare"`
	Without string   `json:"without" jsonschema:"enum=reap,enum=spare"`
	Level   string   `json:"level,omitempty" jsonschema:"enum=ask,enum=observe"`
	Keeps   []string `json:"keeps"`
}

// TriedFailure is an evaluation that came to no answer.
type TriedFailure struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

type tryFlags struct {
	snapshot string
	watch    bool
	all      bool
}

func newPolicyTry(a *app) *cobra.Command {
	var f tryFlags
	cmd := &cobra.Command{
		Use:   "try FILE|FOLDER",
		Short: "What a rule that is being written says, on every save",
		Long: `Try loads a rule beside the policies of the configuration, decides a snapshot, and prints what the rule says: each candidate with the message, the
facts, and the verdict with the rule and without it. Without --snapshot it looks at this machine once. It changes and remembers nothing.

FILE is a policy; where it stands in the folder of its package, the other files of that package are loaded too. Where it stands anywhere else, its
package line says where it belongs. FOLDER is the folder of a package, or a tree with reap/ or protect/ in it. A package that the configuration's
policies have too is left out of them: what is tried takes its place.

With --watch it does so again after every save, until it is interrupted. A mistake is shown with file and line, and it waits for the next save.

It exits with 0 when the rule could be loaded, whatever it says, and with 2 when it could not; with --watch it exits with 0 when it is interrupted.`,
		Example: `  winnow policy try scratch.rego --snapshot machine.json
  winnow policy try mine/reap/dirs/scratch/scratch.rego --watch`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error { return a.policyTry(cmd.Context(), given[0], f) },
	}
	cmd.Flags().StringVar(&f.snapshot, "snapshot", "", "decide a saved snapshot `file` instead of a fresh look")
	cmd.Flags().BoolVar(&f.watch, "watch", false, "again after every save, until ctrl-C")
	cmd.Flags().BoolVar(&f.all, "all", false, "list all candidates in text, not the first alone")
	a.forms(cmd, "text", "json")
	return cmd
}

// trying is a rule that is tried, once or again and again.
type trying struct {
	*app
	given string
	flags tryFlags

	snapshot *snapshot.Snapshot
	// base is the engine without what is tried, for the packages that beside names.
	base   *side
	beside string
	// without are the decisions of base.
	without map[string]decision.Decision
}

func (a *app) policyTry(ctx context.Context, given string, f tryFlags) (err error) {
	t := &trying{app: a, given: given, flags: f}
	defer func() { err = errors.Join(err, t.closeBase()) }()
	if f.snapshot != "" {
		if t.snapshot, err = a.readSnapshot(ctx, f.snapshot); err != nil {
			return err
		}
	}
	if f.watch {
		return t.watch(ctx)
	}
	files, err := readTried(ctx, given)
	out, err := t.round(ctx, files, err)
	if err != nil {
		return err
	}
	if err := a.show(out, "  ", func(w io.Writer) { t.text(w, out) }); err != nil {
		return err
	}
	switch {
	case out.Error != "":
		return config.Mistakef("policy try: %s. Nothing was decided", out.Error)
	case len(out.Problems) > 0:
		return codeError{code: report.ExitUsage}
	}
	return nil
}

func (t *trying) closeBase() error {
	if t.base == nil {
		return nil
	}
	err := t.base.engine.Close()
	t.base = nil
	return err
}

// round loads what was read, and decides. What is wrong with it is in what it gives; the error is for all else.
func (t *trying) round(ctx context.Context, files *tried, err error) (Trial, error) {
	out := Trial{Schema: TrialSchema, File: t.given, Problems: []policy.Refusal{}, Rules: []TriedRule{}, Candidates: []TriedCandidate{}, Unanswered: []TriedFailure{}}
	var head *side
	if err == nil {
		head, err = t.load(ctx, files)
	}
	if ctx.Err() != nil {
		return out, errors.New("interrupted; nothing was changed")
	}
	if err != nil {
		if rs, ok := files.refusals(err); ok {
			out.Problems = rs
		} else {
			out.Error = err.Error()
		}
		return out, nil
	}
	defer func() { _ = head.engine.Close() }()
	if t.snapshot == nil {
		t.policy = head.policy // which candidates are read in full
		if t.snapshot, err = t.lookOrRead(ctx, ""); err != nil {
			return out, err
		}
	}
	if t.without == nil {
		res, err := t.base.engine.Decide(ctx, t.snapshot, &t.base.rules.cfg.Rules.Config)
		if err != nil {
			return out, err
		}
		t.without = map[string]decision.Decision{}
		for _, d := range res.Decisions {
			t.without[d.ID] = d
		}
	}
	res, err := head.engine.Decide(ctx, t.snapshot, &head.rules.cfg.Rules.Config)
	if err != nil {
		return out, err
	}
	out.TakenAt = &t.snapshot.TakenAt
	t.describe(ctx, &out, head, files, res)
	return out, nil
}

// load loads the policies with what is tried; and those without it, unless they are loaded.
func (t *trying) load(ctx context.Context, files *tried) (*side, error) {
	cfg, err := config.Load(t.app.flags.config, os.Environ())
	if err == nil {
		err = t.override(cfg)
	}
	if err != nil {
		return nil, err
	}
	trees, err := t.configured(ctx, files)
	if err != nil {
		return nil, err
	}
	head := &side{rules: ruleset{trees: append(slices.Clip(trees), files.tree), cfg: cfg}}
	if replaces(files.tree) { // whole by itself, as winnow init writes it
		head.rules.trees = append(slices.DeleteFunc(slices.Clone(trees), func(x policy.Tree) bool { return x.Name == embeddedTree }), files.tree)
	}
	if head.engine, head.policy, err = head.rules.load(ctx); err != nil {
		return nil, err
	}
	fail := func(err error) (*side, error) { return nil, errors.Join(err, head.engine.Close()) }
	if err := head.check(ctx, t.app); err != nil {
		return fail(err)
	}
	beside := strings.Join(slices.Sorted(maps.Keys(files.packages)), " ")
	if t.base != nil && beside == t.beside {
		return head, nil
	}
	if err := t.closeBase(); err != nil {
		return fail(err)
	}
	own := *cfg
	base := &side{rules: ruleset{trees: trees, cfg: &own}}
	if replaces(files.tree) {
		if base.rules.trees, err = t.trees(ctx); err != nil {
			return fail(err)
		}
	}
	if base.engine, base.policy, err = base.rules.load(ctx); err != nil {
		return fail(fmt.Errorf("without %s the policies do not load:\n%w", t.given, err))
	}
	t.base, t.beside, t.without = base, beside, nil
	if err := base.check(ctx, t.app, head.policy); err != nil {
		return fail(err)
	}
	return head, nil
}

// configured are the policies of the configuration without the packages that are tried.
func (t *trying) configured(ctx context.Context, files *tried) ([]policy.Tree, error) {
	if len(t.cfg.Policy.Bundles) > 0 {
		e, p, err := t.engineBy(ctx, bundles.Look{})
		if err != nil {
			return nil, err
		}
		return files.ofLoaded(p), e.Close()
	}
	trees, err := t.trees(ctx)
	if err != nil {
		return nil, err
	}
	return files.without(ctx, trees)
}

// describe says what the rules that are tried say.
func (t *trying) describe(ctx context.Context, out *Trial, head *side, files *tried, res eval.Result) {
	rules := t.rules(head, files)
	of := func(all []decision.Reason) []decision.Reason {
		said := []decision.Reason{}
		for _, r := range all {
			if rules[r.Rule] != nil {
				said = append(said, r)
			}
		}
		return said
	}
	for _, f := range res.Errors {
		out.Unanswered = append(out.Unanswered, TriedFailure{f.ID, f.Err.Error()})
	}
	for _, d := range res.Decisions {
		c := TriedCandidate{ID: d.ID, Kind: d.Kind, Label: report.Label(d), Findings: of(d.Findings), Objections: of(d.Objections), With: d.Verdict, Level: d.Level,
			Without: cmp.Or(t.without[d.ID].Verdict, decision.Spare), Keeps: []string{}}
		said := map[string]bool{}
		for _, r := range slices.Concat(c.Findings, c.Objections) {
			said[r.Rule] = true
		}
		for id, r := range rules {
			if kind := kindOfRule(id); kind == "" || kind == d.Kind {
				r.Judged++
			}
			if said[id] {
				r.Says++
			}
		}
		for _, o := range d.Objections {
			if len(c.Findings) > 0 && !slices.Contains(c.Keeps, o.Rule) {
				c.Keeps = append(c.Keeps, o.Rule)
			}
		}
		if len(said) > 0 || c.With != c.Without {
			out.Candidates = append(out.Candidates, c)
		}
	}
	slices.SortStableFunc(out.Candidates, func(x, y TriedCandidate) int {
		return cmp.Or(cmp.Compare(changes(y), changes(x)), strings.Compare(x.ID, y.ID))
	})
	for _, id := range slices.Sorted(maps.Keys(rules)) {
		if r := rules[id]; r.Says == 0 {
			r.Ended = t.ended(ctx, head, files, id)
		}
		out.Rules = append(out.Rules, *rules[id])
	}
}

func changes(c TriedCandidate) int {
	if c.With != c.Without {
		return 1
	}
	return 0
}

// kindOfRule is the kind that a rule under reap is about, "" for one that is about all of them.
func kindOfRule(rule string) string {
	family, rest, _ := strings.Cut(rule, ".")
	if family != "reap" {
		return ""
	}
	of, _, _ := strings.Cut(rest, ".")
	kind, _ := snapshot.KindOfRules(of)
	return kind.Name
}

// rules are those of what is tried, by name.
func (t *trying) rules(head *side, files *tried) map[string]*TriedRule {
	from := map[string]bool{}
	for _, f := range head.policy.Files {
		from[f.Name] = f.Tree == triedTree
	}
	out := map[string]*TriedRule{}
	for id, r := range head.policy.Rules() {
		if !from[r.File] {
			continue
		}
		one := &TriedRule{Rule: id, File: files.nameOf(r.File), Line: r.Line}
		for _, l := range head.rules.cfg.Rules.Levels {
			if l.Rule == id {
				if one.Levels == nil {
					one.Levels = map[string]string{}
				}
				one.Levels[l.Kind] = l.Level
			}
		}
		out[id] = one
	}
	return out
}

// maxEnded is of how many candidates it is said where a rule that says nothing came to its end.
const maxEnded = 3

// ended are conditions at which a rule came to its end, for the first candidates that it could be asked about.
func (t *trying) ended(ctx context.Context, head *side, files *tried, rule string) (out []TriedEnd) {
	joined := subject.Join(t.snapshot, &head.rules.cfg.Rules.Config)
	asked := 0
	for _, id := range ids(t.snapshot) {
		sub, ok := joined.Subject(id)
		if !ok || asked == maxEnded {
			continue
		}
		if kind := kindOfRule(rule); kind != "" && kind != sub.Kind {
			continue
		}
		x, err := head.engine.Explain(ctx, sub)
		if err != nil {
			continue // it is decided all the same
		}
		asked++
		for _, s := range slices.Concat(x.NoFinding, x.NoObjection) {
			if s.Rule != rule {
				continue
			}
			for _, c := range innermost(slices.Concat(s.Failed, s.Shown))[:1] {
				out = append(out, TriedEnd{ID: id, File: files.nameOf(c.File), Line: c.Line, Text: c.Text, Values: c.Values})
			}
			break
		}
	}
	return out
}

// listedTried is how many candidates are shown to a person, unless all are asked for.
const listedTried = 20

func (t *trying) text(to io.Writer, o Trial) {
	w, p := bufio.NewWriter(to), t.paint
	defer w.Flush()
	if o.Error != "" && t.flags.watch { // else it ends the program, which says it
		p.Sentence(w, p.Red(text.Clean(o.Error)))
	}
	if len(o.Problems) > 0 {
		t.refusalsText(w, o.Problems, p.Red)
		fmt.Fprintf(w, "%s was not loaded: %s; nothing was decided\n", text.Clean(o.File), text.Plural(len(o.Problems), "problem"))
	}
	for _, r := range o.Rules {
		t.ruleText(w, r)
	}
	for _, u := range o.Unanswered {
		p.Rows(w, text.Row{Lead: "no answer", Color: p.Red, Label: u.ID, Text: u.Error + "; it stays"})
	}
	shown := o.Candidates
	if !t.flags.all {
		shown = shown[:min(len(shown), listedTried)]
	}
	for _, c := range shown {
		t.candidateText(w, c)
	}
	if n := len(o.Candidates) - len(shown); n > 0 {
		fmt.Fprintf(w, "  %s\n", p.Dim(fmt.Sprintf("and %d more; --all lists them", n)))
	}
}

func (t *trying) ruleText(w io.Writer, r TriedRule) {
	p := t.paint
	does := "finds a reason to reap"
	if !strings.HasPrefix(r.Rule, "reap.") {
		does = "objects to"
	}
	line := fmt.Sprintf("%s %s %d of %s in scope", p.Bold(text.Clean(r.Rule)), does, r.Says, text.Plural(r.Judged, cmp.Or(kindOfRule(r.Rule), "candidate")))
	for _, kind := range slices.Sorted(maps.Keys(r.Levels)) {
		line += fmt.Sprintf("; its level for %s is %s", kind, r.Levels[kind])
	}
	fmt.Fprintf(w, "%s  %s\n", line, p.Dim(place(r.File, r.Line)))
	for _, e := range r.Ended {
		values := named(e.Values)
		said := ""
		if len(values) > 0 {
			said = " (" + strings.Join(slices.Compact(values), ", ") + ")"
		}
		p.Indented(w, 2, p.Dim("for "+text.Clean(e.ID)+" it came to its end at "+place(e.File, e.Line)+": ")+text.Clean(e.Text+said))
	}
}

func (t *trying) candidateText(w io.Writer, c TriedCandidate) {
	p := t.paint
	verdict := func(v string) string {
		if v == decision.Reap {
			return "goes"
		}
		return "stays"
	}
	lead := p.Yellow(verdict(c.With))
	if c.With == decision.Reap {
		lead = p.Green(verdict(c.With))
	}
	after := "without it too"
	if c.With != c.Without {
		after = "without it: " + verdict(c.Without)
	}
	if c.Level != "" {
		after = "at level " + c.Level + ", " + after
	}
	fmt.Fprintf(w, "  %s  %s  %s\n", lead, p.Bold(text.Clean(c.Label))+labelled(c), p.Dim(after))
	for _, r := range slices.Concat(c.Findings, c.Objections) {
		line := p.Dim(text.Clean(r.Rule)+": ") + text.Clean(r.Message)
		for _, k := range slices.Sorted(maps.Keys(r.Evidence)) {
			line += p.Dim(" (" + text.Clean(k) + " is " + value(r.Evidence[k]) + ")")
		}
		p.Indented(w, 4, line)
	}
	if len(c.Keeps) > 0 {
		p.Indented(w, 4, p.Dim("kept by "+text.Clean(strings.Join(c.Keeps, ", "))))
	}
}

// labelled is a candidate's id where its name does not say it.
func labelled(c TriedCandidate) string {
	if c.Kind == snapshot.KindDir || strings.HasSuffix(c.ID, c.Label) {
		return ""
	}
	return "  " + text.Clean(c.ID)
}
