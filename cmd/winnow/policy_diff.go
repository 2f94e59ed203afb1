package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/flips"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/comparison"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/saved"
	"github.com/winnow-reaper/winnow/internal/text"
)

// diffFlags are the flags of winnow policy diff.
type diffFlags struct {
	snapshots              []string
	recorded               bool
	configBase, configHead string
	repo, path             string
	levels                 []string
	require                int
	failOn                 string
	all, watch             bool
}

func newPolicyDiff(a *app) *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff [BASE HEAD]",
		Short: "What another version of the policies, or of their configuration, would decide otherwise",
		Long: `Diff decides every snapshot twice, by BASE and by HEAD, and prints the decisions that differ: what stays today and would go first, then
what goes today and would stay, then the same verdict for other reasons, by the rule that decided. It touches nothing else.

BASE and HEAD are each a folder of policies (./policies), a revision of the git repository (main, HEAD~1, main:policies), "embedded" for the
policies that Winnow brings, or "configured" for those that the configuration names, which both are where none is given. A folder is
judged on top of the embedded policies, unless --no-embedded-policy is given or it is a copy of them as winnow init makes one. Revisions are
read without a checkout: nothing of the repository is run.

With --level RULE=LEVEL the rule has that level in HEAD. With --require N it fails where fewer than N snapshots had something for the rule to
judge, or where the rule found nothing in them; else it prints the lines to write into the configuration.

With --watch it compares again whenever a file of BASE or HEAD is saved, until it is interrupted. Of a rule of one's own that says nothing it is
said at which condition it ended.

Without --snapshots and --recorded it looks at this machine once. Snapshots are files of winnow snapshot, also compressed with gzip; in a folder
those that end in .json or .json.gz. A file
NAME.labels.yaml beside NAME.json, or "labels" in the snapshot itself, says what a person knows of candidates:

  labels:
    dir:/home/u/project-review-1a2b3c4d: dead
    process:812@93211: live

What is labelled as live and would go by HEAD alone always fails.

  winnow policy diff main ./policies --snapshots snapshots --fail-on new-reap
  winnow policy diff --config-head ./new.yaml --snapshots snapshots
  winnow policy diff configured ./mine --watch
  winnow policy diff --level reap.dirs.scratch=on --recorded --require 20
  winnow policy diff HEAD~1 HEAD --snapshots snapshots --format markdown > comment.md

It exits with 1 when it fails: by --fail-on, by a label, or because something could not be compared; with 2 for wrong use, and with 125 when the
policies of HEAD do not load, which git bisect run takes for a commit to pass over:

  git bisect start HEAD v1 -- policies
  git bisect run winnow policy diff v1 ./policies --snapshots snapshots --fail-on new-reap`,
		Args: args(func(_ *cobra.Command, given []string) error {
			if len(given) != 0 && len(given) != 2 {
				return fmt.Errorf("it wants both BASE and HEAD, or none for a comparison of configurations")
			}
			return nil
		}),
		RunE: func(cmd *cobra.Command, given []string) error {
			if len(given) == 0 {
				given = []string{configuredTrees, configuredTrees}
			}
			return a.policyDiff(cmd.Context(), given[0], given[1], f)
		},
	}
	cmd.Flags().StringArrayVar(&f.snapshots, "snapshots", nil, "`path` of a snapshot, or of a folder of snapshots; may be repeated")
	cmd.Flags().BoolVar(&f.recorded, "recorded", false, "also the sweeps that the ledger has recorded (record in config.yaml)")
	cmd.Flags().StringVar(&f.configBase, "config-base", "", "configuration `file` of BASE, or REVISION:FILE; without it the one that is in force")
	cmd.Flags().StringVar(&f.configHead, "config-head", "", "configuration `file` of HEAD, or REVISION:FILE; without it the one that is in force")
	cmd.Flags().StringVar(&f.repo, "repo", ".", "a `folder` in the repository that revisions are of")
	cmd.Flags().StringVar(&f.path, "path", "policies", "`folder` of the policies in a revision that names none")
	cmd.Flags().StringArrayVar(&f.levels, "level", nil, "`RULE=LEVEL` in HEAD, over its configuration; may be repeated")
	cmd.Flags().IntVar(&f.require, "require", 0, "with --level: fail unless `N` snapshots had something for the rule to judge, and it found something")
	cmd.Flags().BoolVar(&f.watch, "watch", false, "compare again on every save, until ctrl-C")
	cmd.Flags().StringVar(&f.failOn, "fail-on", "", "`what` fails: "+strings.Join(comparison.FailOn, ", "))
	cmd.Flags().BoolVar(&f.all, "all", false, "list all in text, not the first of each rule alone")
	a.formsAndFiles(cmd, "text", "json", "markdown", formSARIF, formJUnit, formQuality)
	must(cmd.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions(comparison.FailOn, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func (f diffFlags) check() error {
	if f.failOn != "" && !slices.Contains(comparison.FailOn, f.failOn) {
		return config.Mistakef("--fail-on: unknown word %q%s", f.failOn, text.Hint(f.failOn, comparison.FailOn))
	}
	if f.require < 0 || f.require > 0 && len(f.levels) == 0 {
		return config.Mistakef("--require wants a number of snapshots from 1 on, and --level RULE=LEVEL. Nothing was decided")
	}
	return nil
}

// side is one of both versions, ready to decide.
type side struct {
	policyVersion
	rules  ruleset.Set
	engine *eval.Engine
	policy *policy.Policy
}

// bisectSkip is the exit code that has git bisect run pass over a commit.
const bisectSkip = 125

func (a *app) policyDiff(ctx context.Context, base, head string, f diffFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	d := &difference{Ops: &a.Ops, names: [2]string{base, head}, flags: f, configFile: a.flags.config, policy: a.flags.policy}
	if err := d.findSamples(ctx); err != nil {
		return err
	}
	if f.watch {
		return d.watch(ctx, func(doc *comparison.Document, err error) error {
			if !a.json() {
				fmt.Fprintf(a.out, "%s\n", a.paint.Dim("-- "+time.Now().Format(time.TimeOnly)))
			}
			if err != nil {
				a.showDiffError(err)
				return nil
			}
			return a.writeDiff(doc, f)
		})
	}
	doc, err := d.compare(ctx)
	if err != nil {
		return err
	}
	if err := a.written(ctx, func(a *app) error { return a.writeDiff(doc, f) }); err != nil {
		return err
	}
	if len(doc.Failed) > 0 {
		return exit.Error{Code: exit.Failed, Err: fmt.Errorf("policy diff fails: %s", strings.Join(doc.Failed, "; "))}
	}
	return nil
}

// difference compares two versions of the policies.
type difference struct {
	*ops.Ops
	names [2]string
	flags diffFlags
	// configFile is the configuration that a person named, policy are the policies that they put above all.
	configFile string
	policy     []string
	// samples are what both versions decide; empty until this machine was looked at, where nothing else was named.
	samples []foundSnapshot
}

func (d *difference) findSamples(ctx context.Context) (err error) {
	if d.samples, err = snapshotFiles(d.flags.snapshots); err != nil || !d.flags.recorded {
		return err
	}
	recorded, err := recordedSnapshots(ctx, d.Ops)
	d.samples = append(d.samples, recorded...)
	return err
}

// compare loads both versions and decides all samples by both.
func (d *difference) compare(ctx context.Context) (doc *comparison.Document, err error) {
	sides := [2]*side{{}, {}}
	defer func() {
		for _, s := range sides {
			if s.engine != nil {
				err = errors.Join(err, s.engine.Close())
			}
		}
	}()
	if err := d.load(ctx, sides); err != nil {
		return nil, err
	}
	if len(d.samples) == 0 {
		d.Policy = sides[1].policy // it says which candidates are read in full
		s, err := d.LookOrRead(ctx, "")
		if err != nil {
			return nil, err
		}
		d.samples = []foundSnapshot{{"this machine", func(context.Context) (*snapshot.Snapshot, []string, error) { return s, nil, nil }}}
	}
	b := comparison.New(sides[0].label(), sides[1].label(), sides[0].decides(), sides[1].decides())
	first, err := d.compareAll(ctx, b, sides, d.samples)
	if err != nil {
		return nil, err
	}
	explainSilent(ctx, b, sides[1], first)
	b.Require(sides[1].rules.Cfg.GivenLevels(), d.flags.require)
	return b.Document(d.flags.failOn), nil
}

// load finds and loads both versions.
func (d *difference) load(ctx context.Context, sides [2]*side) error {
	f, words := d.flags, []string{comparison.Base, comparison.Head}
	v := versions{ops: d.Ops, configFile: d.configFile, policy: d.policy, repo: f.repo, path: f.path}
	for i, of := range []struct {
		configFlag, config string
		levels             []string
	}{{"--config-base", f.configBase, nil}, {"--config-head", f.configHead, f.levels}} {
		if err := sides[i].load(ctx, v, d.names[i], of.configFlag, of.config, of.levels); err != nil {
			err = fmt.Errorf("%s:\n%w", words[i], err)
			if i == 1 && errors.As(err, new(policy.Refusals)) {
				return exit.Error{Code: bisectSkip, Err: err}
			}
			return err
		}
	}
	for i, s := range sides {
		// One configuration for both may name rules that only one of both has.
		var beside []*policy.Policy
		if f.configBase == f.configHead {
			beside = append(beside, sides[1-i].policy)
		}
		if err := s.check(ctx, d.Ops, beside...); err != nil {
			return fmt.Errorf("%s:\n%w", words[i], err)
		}
	}
	return nil
}

// endedIn is for how many candidates it is shown at which condition a silent rule ended.
const endedIn = 3

// explainSilent shows where rules of one's own that said nothing ended, for the first candidates of a snapshot that they could be about.
func explainSilent(ctx context.Context, b *comparison.Builder, head *side, s *snapshot.Snapshot) {
	silent := b.Silent()
	if s == nil || len(silent) == 0 {
		return
	}
	joined := subject.Join(s, &head.rules.Cfg.Rules.Config)
	explained := map[string]int{}
	for _, id := range ops.Ids(s) {
		sub, ok := joined.Subject(id)
		if !ok || explained[sub.Kind] == endedIn {
			continue
		}
		if x, err := head.engine.Explain(ctx, sub); err == nil { // else it is decided all the same
			explained[sub.Kind]++
			b.Ended(id, sub.Kind, &x)
		}
	}
}

// showDiffError shows why the policies of now cannot be compared; the next save is compared again.
func (a *app) showDiffError(err error) {
	var rs policy.Refusals
	if a.json() || !errors.As(err, &rs) {
		printError(a.errOut, err)
		return
	}
	a.refusalsText(a.out, rs, a.paint.Red)
	fmt.Fprintf(a.out, "not loaded: %s; nothing was decided\n", text.Plural(len(rs), "problem"))
}

func (a *app) writeDiff(doc *comparison.Document, f diffFlags) error {
	switch a.flags.format {
	case "json":
		return text.JSON(a.out, doc, "  ")
	case "markdown":
		return doc.WriteMarkdown(a.out)
	case formSARIF, formQuality:
		rules, found := doc.Findings()
		return a.findings("policy diff", rules, found)
	case formJUnit:
		return a.junit("winnow policy diff", doc.Suites())
	}
	return doc.WriteText(a.out, a.paint.Paint, f.all)
}

// load finds and loads one version. Its limits are those of the configuration in force, not its own: who brings policies that never end may
// bring a configuration that lets them.
func (s *side) load(ctx context.Context, v versions, name, flag, file string, levels []string) (err error) {
	if s.policyVersion, err = v.trees(ctx, name); err != nil {
		return err
	}
	cfg, err := v.config(ctx, flag, file)
	if err != nil {
		return err
	}
	if err := cfg.SetLevels(levels); err != nil {
		return err
	}
	cfg.Policy.Timeout, cfg.Policy.Memory = v.ops.Cfg.Policy.Timeout, v.ops.Cfg.Policy.Memory
	s.rules = ruleset.Set{Trees: s.trees, Cfg: cfg}
	if s.rules.Embedded() {
		// Decided in this process, beside the reading of other snapshots, whose memory would count.
		cfg.Policy.Memory = max(cfg.Policy.Memory, besideOthers)
	}
	s.engine, s.policy, err = s.rules.Load(ctx)
	return err
}

// check is ruleset.check of a side that was loaded, and has the exceptions of trusted repositories in force.
func (s *side) check(ctx context.Context, o *ops.Ops, beside ...*policy.Policy) error {
	if err := s.rules.Check(s.policy, beside...); err != nil {
		return err
	}
	o.Admit(ctx, s.engine, s.rules.Cfg)
	return nil
}

// besideOthers is by how much the heap may grow during one evaluation where other snapshots are read at the same time.
const besideOthers = 1 << 30

func (s *side) label() comparison.Side {
	out := comparison.Side{
		Name: s.name, Commit: s.commit, Policy: report.PolicyRef{Revision: s.policy.Revision, Digest: s.policy.Digest}, Config: s.rules.Cfg.File,
	}
	for _, t := range s.trees {
		if t.Name != ruleset.EmbeddedName && out.Folder == "" {
			out.Folder = t.Prefix
		}
	}
	return out
}

func (s *side) decides() comparison.Rules {
	out := comparison.Rules{Loaded: s.policy.Rules(), Levels: s.rules.Cfg.Rules.Levels, Shipped: map[string]bool{}}
	for _, f := range s.policy.Files {
		if f.Tree == ruleset.EmbeddedName {
			out.Shipped[f.Name] = true
		}
	}
	return out
}

// foundSnapshot is a snapshot to compare, by the name that it has in the output: read gives it, and the fields of it that are not known.
type foundSnapshot struct {
	name string
	read func(context.Context) (*snapshot.Snapshot, []string, error)
}

func fileSnapshot(path string) foundSnapshot {
	return foundSnapshot{path, func(ctx context.Context) (*snapshot.Snapshot, []string, error) { return saved.ReadLabelled(ctx, path) }}
}

// noSnapshot is something that stands in the place of a snapshot.
func noSnapshot(name, format string, args ...any) foundSnapshot {
	err := fmt.Errorf(format, args...)
	return foundSnapshot{name, func(context.Context) (*snapshot.Snapshot, []string, error) { return nil, nil, err }}
}

// maxSnapshots is how many snapshots are compared.
const maxSnapshots = 100_000

// snapshotFiles lists the snapshots that were named, sorted within each folder. A file of labels without its snapshot is among them, with
// what is wrong.
func snapshotFiles(named []string) (out []foundSnapshot, err error) {
	for _, name := range named {
		st, err := os.Stat(name)
		if err != nil {
			return nil, config.Mistakef("--snapshots: %v; name a snapshot or a folder of snapshots. Nothing was decided", err)
		}
		if !st.IsDir() {
			out = append(out, fileSnapshot(name))
			continue
		}
		in, err := snapshotsIn(name)
		if err != nil {
			return nil, fmt.Errorf("--snapshots %s: %w; nothing was decided", name, err)
		}
		if len(in) == 0 {
			return nil, config.Mistakef("--snapshots: %s holds no snapshot: no file that ends in .json or .json.gz. Nothing was decided", name)
		}
		out = append(out, in...)
	}
	if len(out) > maxSnapshots {
		return nil, config.Mistakef("--snapshots: %d snapshots, and %d are the most. Nothing was decided", len(out), maxSnapshots)
	}
	return out, nil
}

func snapshotsIn(folder string) (out []foundSnapshot, err error) {
	stems := map[string]bool{}
	var labels []string
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != folder && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		if stem, ok := strings.CutSuffix(path, saved.LabelsEnding); ok {
			labels = append(labels, stem)
			return nil
		}
		stem, ok := saved.Stem(path)
		if !ok {
			return nil
		}
		stems[stem] = true
		if d.Type().IsRegular() {
			out = append(out, fileSnapshot(path))
		} else {
			out = append(out, noSnapshot(path, "%s is not a regular file: put the snapshot itself there", path))
		}
		return nil
	})
	for _, stem := range labels {
		if !stems[stem] {
			out = append(out, noSnapshot(stem+saved.LabelsEnding, "there is no snapshot %s.json or %s.json.gz that these labels are of", stem, stem))
		}
	}
	return out, err
}

