package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"winnow/cmd/winnow/config"
	"winnow/cmd/winnow/sources"
	"winnow/engine/decision"
	"winnow/engine/eval"
	"winnow/engine/policy"
	"winnow/engine/snapshot"
	"winnow/internal/foreign"
	"winnow/policies"
)

// engine loads the policies that decide and prepares them. What the operator brings is parsed and evaluated in a process of its own,
// which ends with this one; the embedded policies alone are evaluated here.
func (a *app) engine(ctx context.Context) (*eval.Engine, *policy.Policy, error) {
	trees, err := a.trees(ctx)
	if err != nil {
		return nil, nil, err
	}
	limits := eval.Limits{Timeout: a.cfg.Policy.Timeout, HeapBytes: a.cfg.Policy.Memory}
	if len(a.cfg.Policy.Paths) > 0 {
		e, p, err := eval.Apart(ctx, policy.LoadOptions{Trees: trees}, limits, eval.Self())
		a.policy = p
		if err == nil {
			if err := a.checkRuled(p); err != nil {
				return nil, nil, errors.Join(err, e.Close())
			}
		}
		return e, p, policyError(ctx, err)
	}
	p, err := policy.Load(ctx, policy.LoadOptions{Trees: trees})
	if err != nil {
		return nil, nil, policyError(ctx, err)
	}
	if err := a.checkRuled(p); err != nil {
		return nil, nil, err
	}
	a.policy = p
	e, err := eval.New(p, limits)
	if err != nil {
		return nil, nil, fmt.Errorf("prepare policies: %w", err)
	}
	return e, p, nil
}

// checkRuled holds what the configuration says of rules against those that were loaded: levels, and parameters of one's own rules, which get
// their values here.
func (a *app) checkRuled(p *policy.Policy) error {
	if err := a.cfg.CheckLevels(slices.Sorted(maps.Keys(p.Rules()))); err != nil {
		return err
	}
	return a.cfg.SetOwn(p.Parameters())
}

// withOwn gives the parameters of one's own rules their values where nothing is judged. The embedded rules have none.
func (a *app) withOwn(ctx context.Context) error {
	if len(a.cfg.Policy.Paths) == 0 {
		return a.cfg.SetOwn(nil)
	}
	e, _, err := a.engine(ctx)
	if err != nil {
		return err
	}
	return e.Close()
}

// trees are the embedded policies, the operator's folders, or both.
func (a *app) trees(ctx context.Context) ([]policy.Tree, error) {
	var trees []policy.Tree
	if a.cfg.Policy.Embedded {
		trees = append(trees, policy.Tree{Name: "embedded", FS: policies.Files})
	}
	for _, p := range a.cfg.Policy.Paths {
		real, err := foreign.Folder(p)
		if err != nil {
			return nil, config.Mistakef("--policy: %s; give a folder of .rego files that no other user can change. Nothing was decided", policyFolder(p, err))
		}
		files := foreign.DirFS{Dir: real, Want: foreign.Want{Max: policy.MaxPolicyFile, Ruling: true}, Context: ctx, MaxEntries: policy.MaxPolicyEntries}
		trees = append(trees, policy.Tree{Name: p, FS: files, Prefix: p})
	}
	if len(trees) == 0 {
		return nil, config.Mistakef("no policies: --no-embedded-policy leaves none; add --policy FOLDER")
	}
	return trees, nil
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

// judge looks at one candidate again and decides again: the same collectors, the same policies, the same memory.
type judge struct {
	app    *app
	engine *eval.Engine
	last   *snapshot.Snapshot
	memory memory
	// asked is what a person asked for this candidate, nil if no person asked for it.
	asked *snapshot.Asked
}

// Again implements actuators.Judge.
func (j *judge) Again(ctx context.Context, d decision.Decision) (decision.Decision, error) {
	again, _, err := j.again(ctx, d)
	return again, err
}

// again is Again with the look that it rests on.
func (j *judge) again(ctx context.Context, d decision.Decision) (decision.Decision, *snapshot.Snapshot, error) {
	return j.within(ctx, sources.ScopeOf(j.last, d.ID), d)
}

// within is again by a look of the given scope.
func (j *judge) within(ctx context.Context, sc sources.Scope, d decision.Decision) (decision.Decision, *snapshot.Snapshot, error) {
	s, err := j.app.look(ctx, sc, j.memory)
	if err != nil {
		return decision.Decision{}, nil, err
	}
	s.Asked = j.asked
	_, there := s.Find(d.ID)
	if !there {
		if src := s.Sources[sc.Source]; src.Status == snapshot.Failed || src.Status == "" {
			return decision.Decision{}, s, fmt.Errorf("look again: %s could not be read: %s", sc.Source, src.Error)
		}
		return decision.Decision{}, s, nil
	}
	again, err := j.decide(ctx, s, d)
	return again, s, err
}

func (j *judge) decide(ctx context.Context, s *snapshot.Snapshot, d decision.Decision) (decision.Decision, error) {
	res, err := j.engine.Decide(ctx, s, &j.app.cfg.Rules.Config)
	if err != nil {
		return decision.Decision{}, fmt.Errorf("decide again: %w", err)
	}
	for _, f := range res.Errors {
		if f.ID == d.ID {
			return decision.Decision{}, fmt.Errorf("decide again: %w", f.Err)
		}
	}
	for _, again := range res.Decisions {
		if again.ID == d.ID {
			return again, nil
		}
	}
	return decision.Decision{
		ID: d.ID, Kind: d.Kind, Verdict: decision.Spare, Label: d.Label,
		Objections: []decision.Reason{{Rule: "scope", Message: "no rule claims it now"}},
	}, nil
}
