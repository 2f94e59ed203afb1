package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"winnow/engine"
	"winnow/engine/decision"
	"winnow/engine/snapshot"
	"winnow/policies"
)

// engine loads the policies that decide and prepares them.
func (a *app) engine(ctx context.Context) (*engine.Engine, *engine.Policy, error) {
	p, err := a.loadPolicies(ctx)
	if err != nil {
		return nil, nil, err
	}
	e, err := engine.New(p, engine.Limits{Timeout: a.cfg.Policy.Timeout, HeapBytes: a.cfg.Policy.Memory})
	if err != nil {
		return nil, nil, fmt.Errorf("prepare policies: %w", err)
	}
	return e, p, nil
}

// loadPolicies reads the embedded tree, the operator's folders, or both. Bad policies are wrong configuration: nothing is decided
// by half of them.
func (a *app) loadPolicies(ctx context.Context) (*engine.Policy, error) {
	var trees []engine.Tree
	if a.cfg.Policy.Embedded {
		trees = append(trees, engine.Tree{Name: "embedded", FS: policies.Files})
	}
	for _, p := range a.cfg.Policy.Paths {
		st, err := os.Stat(p)
		if err != nil {
			return nil, usagef("--policy: %v; give a folder of policies", err)
		}
		if !st.IsDir() {
			return nil, usagef("--policy: %s is no folder; this version reads folders of .rego files", p)
		}
		trees = append(trees, engine.Tree{Name: p, FS: os.DirFS(p), Prefix: p})
	}
	if len(trees) == 0 {
		return nil, usagef("no policies: --no-embedded-policy leaves none; add --policy FOLDER")
	}
	p, err := engine.Load(ctx, engine.LoadOptions{Trees: trees})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, usagef("read policies: %v", err)
	}
	if err != nil {
		return nil, usagef("policies refused, nothing was decided:\n%w", err)
	}
	return p, nil
}

// judge looks at one candidate again and decides again: the same collectors, the same policies, the same memory.
type judge struct {
	app    *app
	engine *engine.Engine
	last   *snapshot.Snapshot
	memory memory
}

// Again implements actuators.Judge.
func (j *judge) Again(ctx context.Context, d decision.Decision) (decision.Decision, error) {
	again, _, err := j.again(ctx, d)
	return again, err
}

// again is Again with the look that it rests on.
func (j *judge) again(ctx context.Context, d decision.Decision) (decision.Decision, *snapshot.Snapshot, error) {
	sc := scopeOf(j.last, d.ID)
	s, err := j.app.look(ctx, sc, j.memory)
	if err != nil {
		return decision.Decision{}, nil, err
	}
	_, there := candidate(s, d.ID)
	if !there {
		if src := s.Sources[sc.source]; src.Status == snapshot.Failed || src.Status == "" {
			return decision.Decision{}, s, fmt.Errorf("look again: %s could not be read: %s", sc.source, src.Error)
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
		Objections: []decision.Reason{{Rule: "scope", Message: "no policy claims it any more"}},
	}, nil
}

// candidate finds a candidate's source.
func candidate(s *snapshot.Snapshot, id string) (string, bool) {
	if c, ok := s.Sessions[id]; ok {
		return c.Source, true
	}
	if c, ok := s.Dirs[id]; ok {
		return c.Source, true
	}
	if _, ok := s.Processes[id]; ok {
		return snapshot.Proc, true
	}
	if c, ok := s.Tabs[id]; ok {
		return c.Source, true
	}
	if c, ok := s.Terminals[id]; ok {
		return c.Source, true
	}
	return "", false
}