// compared is what became of one snapshot.
type compared struct {
	s          *snapshot.Snapshot
	unknown    []string
	head       []decision.Decision
	result     flips.Result
	unanswered []comparison.Unanswered
	err        error
}

// maxUnanswered is after how many snapshots in which policies came to no answer the rest is not decided: each costs as long as the limits let
// it.
const maxUnanswered = 3

// compareAll compares the snapshots, several at a time, and adds them in their order. A few are held in memory. It gives the first one that was compared.
func (d *difference) compareAll(ctx context.Context, b *comparison.Builder, sides [2]*side, found []foundSnapshot) (first *snapshot.Snapshot, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := max(1, min(runtime.GOMAXPROCS(0), len(found), 4))
	pending := make(chan chan compared, workers)
	go func() {
		defer close(pending)
		slots := make(chan struct{}, workers)
		for _, f := range found {
			done := make(chan compared, 1)
			select {
			case pending <- done:
			case <-ctx.Done():
				return
			}
			slots <- struct{}{}
			go func() {
				defer func() { <-slots }()
				done <- compareOne(ctx, sides, f)
			}()
		}
	}()
	warned, failing, i := map[string]bool{}, 0, 0
	excepted := !slices.Equal(excepting(sides[0]), excepting(sides[1]))
	for done := range pending {
		c := <-done
		if ctx.Err() != nil {
			return nil, fmt.Errorf("interrupted after %s of %d; nothing was changed", text.Plural(i, "snapshot"), len(found))
		}
		name := found[i].name
		i++
		for _, field := range c.unknown {
			if !warned[field] {
				warned[field] = true
				d.Log.Warn("unknown field in a snapshot, passed over", "file", name, "field", field)
			}
		}
		if c.err != nil {
			b.Broken(name, c.err)
			continue
		}
		if excepted && c.s.Redaction != nil {
			d.Note(redactedNames, text.Clean(name))
			excepted = false
		}
		first = cmp.Or(first, c.s)
		b.Count(c.head)
		b.Add(name, c.s.TakenAt, c.s.Host.Name, c.result, c.unanswered, func(id string) comparison.Explained { return explainBoth(ctx, sides, c.s, id) })
		if len(c.unanswered) > 0 {
			failing++
		}
		if failing == maxUnanswered && i < len(found) {
			b.Stop(fmt.Sprintf("stopped after %d of %d snapshots, since policies came to no answer in %d of them", i, len(found), failing))
			return first, nil
		}
	}
	return first, nil
}

