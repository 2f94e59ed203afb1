package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/cmd/winnow/comparison"
	"github.com/winnow-reaper/winnow/cmd/winnow/config"
	"github.com/winnow-reaper/winnow/cmd/winnow/report"
	"github.com/winnow-reaper/winnow/cmd/winnow/saved"
	"github.com/winnow-reaper/winnow/cmd/winnow/text"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/flips"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// diffFlags are the flags of winnow policy diff.
type diffFlags struct {
	snapshots              []string
	recorded               bool
	configBase, configHead string
	repo, path             string
	failOn                 string
	all                    bool
}

func newPolicyDiff(a *app) *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff [BASE HEAD] --snapshots FOLDER",
		Short: "What another version of the policies, or of their configuration, would decide otherwise",
		Long: `Diff decides every snapshot twice, by BASE and by HEAD, and prints the decisions that differ: what stays today and would go first, then
what goes today and would stay, then the same verdict for other reasons, by the rule that decided. It touches nothing else.

BASE and HEAD are each a folder of policies (./policies), a revision of the git repository (main, HEAD~1, main:policies), "embedded" for the
policies that Winnow brings, or "configured" for those that the configuration names, which both are where none is given. A folder is
judged on top of the embedded policies, unless --no-embedded-policy is given or it is a copy of them as winnow init makes one. Revisions are
read without a checkout: nothing of the repository is run.

Snapshots are files of winnow snapshot, also compressed with gzip; in a folder those that end in .json or .json.gz. A file
NAME.labels.yaml beside NAME.json, or "labels" in the snapshot itself, says what a person knows of candidates:

  labels:
    dir:/home/u/project-review-1a2b3c4d: dead
    process:812@93211: live

What is labelled as live and would go by HEAD alone always fails.

  winnow policy diff main ./policies --snapshots snapshots --fail-on new-reap
  winnow policy diff --config-head ./new.yaml --snapshots snapshots
  winnow policy diff main ./policies --recorded
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
	if len(f.snapshots) == 0 && !f.recorded {
		return config.Mistakef("--snapshots is missing: name a folder of snapshots, or a file; winnow snapshot --redact -o FILE makes one, and --recorded takes the sweeps that the ledger has recorded. Nothing was decided")
	}
	return nil
}

// side is one of both versions, ready to decide.
type side struct {
	version
	rules  ruleset
	engine *eval.Engine
	policy *policy.Policy
}

// bisectSkip is the exit code that has git bisect run pass over a commit.
const bisectSkip = 125

func (a *app) policyDiff(ctx context.Context, base, head string, f diffFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	found, err := snapshotFiles(f.snapshots)
	if err != nil {
		return err
	}
	if f.recorded {
		recorded, err := a.recordedSnapshots(ctx)
		if err != nil {
			return err
		}
		found = append(found, recorded...)
	}
	v := versions{app: a, repo: f.repo, path: f.path}
	sides := [2]*side{{}, {}}
	for i, of := range []struct{ name, configFlag, config string }{{base, "--config-base", f.configBase}, {head, "--config-head", f.configHead}} {
		s := sides[i]
		if err := s.load(ctx, v, of.name, of.configFlag, of.config); err != nil {
			err = fmt.Errorf("%s:\n%w", []string{"base", "head"}[i], err)
			if i == 1 && errors.As(err, new(policy.Refusals)) {
				return codeError{code: bisectSkip, err: err}
			}
			return err
		}
		defer func() { err = errors.Join(err, s.engine.Close()) }()
	}
	for i, s := range sides {
		// One configuration for both may name rules that only one of both has.
		var beside []*policy.Policy
		if f.configBase == f.configHead {
			beside = append(beside, sides[1-i].policy)
		}
		if err := s.check(ctx, a, beside...); err != nil {
			return fmt.Errorf("%s:\n%w", []string{"base", "head"}[i], err)
		}
	}
	pair := eval.NewPair(ctx, [2]*eval.Engine{sides[0].engine, sides[1].engine}, [2]*subject.Config{&sides[0].rules.cfg.Rules.Config, &sides[1].rules.cfg.Rules.Config})
	b := comparison.New(sides[0].named(), sides[1].named(), sides[0].decides(), sides[1].decides())
	if err := a.compareAll(ctx, b, sides, pair.Decide, found); err != nil {
		return err
	}
	doc := b.Document(f.failOn)
	if err := a.written(ctx, func(a *app) error { return a.writeDiff(doc, f) }); err != nil {
		return err
	}
	if len(doc.Failed) > 0 {
		return codeError{code: report.ExitFailed, err: fmt.Errorf("policy diff fails: %s", strings.Join(doc.Failed, "; "))}
	}
	return nil
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
func (s *side) load(ctx context.Context, v versions, name, flag, file string) (err error) {
	if s.version, err = v.trees(ctx, name); err != nil {
		return err
	}
	return s.prepare(ctx, v, flag, file)
}

// prepare loads the policies of a version that was found.
func (s *side) prepare(ctx context.Context, v versions, flag, file string) error {
	cfg, err := v.config(ctx, flag, file)
	if err != nil {
		return err
	}
	cfg.Policy.Timeout, cfg.Policy.Memory = v.app.cfg.Policy.Timeout, v.app.cfg.Policy.Memory
	s.rules = ruleset{trees: s.trees, cfg: cfg}
	if s.rules.embedded() {
		// Decided in this process, beside the reading of other snapshots, whose memory would count.
		cfg.Policy.Memory = max(cfg.Policy.Memory, besideOthers)
	}
	s.engine, s.policy, err = s.rules.load(ctx)
	return err
}

// check is ruleset.check of a side that was loaded, and lets the policies of trusted repositories object.
func (s *side) check(ctx context.Context, a *app, beside ...*policy.Policy) error {
	if err := s.rules.check(s.policy, beside...); err != nil {
		return err
	}
	a.admit(ctx, s.engine, s.rules.cfg)
	return nil
}

// besideOthers is by how much the heap may grow during one evaluation where other snapshots are read at the same time.
const besideOthers = 1 << 30

func (s *side) named() comparison.Side {
	out := comparison.Side{
		Name: s.name, Commit: s.commit, Policy: report.PolicyRef{Revision: s.policy.Revision, Digest: s.policy.Digest}, Config: s.rules.cfg.File,
	}
	for _, t := range s.trees {
		if t.Name != embeddedTree && out.Folder == "" {
			out.Folder = t.Prefix
		}
	}
	return out
}

func (s *side) decides() comparison.Rules {
	out := comparison.Rules{Loaded: s.policy.Rules(), Levels: s.rules.cfg.Rules.Levels, Shipped: map[string]bool{}}
	for _, f := range s.policy.Files {
		if f.Tree == embeddedTree {
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
	result     flips.Result
	unanswered []comparison.Unanswered
	err        error
}

// maxUnanswered is after how many snapshots in which policies came to no answer the rest is not decided: each costs as long as the limits let
// it.
const maxUnanswered = 3

// compareAll compares the snapshots, several at a time, and adds them in their order. A few are held in memory.
func (a *app) compareAll(ctx context.Context, b *comparison.Builder, sides [2]*side, decide bySides, found []foundSnapshot) error {
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
				done <- compareOne(ctx, decide, f)
			}()
		}
	}()
	warned, failing, i := map[string]bool{}, 0, 0
	excepted := !slices.Equal(excepting(sides[0]), excepting(sides[1]))
	for done := range pending {
		c := <-done
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted after %s of %d; nothing was changed", text.Plural(i, "snapshot"), len(found))
		}
		name := found[i].name
		i++
		for _, field := range c.unknown {
			if !warned[field] {
				warned[field] = true
				a.log.Warn("unknown field in a snapshot, passed over", "file", name, "field", field)
			}
		}
		if c.err != nil {
			b.Broken(name, c.err)
			continue
		}
		if excepted && c.s.Redaction != nil {
			a.note(redactedNames, text.Clean(name))
			excepted = false
		}
		b.Add(name, c.s.TakenAt, c.s.Host.Name, c.result, c.unanswered, func(id string) comparison.Explained { return explainBoth(ctx, sides, c.s, id) })
		if len(c.unanswered) > 0 {
			failing++
		}
		if failing == maxUnanswered && i < len(found) {
			b.Stop(fmt.Sprintf("stopped after %d of %d snapshots, since policies came to no answer in %d of them", i, len(found), failing))
			return nil
		}
	}
	return nil
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

// bySides decides a snapshot by both sides, in their order.
type bySides func(ctx context.Context, s *snapshot.Snapshot) ([2]eval.Result, error)

// compareOne compares one snapshot.
func compareOne(ctx context.Context, decide bySides, f foundSnapshot) (out compared) {
	if out.s, out.unknown, out.err = f.read(ctx); out.err != nil {
		return out
	}
	results, err := decide(ctx, out.s)
	if out.err = err; err != nil {
		return out
	}
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
		sub, ok := subject.Join(s, &s2.rules.cfg.Rules.Config).Subject(id)
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
