package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/notify"
)

func newNotify(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notify",
		Short: "Try where the daemon tells of itself",
		Long:  `Notify is about what winnow run tells people by itself: on the desktop, and by webhooks (notify in config.yaml).`,
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "test",
		Short: "Send a test message to each place, and say what came of it",
		Long: `Test sends one message to each place that notify in config.yaml names, and says what came of it. It exits
with 3 where a place did not take it. The daemon need not run.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.notifyTest(cmd.Context()) },
	})
	return cmd
}

func (a *app) notifyTest(ctx context.Context) error {
	o := a.NotifyOptions()
	if len(o.Sinks) == 0 {
		return config.Usagef("notify names no place: set notify.desktop or notify.webhooks in config.yaml; nothing was sent")
	}
	results := notify.Test(ctx, o)
	err := list(a, "places", results, nil, func(w io.Writer) {
		for _, r := range results {
			if r.Error != "" {
				fmt.Fprintf(w, "not sent: %s: %s\n", r.Sink, r.Error)
				continue
			}
			fmt.Fprintf(w, "sent: %s\n", r.Sink)
		}
	})
	failed := slices.ContainsFunc(results, func(r notify.Result) bool { return r.Error != "" })
	return cmp.Or(err, exit.CodeIf(failed, exit.Part))
}
