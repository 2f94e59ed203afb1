package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/bundle"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/bundles"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/sys/foreign"
	"github.com/winnow-reaper/winnow/policies"
)

// engine loads the policies that the configuration names and prepares them. It asks no server: a bundle is the last good one.
func (a *ruleLoader) engine(ctx context.Context) (*eval.Engine, *policy.Policy, error) {
	return a.engineBy(ctx, bundles.Look{})
}

// engineBy is engine with bundles that are looked for as look says.
func (a *ruleLoader) engineBy(ctx context.Context, look bundles.Look) (*eval.Engine, *policy.Policy, error) {
	trees, err := a.trees(ctx)
	if err != nil {
		return nil, nil, err
	}
	var e *eval.Engine
	var p *policy.Policy
	if len(a.Cfg.Policy.Bundles) > 0 {
		e, p, err = a.publishedEngine(ctx, trees, look)
	} else {
		e, p, err = ruleset{trees: trees, cfg: a.Cfg, cache: a.prepared(look)}.engine(ctx)
	}
	if p != nil {
		a.policy = p
	}
	if err == nil {
		a.admit(ctx, e, a.Cfg)
	}
	return e, p, err
}

// close ends the process of an engine's policies, where they have one: in the daemon it would stay.
func (a *ruleLoader) close(e *eval.Engine) {
	if err := e.Close(); err != nil {
		a.Log.Debug("close the engine", "error", err)
	}
}

// configured is the ruleset that engine loads: the trees and the bundles that the configuration names. It asks no server.
func (a *ruleLoader) configured(ctx context.Context) (ruleset, error) {
	trees, err := a.trees(ctx)
	if err != nil {
		return ruleset{}, err
	}
	published, err := a.publishedTrees(ctx)
	if err != nil {
		return ruleset{}, err
	}
	return ruleset{trees: append(trees, published...), cfg: a.Cfg}, nil
}

// ruleset is what decides: policies, and the configuration that they read. Two of them can be compared.
type ruleset struct {
	trees []policy.Tree
	cfg   *config.Config
	// cache keeps what was prepared of them; nil keeps nothing.
	cache policy.Cache
}

// engine loads the policies of a ruleset, prepares them, and holds the configuration against them. The policy is also given where it is
// refused because of the configuration.
func (r ruleset) engine(ctx context.Context) (*eval.Engine, *policy.Policy, error) {
	e, p, err := r.load(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := r.check(p); err != nil {
		return nil, p, errors.Join(err, e.Close())
	}
	return e, p, nil
}

// load loads the policies of a ruleset and prepares them. What the operator brings is parsed and evaluated in a process of its own,
// which ends with this one; the embedded policies alone are evaluated here.
func (r ruleset) load(ctx context.Context) (*eval.Engine, *policy.Policy, error) {
	limits := eval.Limits{Timeout: r.cfg.Policy.Timeout, HeapBytes: r.cfg.Policy.Memory}
	if !r.embedded() {
		e, p, err := eval.Apart(ctx, policy.LoadOptions{Trees: r.trees, Cache: r.cache}, limits, eval.Self())
		return e, p, policyError(ctx, err)
	}
	p, err := policy.Load(ctx, policy.LoadOptions{Trees: r.trees, Prepared: policies.Prepared})
	if err != nil {
		return nil, nil, policyError(ctx, err)
	}
	e, err := eval.New(p, limits)
	if err != nil {
		return nil, nil, fmt.Errorf("prepare policies: %w", err)
	}
	return e, p, nil
}

// embedded reports whether the program brought all of it.
func (r ruleset) embedded() bool {
	return !slices.ContainsFunc(r.trees, func(t policy.Tree) bool { return t.Name != embeddedTree })
}

// check holds the layers of a ruleset against one another, and what they and the configuration say of rules against those that were loaded: levels,
// and parameters, which get their values here. The configuration takes the exceptions of the policies too. A rule of beside counts as loaded too: a
// configuration that is for two versions of the policies may name it.
func (r ruleset) check(p *policy.Policy, beside ...*policy.Policy) error {
	layers, err := r.layered(p)
	if err != nil {
		return err
	}
	if err := r.cfg.Stand(layers); err != nil {
		return err
	}
	rules, own := p.Rules(), p.Parameters()
	r.cfg.Rules.Exceptions = p.Exceptions()
	for _, other := range beside {
		maps.Copy(rules, other.Rules())
		for _, x := range other.Parameters() {
			if !slices.ContainsFunc(own, func(y policy.Parameter) bool { return x.Name == y.Name }) {
				own = append(own, x)
			}
		}
	}
	if err := r.cfg.CheckLevels(slices.Sorted(maps.Keys(rules))); err != nil {
		return err
	}
	return r.cfg.SetOwn(own)
}

// withOwn gives the parameters of one's own rules their values where nothing is judged. The embedded rules have none.
func (a *ruleLoader) withOwn(ctx context.Context) error {
	if len(a.Cfg.Policy.Paths)+len(a.Cfg.Policy.Bundles) == 0 {
		return a.Cfg.SetOwn(nil)
	}
	e, _, err := a.engine(ctx)
	if err != nil {
		return err
	}
	return e.Close()
}

// embeddedTree is the name of the policies that the program brings.
const embeddedTree = "embedded"

// trees are the embedded policies, the operator's folders, or both; bundles come beside them.
func (a *ruleLoader) trees(ctx context.Context) ([]policy.Tree, error) {
	var trees []policy.Tree
	if a.Cfg.Policy.Embedded {
		trees = append(trees, policy.Tree{Name: embeddedTree, FS: policies.Files})
	}
	for _, p := range a.Cfg.Policy.Paths {
		t, err := policyTree(ctx, p)
		if err != nil {
			return nil, config.Mistakef("--policy: %w", err)
		}
		trees = append(trees, t)
	}
	if len(trees)+len(a.Cfg.Policy.Bundles) == 0 {
		return nil, config.Mistakef("no policies: --no-embedded-policy leaves none; add --policy PATH")
	}
	return trees, nil
}

// policyTree is what a person names as policies: a folder, or a bundle. A bundle that is named like this is not verified: the person who names it
// vouches for it, as for a folder.
func policyTree(ctx context.Context, name string) (policy.Tree, error) {
	real, err := foreign.Folder(name)
	if errors.Is(err, foreign.ErrNotFolder) {
		return policyBundle(ctx, name)
	}
	if err != nil {
		return policy.Tree{}, fmt.Errorf("%s; give a folder of .rego files, or a bundle, that no other user can change. Nothing was decided", policyFolder(name, err))
	}
	return policy.Tree{Name: name, FS: policyFiles(ctx, real), Prefix: name}, nil
}

// policyFiles are the files of a folder of rules, by its real path: such that no other user can change.
func policyFiles(ctx context.Context, real string) fs.FS {
	return foreign.DirFS{Dir: real, Want: foreign.Want{Max: policy.MaxPolicyFile, Ruling: true}, Context: ctx, MaxEntries: policy.MaxPolicyEntries}
}

// policyBundle is a bundle as a tree of policies.
func policyBundle(ctx context.Context, name string) (policy.Tree, error) {
	_, err := foreign.Path(name)
	var f foreign.File
	if err == nil {
		f, err = foreign.Read(ctx, name, foreign.Want{Max: bundle.Max, Ruling: true})
	}
	if err != nil {
		return policy.Tree{}, fmt.Errorf("%w; give a folder of .rego files, or a bundle, that no other user can change. Nothing was decided", err)
	}
	b, err := bundle.Read(f.Data, nil)
	if err != nil {
		return policy.Tree{}, fmt.Errorf("%s is no bundle that can be used: %w. Nothing was decided", name, err)
	}
	return b.Tree(name, name), nil
}

// policyFolder says what is wrong with a folder, and of a link where it leads to.
func policyFolder(path string, err error) string {
	if target, e := filepath.EvalSymlinks(path); e == nil && errors.Is(err, foreign.ErrLink) {
		return fmt.Sprintf("%s is a symbolic link: give the folder itself, %s", path, target)
	}
	return err.Error()
}

// policyError: bad policies are wrong configuration, and nothing is decided by half of them. A loading that was interrupted says
// nothing of them.
func policyError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errors.New("interrupted while loading policies; nothing was looked at, decided or done")
	default:
		return config.Mistakef("policies refused, nothing was decided:\n%w", err)
	}
}

