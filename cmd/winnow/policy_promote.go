package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/cmd/winnow/comparison"
	"github.com/winnow-reaper/winnow/cmd/winnow/config"
	"github.com/winnow-reaper/winnow/cmd/winnow/report"
	"github.com/winnow-reaper/winnow/cmd/winnow/saved"
	"github.com/winnow-reaper/winnow/cmd/winnow/text"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/flips"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/outfile"
)

// PromotionSchema names the shape of Promotion.
const PromotionSchema = "winnow.policy_promote/v1"

// Promotion is what winnow policy promote prints as JSON. docs/schemas/policy-promote.json is generated from it.
type Promotion struct {
	Schema string           `json:"schema" jsonschema:"enum=winnow.policy_promote/v1"`
	Rule   string           `json:"rule"`
	Policy report.PolicyRef `json:"policy"`
	// From is the rule's level now, and To the one that was asked for.
	From string `json:"from" jsonschema:"enum=on,enum=ask,enum=observe,enum=off"`
	To   string `json:"to" jsonschema:"enum=on,enum=ask,enum=observe,enum=off"`
	// Allowed is true where nothing speaks against it, and Refused says what does, a sentence each.
	Allowed bool     `json:"allowed"`
	Refused []string `json:"refused"`
	// Evidence is what it rests on, absent where a rule gets a level that does less.
	Evidence *Evidence `json:"evidence,omitempty"`
	// File is the configuration file that has the level, or would get it; Written is true where it was written.
	File    string `json:"file,omitempty"`
	Written bool   `json:"written"`
}

// Evidence is what recorded sweeps and saved snapshots say of a rule.
type Evidence struct {
	// Wanted is how many samples have to count, and Counted how many do: sweeps that were recorded by these policies and parameters, and
	// snapshots with all their names, in each of which there was something of the rule's kind to judge.
	Wanted  int `json:"wanted"`
	Counted int `json:"counted"`
	// Findings counts the reasons to reap that the rule found in those.
	Findings int `json:"findings"`
	// Passed are the samples that do not count, with the reason. They are decided all the same: what goes in one of them speaks against the rule.
	Passed []PassedSample `json:"passed"`
	// Changes counts what the new level decides otherwise, Labels the labelled candidates, Lost those labelled as live that would go, and Near
	// those labelled as live that the rule finds a reason for and that another rule keeps.
	Changes comparison.Changes    `json:"changes"`
	Labels  *comparison.Tallies   `json:"labels,omitempty"`
	Lost    []comparison.Labelled `json:"lost"`
	Near    []comparison.Labelled `json:"near"`
	// Groups are the decisions that would be others, by rule.
	Groups []comparison.Group `json:"groups"`
}

// PassedSample is a sample that does not count.
type PassedSample struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

type promoteFlags struct {
	to              string
	sweeps          int
	snapshots       []string
	labels          string
	dryRun          bool
	withoutFindings bool
	all             bool
}

// promoteSweeps is how many sweeps have to count unless a person says another number.
const promoteSweeps = 20

// ranks are the levels, the one that does the most last.
var ranks = []string{decision.Off, decision.Observe, decision.Ask, decision.On}

