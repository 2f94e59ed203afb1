package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/project"
	"github.com/winnow-reaper/winnow/policies"
)

// admit lets the policies of trusted repositories object to what the engine decides. Where the list of these cannot be read, the look says so as a
// source that failed, and everything stays.
// Their exceptions count as those of the configuration too, where a person asks why.
func (a *core) admit(ctx context.Context, e *eval.Engine, cfg *config.Config) {
	trusted, err := a.store().All(ctx)
	if err != nil {
		a.log.Warn("the policies of trusted repositories were not read", "error", err)
		return
	}
	var guests []eval.Guest
	for _, t := range trusted {
		if len(t.Policies) > 0 {
			g, err := a.guest(ctx, t.Path, t.Policies)
			if err != nil { // it was read when it was trusted: a newer Winnow asks more of it
				a.log.Warn("the policies of a trusted repository are refused, and all in it stays", "repository", t.Path, "error", err)
				continue
			}
			guests = append(guests, g)
		}
	}
	e.Admit(guests...)
	cfg.Rules.Exceptions = e.Exceptions()
}

// guest are the policies of a repository, by the path of its main checkout. What they bring is read here and not built.
func (a *core) guest(ctx context.Context, main string, files []project.PolicyFile) (eval.Guest, error) {
	g := eval.Guest{
		Digest: project.PoliciesDigest(files), Tree: policy.Tree{Name: "repository:" + main, FS: project.PoliciesFS(files), Prefix: project.PoliciesFolder(main)},
		Base: []policy.Tree{{Name: embeddedTree, FS: policies.Files}}, Limits: a.limits(), Program: eval.Self(),
		Mute: !slices.ContainsFunc(files, func(f project.PolicyFile) bool { return strings.HasSuffix(f.Path, ".rego") }),
	}
	read, err := policy.Read(ctx, policy.LoadOptions{Trees: []policy.Tree{g.Tree}})
	if err == nil {
		err = read.Err()
	}
	if err != nil {
		return g, err
	}
	for _, x := range read.Exceptions() {
		x.Within = g.Digest
		g.Exceptions = append(g.Exceptions, x)
	}
	return g, nil
}

// checkGuest refuses policies of a repository that would not load, or do more than keep.
func (a *core) checkGuest(ctx context.Context, main string, files []project.PolicyFile) error {
	if len(files) == 0 {
		return nil
	}
	g, err := a.guest(ctx, main, files)
	if err == nil {
		_, err = eval.CheckGuest(ctx, g)
	}
	switch refused := (policy.Refusals)(nil); {
	case errors.As(err, &refused):
		return config.Mistakef("the repository's policies are refused; nothing was trusted:\n%w", refused)
	case err != nil:
		return config.Mistakef("the repository's policies: %w; nothing was trusted", err)
	}
	return nil
}