// judge looks at candidates again and decides again: the same collectors, the same policies, the same memory.
type judge struct {
	looker *looker
	engine *eval.Engine
	last   *snapshot.Snapshot
	memory memory
	// asked is what a person asked for this candidate, nil if no person asked for it.
	asked *snapshot.Asked
}

// Again implements actuators.Judge.
func (j *judge) Again(ctx context.Context, ds []decision.Decision) []actuators.Judgement {
	again, _ := j.again(ctx, ds)
	return again
}

// again is Again with the look that it rests on, which is nil where there was none.
func (j *judge) again(ctx context.Context, ds []decision.Decision) ([]actuators.Judgement, *snapshot.Snapshot) {
	if len(ds) == 0 {
		return nil, nil
	}
	return j.within(ctx, sources.ScopeOf(j.last, ds[0].ID, candidates(ds[1:])...), ds)
}

// within is again by a look of the given scope.
func (j *judge) within(ctx context.Context, sc sources.Scope, ds []decision.Decision) ([]actuators.Judgement, *snapshot.Snapshot) {
	out := make([]actuators.Judgement, len(ds))
	s, err := j.looker.look(ctx, sc, j.memory)
	var res eval.Result
	if err == nil {
		s.Asked = j.asked
		if res, err = j.engine.Decide(ctx, s, &j.looker.Cfg.Rules.Config); err != nil {
			err = fmt.Errorf("decide again: %w", err)
		}
	}
	if err != nil {
		for i := range out {
			out[i].Err = err
		}
		return out, s
	}
	decided, failed := make(map[string]decision.Decision, len(res.Decisions)), make(map[string]error, len(res.Errors))
	for _, d := range res.Decisions {
		decided[d.ID] = d
	}
	for _, f := range res.Errors {
		failed[f.ID] = f.Err
	}
	for i, d := range ds {
		again, known := decided[d.ID]
		_, there := s.Find(d.ID)
		switch {
		case !there:
			out[i].Err = unseen(s, sources.ScopeOf(j.last, d.ID).Source)
		case failed[d.ID] != nil:
			out[i].Err = fmt.Errorf("decide again: %w", failed[d.ID])
		case known:
			out[i].Decision = again
		default:
			out[i].Decision = decision.Decision{
				ID: d.ID, Kind: d.Kind, Verdict: decision.Spare, Label: d.Label,
				Objections: []decision.Reason{{Rule: "scope", Message: "no rule claims it now"}},
			}
		}
	}
	return out, s
}

// unseen says why it is not known whether a candidate of a source is gone that a look did not find; nil where it positively is.
func unseen(s *snapshot.Snapshot, source string) error {
	if src := s.Sources[source]; src.Status == snapshot.Failed || src.Status == "" {
		return fmt.Errorf("look again: %s could not be read: %s", source, src.Error)
	}
	return nil
}