func newPolicyPromote(a *app) *cobra.Command {
	var f promoteFlags
	cmd := &cobra.Command{
		Use:   "promote RULE",
		Short: "Give a rule a higher level, when recorded sweeps speak for it",
		Long: `Promote decides the recorded sweeps (record in config.yaml), and saved snapshots with --snapshots, twice: with the rule at its level now, and as if
it were on. It shows what would go then, and writes the level into rules.levels of the configuration file, with everything else in the file as it
was. It refuses, and writes nothing, when

  - fewer than --sweeps of them count. A sweep counts when it was recorded by the policies and parameters that are in force now, levels apart, and
    when there was something of the rule's kind to judge in it; a snapshot when it is not redacted;
  - the rule found no reason in any of them (--without-findings takes that for enough);
  - something that is labelled as live would go;
  - a sample could not be read, or the policies came to no answer.

Labels are those of saved snapshots (winnow policy diff --help), and those of --labels, a file of the same form with the ids that candidates have here:
the stand-ins of recorded sweeps are found by the key in the state folder.

A lower level needs no evidence. It exits with 1 when it refuses.`,
		Example: `  winnow policy promote reap.dirs.scratch --dry-run
  winnow policy promote reap.dirs.scratch --to ask --sweeps 50 --labels known.yaml
  winnow policy promote reap.dirs.scratch --to observe`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error { return a.policyPromote(cmd.Context(), given[0], f) },
	}
	cmd.Flags().StringVar(&f.to, "to", decision.On, "the new `level`: "+strings.Join(ranks, ", "))
	cmd.Flags().IntVar(&f.sweeps, "sweeps", promoteSweeps, "how many sweeps or snapshots have to `count`")
	cmd.Flags().StringArrayVar(&f.snapshots, "snapshots", nil, "also `path` of a snapshot, or of a folder of snapshots; may be repeated")
	cmd.Flags().StringVar(&f.labels, "labels", "", "`file` that says which candidates are live or dead")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only say whether it may be, and write nothing")
	cmd.Flags().BoolVar(&f.withoutFindings, "without-findings", false, "also where the rule found nothing, so that nothing is known of what it does")
	cmd.Flags().BoolVar(&f.all, "all", false, "list all in text, not the first of each rule alone")
	a.forms(cmd, "text", "json")
	cmd.ValidArgsFunction = a.completeRules
	must(cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(ranks, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

// completeRules completes the rules under reap that the configuration's policies have. Where these cannot be loaded there is no completion.
func (a *app) completeRules(cmd *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	a.log = hclog.NewNullLogger()
	cfg, err := config.Load(a.flags.config, os.Environ())
	if err != nil || envFlags(cmd.Flags()) != nil || a.override(cfg) != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	a.cfg = cfg
	e, p, err := a.engine(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer func() { _ = e.Close() }()
	var out []cobra.Completion
	for _, name := range rulesThatReap(p) {
		if text.Clean(name) == name {
			out = append(out, name+"\t"+text.Clean(p.Rule(name).Title))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// rulesThatReap are the rules under reap, sorted.
func rulesThatReap(p *policy.Policy) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(p.Rules())) {
		if strings.HasPrefix(name, "reap.") {
			names = append(names, name)
		}
	}
	return names
}

func (a *app) policyPromote(ctx context.Context, rule string, f promoteFlags) (err error) {
	switch {
	case !slices.Contains(ranks, f.to):
		return config.Mistakef("--to: unknown level %q%s. Nothing was done", f.to, text.Hint(f.to, ranks))
	case f.sweeps < 1:
		return config.Mistakef("--sweeps: %d is no number of sweeps; it is at least 1. Nothing was done", f.sweeps)
	case len(a.flags.policy) > 0 || a.flags.noEmbedded:
		return config.Mistakef("policy promote judges by the policies that the configuration names, since its file gets the level: leave --policy and --no-embedded-policy out. Nothing was done")
	}
	e, p, err := a.engine(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	kind, err := promoted(rule, p)
	if err != nil {
		return err
	}
	out := Promotion{Schema: PromotionSchema, Rule: rule, Policy: report.PolicyRef{Revision: p.Revision, Digest: p.Digest}, From: a.levelOf(rule, kind), To: f.to,
		Refused: []string{}, File: a.ownConfig()}
	if higher := slices.Index(ranks, f.to) > slices.Index(ranks, out.From); higher && f.to != decision.Observe {
		x := evidence{app: a, engine: e, policy: p, rule: rule, kind: kind, flags: f}
		if out.Evidence, out.Refused, err = x.gather(ctx, out.From); err != nil {
			return err
		}
	}
	out.Allowed = len(out.Refused) == 0
	var unwritten error
	if out.Allowed && !f.dryRun && out.From != f.to {
		unwritten = a.setLevel(ctx, p, out.File, rule, kind, f.to)
		out.Written = unwritten == nil
	}
	if err := a.show(out, "  ", func(w io.Writer) { a.paint.promotionText(w, out, f) }); err != nil {
		return err
	}
	if !out.Allowed {
		return codeError{code: report.ExitFailed, err: fmt.Errorf("policy promote: %s stays at %s; nothing was changed", rule, out.From)}
	}
	return unwritten
}

// promoted is the kind that a rule is about. A rule that protects, or that is not loaded, cannot be promoted.
func promoted(rule string, p *policy.Policy) (string, error) {
	names := rulesThatReap(p)
	switch {
	case slices.Contains(names, rule):
		of, _, _ := strings.Cut(strings.TrimPrefix(rule, "reap."), ".")
		kind, _ := snapshot.KindOfRules(of)
		return kind.Name, nil
	case p.Rule(rule).ID != "":
		return "", config.Mistakef("%s protects, and such a rule is on or off: write that into rules.levels yourself. Nothing was done", rule)
	}
	return "", config.Mistakef("there is no rule %q%s. Nothing was done", rule, text.Hint(rule, names))
}

// levelOf is the level that the configuration gives to a rule.
func (a *app) levelOf(rule, kind string) string {
	for _, l := range a.cfg.Rules.Levels {
		if l.Rule == rule && l.Kind == kind {
			return l.Level
		}
	}
	return decision.On
}

// setLevel writes a level into the configuration file, and reads it again.
func (a *app) setLevel(ctx context.Context, p *policy.Policy, file, rule, kind, level string) error {
	r, err := a.configured(ctx)
	if err != nil {
		return fmt.Errorf("%w; nothing was written", err)
	}
	// An organisation's layer may hold the level: a file with which nothing would be decided any more is not written.
	write := func(ctx context.Context, file string, text func(io.Writer) error) error {
		var next bytes.Buffer
		if err := text(&next); err != nil {
			return err
		}
		if r.cfg, err = config.Parse(file, next.Bytes(), os.Environ()); err == nil {
			err = r.check(p)
		}
		if err != nil {
			return heldBack{err}
		}
		return outfile.Write(ctx, file, func(w io.Writer) error {
			_, err := w.Write(next.Bytes())
			return err
		})
	}
	err = config.Mistakef("there is no place for a configuration file: name one with --config")
	if file != "" {
		err = config.SetLevel(ctx, file, rule, level, write)
	}
	if held := (heldBack{}); errors.As(err, &held) {
		return config.Mistakef("with %s at %s, the configuration would be refused, so %s was not changed:\n%w", rule, level, file, held.error)
	}
	if err != nil {
		return fmt.Errorf("write the level of %s into %s: %w. Write it there yourself:\nrules:\n  levels:\n    %s: %s", rule, file, err, rule, level)
	}
	again := *a
	if again.cfg, err = config.Load(a.flags.config, os.Environ()); err != nil {
		return fmt.Errorf("%s was written, and cannot be read now: %w", file, err)
	}
	if got := again.levelOf(rule, kind); got != level {
		return fmt.Errorf("%s was written, and has %s at %s, not at %s: correct it", file, rule, got, level)
	}
	return nil
}

// heldBack is why a configuration would be refused.
type heldBack struct{ error }

// evidence gathers what samples say of a rule.
type evidence struct {
	app    *app
	engine *eval.Engine
	policy *policy.Policy
	rule   string
	kind   string
	flags  promoteFlags

	labels  map[string]string
	found   map[string]bool
	ids     *standIns
	refused []string
}

func (x *evidence) refuse(format string, args ...any) {
	x.refused = append(x.refused, fmt.Sprintf(format, args...))
}

// gather decides all samples by both levels. The error is for what cannot be used at all.
func (x *evidence) gather(ctx context.Context, from string) (*Evidence, []string, error) {
	samples, err := x.samples(ctx)
	if err != nil {
		return nil, nil, err
	}
	base, head := *x.app.cfg, *x.app.cfg
	head.Rules.Levels = slices.DeleteFunc(slices.Clone(base.Rules.Levels), func(l subject.RuleLevel) bool { return l.Rule == x.rule })
	sides := [2]side{{rules: ruleset{cfg: &base}, policy: x.policy}, {rules: ruleset{cfg: &head}, policy: x.policy}}
	ref := report.PolicyRef{Revision: x.policy.Revision, Digest: x.policy.Digest}
	build := comparison.New(comparison.Side{Name: from, Policy: ref, Config: base.File}, comparison.Side{Name: decision.On, Policy: ref, Config: base.File}, sides[0].decides(), sides[1].decides())
	out := &Evidence{Wanted: x.flags.sweeps, Passed: []PassedSample{}, Near: []comparison.Labelled{}}
	now, err := parameters(base.Rules.Config)
	if err != nil {
		return nil, nil, err
	}
	for _, one := range samples {
		s, err := one.read(ctx)
		if err == nil {
			err = x.label(s)
		}
		var results [2]eval.Result
		for i := range sides {
			if err == nil {
				results[i], err = x.engine.Decide(ctx, s.Snapshot, &sides[i].rules.cfg.Rules.Config)
			}
		}
		if ctx.Err() != nil {
			return nil, nil, errors.New("interrupted; nothing was changed")
		}
		if err != nil {
			x.refuse("%s could not be decided: %v", one.name, err)
			continue
		}
		for _, r := range results {
			if n := len(r.Errors); n > 0 {
				x.refuse("in %s the policies came to no answer for %s: %v", one.name, r.Errors[0].ID, r.Errors[0].Err)
				break
			}
		}
		build.Add(one.name, s.TakenAt, s.Host.Name, flips.Compare(s.Snapshot, results[0].Decisions, results[1].Decisions), nil, func(string) comparison.Explained { return comparison.Explained{} })
		why, findings := x.counts(s, results[1].Decisions, now), 0
		for _, d := range results[1].Decisions {
			if !slices.ContainsFunc(d.Findings, func(r decision.Reason) bool { return r.Rule == x.rule }) {
				continue
			}
			findings++
			if s.Labels[d.ID] == snapshot.Live && d.Verdict != decision.Reap {
				out.Near = append(out.Near, comparison.Labelled{Snapshot: one.name, ID: d.ID})
			}
		}
		if why != "" {
			out.Passed = append(out.Passed, PassedSample{one.name, why})
			continue
		}
		out.Counted++
		out.Findings += findings
	}
	for _, id := range slices.Sorted(maps.Keys(x.labels)) {
		if !x.found[id] {
			return nil, nil, config.Mistakef("--labels: no sweep and no snapshot holds %q, so its label guards nothing: correct the id, or take it out. Nothing was done", id)
		}
	}
	doc := build.Document("")
	out.Changes, out.Labels, out.Lost, out.Groups = doc.Changes, doc.Labels, doc.Lost, doc.Groups
	x.judge(out)
	return out, append([]string{}, x.refused...), nil
}

// samples are the recorded sweeps and the snapshots that were named; and what of them candidates are labelled as.
func (x *evidence) samples(ctx context.Context) ([]sample, error) {
	out, err := x.app.ofSnapshots(x.flags.snapshots)
	if err != nil {
		return nil, err
	}
	ids, err := x.app.anyRecordings(ctx)
	if err != nil {
		return nil, err
	}
	x.found = map[string]bool{}
	if x.flags.labels != "" {
		if x.labels, err = saved.ReadLabels(ctx, x.flags.labels); err != nil {
			return nil, config.Mistakef("--labels: %w. Nothing was done", err)
		}
		if len(ids) > 0 {
			if x.ids, err = x.app.standIns(ctx, x.policy); err != nil {
				return nil, fmt.Errorf("--labels: the ids of recorded sweeps are not known: %w. Nothing was done", err)
			}
		}
	}
	return append(out, x.app.ofRecordings(ids)...), nil
}

// label gives a sample the labels of the file.
func (x *evidence) label(s sampled) error {
	if len(x.labels) == 0 {
		return nil
	}
	standIn := func(id string) string { return id }
	if s.sweep != nil {
		var err error
		if standIn, err = x.ids.in(s); err != nil {
			return err
		}
	}
	if s.Labels == nil {
		s.Labels = map[string]string{}
	}
	for id, label := range x.labels {
		for _, name := range slices.Compact([]string{id, standIn(id)}) {
			if _, there := s.Find(name); !there {
				continue
			}
			x.found[id] = true
			if own, ok := s.Labels[name]; ok && own != label {
				return fmt.Errorf("%q is %s in --labels and %s in the snapshot; correct one of them", id, label, own)
			}
			s.Labels[name] = label
		}
	}
	return nil
}

// parameters are those that rules read, apart from their levels, in one form for all that say the same.
func parameters(c subject.Config) ([]byte, error) {
	c.Levels = nil
	return json.Marshal(c)
}

// counts says why a sample is no evidence, "" where it is.
func (x *evidence) counts(s sampled, ds []decision.Decision, now []byte) string {
	if s.sweep != nil {
		then, err := parameters(s.sweep.Rules)
		switch {
		case s.sweep.Policy.Digest != x.policy.Digest:
			return "other policies than now recorded it, and what of names a rule needs may be missing"
		case err != nil || !bytes.Equal(then, now):
			return "it was recorded with other parameters (rules) than now"
		}
	} else if s.Redaction != nil {
		return "it is redacted, and what of names a rule needs may be missing"
	}
	if !slices.ContainsFunc(ds, func(d decision.Decision) bool { return d.Kind == x.kind }) {
		return fmt.Sprintf("there was no %s in scope to judge", x.kind)
	}
	return ""
}

// judge says what speaks against the level.
func (x *evidence) judge(e *Evidence) {
	if e.Counted < e.Wanted {
		do := "sweep more often first, or say another number with --sweeps"
		if x.app.cfg.Record < e.Wanted {
			do = fmt.Sprintf("write record: %d into config.yaml (it is %d), and sweeps are recorded from then on; or give --snapshots, or another number with --sweeps", e.Wanted, x.app.cfg.Record)
		}
		x.refuse("%d sweeps and snapshots could judge it, and %d have to: %s", e.Counted, e.Wanted, do)
	}
	if e.Findings == 0 && !x.flags.withoutFindings {
		x.refuse("it found nothing in them, so nothing is known of what it does; --without-findings takes that for enough")
	}
	for _, l := range e.Lost {
		x.refuse("%s is labelled as live in %s, and would go", l.ID, l.Snapshot)
	}
}

func (p paint) promotionText(w io.Writer, o Promotion, f promoteFlags) {
	if o.From == o.To {
		p.Sentence(w, text.Clean(fmt.Sprintf("%s is at %s already; nothing was changed.", o.Rule, o.To)))
		return
	}
	verdict := p.Green("may")
	if !o.Allowed {
		verdict = p.Red("may not")
	}
	p.Sentence(w, fmt.Sprintf("%s %s go from %s to %s.", p.Bold(text.Clean(o.Rule)), verdict, o.From, o.To))
	if e := o.Evidence; e != nil {
		p.Sentence(w, fmt.Sprintf("%d of %d sweeps and snapshots could judge it, and it found %s there.", e.Counted, e.Counted+len(e.Passed), findingsSaid(e.Findings)))
		p.passedText(w, e.Passed)
		switch {
		case e.Labels == nil:
			p.Sentence(w, "No candidate in them is labelled, so only you can say whether what would go is dead (--labels).")
		default:
			p.Sentence(w, fmt.Sprintf("Of %d labelled as live %d would go, of %d labelled as dead %d.", e.Labels.Live.Labelled, e.Labels.Live.Head, e.Labels.Dead.Labelled, e.Labels.Dead.Head))
		}
		for _, l := range e.Near {
			p.Sentence(w, p.Yellow("near ")+text.Clean(l.ID)+text.Clean(" is labelled as live in "+l.Snapshot+": this rule finds a reason to reap it, and another rule keeps it"))
		}
		doc := comparison.Document{Groups: e.Groups, Changes: e.Changes}
		doc.WriteGroups(w, p.Paint, f.all, func(change string) string {
			n := text.Plural(doc.Changes.Of(change).Decisions, "decision")
			if change == flips.NewReap {
				return p.Bold("stay today, would go") + "  " + p.Dim(n)
			}
			return p.Bold("decided otherwise") + "  " + p.Dim(n)
		})
		fmt.Fprintln(w)
	}
	for _, r := range o.Refused {
		p.Sentence(w, p.Red("refused: ")+text.Clean(r))
	}
	switch {
	case o.Written:
		p.Sentence(w, text.Clean(fmt.Sprintf("%s: rules.levels has %s at %s now", text.Home(o.File), o.Rule, o.To)))
	case o.Allowed && f.dryRun:
		p.Sentence(w, text.Clean(fmt.Sprintf("dry run: rules.levels in %s would have %s at %s", text.Home(o.File), o.Rule, o.To)))
	}
}

func findingsSaid(n int) string {
	if n == 0 {
		return "no reason to reap anything"
	}
	return text.Plural(n, "reason") + " to reap something"
}

// passedText counts the samples that do not count, by the reason.
func (p paint) passedText(w io.Writer, passed []PassedSample) {
	by := map[string]int{}
	for _, s := range passed {
		by[s.Why]++
	}
	for _, why := range slices.Sorted(maps.Keys(by)) {
		p.Indented(w, 2, p.Dim(text.Clean(fmt.Sprintf("%d not counted: %s", by[why], why))))
	}
}
