package main

import (
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
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newPolicyPull(a *app) *cobra.Command {
	var wait string
	cmd := &cobra.Command{
		Use:   "pull",
		Short: "Get the bundles that the configuration names, now",
		Long: `Pull asks for each bundle in policy.bundles at once, also when its server was asked a moment ago or does not answer, and makes a newer one
the one that decides. Without it a sweep asks, no more often than policy.polling says. It exits with 3 when a bundle was refused or could not
be got: the last good one goes on.

With --wait a server that knows OPA's long polling answers when there is a newer bundle, or when that time is over.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.pull(cmd.Context(), wait) },
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
	if err := list(a, refs, func(w io.Writer) {
		for _, s := range a.Bundles {
			fmt.Fprintf(w, "%s: revision %s, since %s\n", text.Clean(s.Name), text.Clean(ruleset.RevisionText(s)), text.Time(s.ActivatedAt))
			if s.Problem != "" {
				a.paint.Indented(w, 2, text.Clean(ops.ProblemText(s)))
			}
		}
	}); err != nil {
		return err
	}
	return exit.CodeIf(slices.ContainsFunc(refs, func(r report.BundleRef) bool { return r.Problem != "" }), exit.Part)
}
