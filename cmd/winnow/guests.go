package main

import (
	"context"
	"errors"

	"winnow/cmd/winnow/config"
	"winnow/cmd/winnow/project"
	"winnow/engine/eval"
	"winnow/engine/policy"
	"winnow/policies"
)

// admit lets the policies of trusted repositories object to what the engine decides. Where the list of these cannot be read, the look says so as a
// source that failed, and everything stays.
func (a *app) admit(ctx context.Context, e *eval.Engine) {
	trusted, err := a.store().All(ctx)
	if err != nil {
		a.log.Warn("the policies of trusted repositories were not read", "error", err)
		return
	}
	var guests []eval.Guest
	for _, t := range trusted {
		if len(t.Policies) > 0 {
			guests = append(guests, a.guest(t.Path, t.Policies))
		}
	}
	e.Admit(guests...)
}

// guest are the policies of a repository, by the path of its main checkout.
func (a *app) guest(main string, files []project.PolicyFile) eval.Guest {
	at := project.PoliciesFolder(main)
	return eval.Guest{
		Digest: project.PoliciesDigest(files), Tree: policy.Tree{Name: "repository:" + main, FS: project.PoliciesFS(files), Prefix: at},
		Base: []policy.Tree{{Name: embeddedTree, FS: policies.Files}}, Limits: a.limits(), Program: eval.Self(),
	}
}

// checkGuest refuses policies of a repository that would not load, or do more than keep.
func (a *app) checkGuest(ctx context.Context, main string, files []project.PolicyFile) error {
	if len(files) == 0 {
		return nil
	}
	_, err := eval.CheckGuest(ctx, a.guest(main, files))
	switch refused := (policy.Refusals)(nil); {
	case errors.As(err, &refused):
		return config.Mistakef("the repository's policies are refused; nothing was trusted:\n%w", refused)
	case err != nil:
		return config.Mistakef("the repository's policies: %w; nothing was trusted", err)
	}
	return nil
}
