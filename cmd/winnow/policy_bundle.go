package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/internal/bundles"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/policyset"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newPolicyBundle(a *app) *cobra.Command {
	var f policyset.BundleOptions
	cmd := &cobra.Command{
		Use:   "bundle [FOLDER]",
		Short: "Make a bundle of policies that others can load",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, given []string) error {
			out, err := policyset.Bundle(cmd.Context(), &a.Ops, append(given, "")[0], f)
			return a.show(out, err, "  ", func(w io.Writer) { a.paint.BuiltText(w, *out) })
		},
	}
	cmd.Flags().StringVarP(&f.Out, "output", "o", "", "`file` to write")
	cmd.Flags().StringVar(&f.Revision, "revision", "", "what this version is `called`")
	cmd.Flags().Int64Var(&f.Serial, "serial", 0, "`number` that is greater than that of every earlier bundle")
	cmd.Flags().BoolVar(&f.Tests, "with-tests", false, "put the tests in as well")
	addSigning(cmd, &f.Key, "signing-key", "`file` of the private key (PEM), or of the secret of an HS algorithm")
	return cmd
}

func newPolicyVerify(a *app) *cobra.Command {
	var f policyset.Key
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Make sure that a bundle was signed with a key, and that it loads",
		Long: `Verify says whether the bundle in FILE was signed with the named key and scope, over all its files. It
also says whether winnow loads its policies. It exits with 0 when all of this is so, and with 1 when something is not.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, given []string) error {
			out, err := policyset.Verify(cmd.Context(), &a.Ops, given[0], f)
			return a.show(out, err, "  ", func(w io.Writer) { a.paint.VerifiedText(w, *out) })
		},
	}
	addSigning(cmd, &f, "verification-key", "`file` of the public key (PEM), or of the secret of an HS algorithm")
	return cmd
}

func newPolicyPull(a *app) *cobra.Command {
	var wait string
	cmd := &cobra.Command{
		Use:   "pull",
		Short: "Get the bundles that the configuration names, now",
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.pull(cmd.Context(), wait) },
	}
	cmd.Flags().StringVar(&wait, "wait", "", "let a server wait with its answer for so `long`, such as 5m; policy.polling.long_poll without it")
	return cmd
}

func (a *app) pull(ctx context.Context, wait string) error {
	if len(a.Cfg.Policy.Bundles) == 0 {
		return config.Usagef("policy.bundles names no bundle; nothing was done")
	}
	look := bundles.Look{Ask: true, Now: true, Wait: a.Cfg.Policy.Polling.LongPoll}
	if wait != "" {
		d, err := time.ParseDuration(wait)
		if err != nil || d < 0 {
			return config.Usagef("--wait: %q is no duration such as 5m; nothing was done", wait)
		}
		look.Wait = d
	}
	e, _, err := a.EngineBy(ctx, look)
	if err != nil {
		return err
	}
	if err := e.Close(); err != nil {
		return err
	}
	refs := a.BundleRefs()
	err = list(a, "bundles", refs, nil, func(w io.Writer) {
		for _, s := range a.Bundles {
			fmt.Fprintf(w, "%s: revision %s, since %s\n", text.Clean(s.Name), text.Clean(ruleset.RevisionText(s)), text.Time(s.ActivatedAt))
			if s.Problem != "" {
				a.paint.Indented(w, 2, text.Clean(ops.ProblemText(s)))
			}
		}
	})
	failed := slices.ContainsFunc(refs, func(r report.BundleRef) bool { return r.Problem != "" })
	return cmp.Or(err, exit.CodeIf(failed, exit.Part))
}