// excepting is what the exceptions of one version match, wherever they stand.
func excepting(s *side) (out []subject.What) {
	for _, x := range s.policy.Exceptions() {
		out = append(out, x.What)
	}
	return out
}

// redactedNames is what a person has to know of exceptions and snapshots without names.
const redactedNames = "%s is redacted: an exception matches a name there only where the snapshot was written with that exception loaded, " +
	"since only then what it needs of names was kept; a snapshot with names shows what a new exception keeps"

// compareOne compares one snapshot.
func compareOne(ctx context.Context, sides [2]*side, f foundSnapshot) (out compared) {
	if out.s, out.unknown, out.err = f.read(ctx); out.err != nil {
		return out
	}
	var results [2]eval.Result
	for i, s := range sides {
		if results[i], out.err = s.engine.Decide(ctx, out.s, &s.rules.Cfg.Rules.Config); out.err != nil {
			return out
		}
	}
	out.head = results[1].Decisions
	for i, r := range results {
		for _, e := range r.Errors {
			out.unanswered = append(out.unanswered, comparison.Unanswered{In: []string{comparison.Base, comparison.Head}[i], ID: e.ID, Error: e.Err.Error()})
		}
	}
	out.result = flips.Compare(out.s, results[0].Decisions, results[1].Decisions)
	return out
}

// explainBoth explains one candidate by both. What cannot be explained is left out: the decision stands all the same.
func explainBoth(ctx context.Context, sides [2]*side, s *snapshot.Snapshot, id string) comparison.Explained {
	by := func(s2 *side) *explain.Explanation {
		sub, ok := subject.Join(s, &s2.rules.Cfg.Rules.Config).Subject(id)
		if !ok {
			return nil
		}
		x, err := s2.engine.Explain(ctx, sub)
		if err != nil {
			return nil
		}
		return &x
	}
	return comparison.Explained{Base: by(sides[0]), Head: by(sides[1])}
}
