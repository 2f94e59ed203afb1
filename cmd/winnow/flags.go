package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/winnow-reaper/winnow/engine/bundle"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/policyset"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/text"
)

// span is a flag whose value is a duration, in days too, as in the configuration: 90s, 15m, 48h, 2d.
type span time.Duration

// Set implements pflag.Value.
func (s *span) Set(v string) error {
	d, err := config.Duration(v)
	if err != nil {
		return fmt.Errorf("%q is no duration: write 90s, 15m, 48h or 2d", v)
	}
	*s = span(d)
	return nil
}

// String implements pflag.Value; "" for a flag without a default.
func (s *span) String() string {
	if *s == 0 {
		return ""
	}
	return text.Span(time.Duration(*s))
}

// wire is the duration as the API takes it, "" where it is not given.
func (s span) wire() string {
	if s == 0 {
		return ""
	}
	return time.Duration(s).String()
}

// Type implements pflag.Value: the word that the help shows for a value.
func (s *span) Type() string { return "duration" }

// addShowFlags adds what sweep, decide and review share.
func addShowFlags(cmd *cobra.Command, f *sweep.Listing) {
	cmd.Flags().StringSliceVar(&f.Kinds, "kind", nil, "only these `kinds`: tab, session, terminal, dir, process")
	cmd.Flags().BoolVar(&f.All, "all", false, "also list what is spared, each with its main reason")
	cmd.Flags().BoolVar(&f.Explain, "explain", false, "say of each that is listed what would have to be otherwise for the other verdict; takes 10s at most")
	cmd.Flags().BoolVar(&f.ExitCode, "exit-code", false, "exit with 4 when something would be reaped")
}

// addSigning gives a command the flags that name a key, for signing or for verifying.
func addSigning(cmd *cobra.Command, f *policyset.Key, flag, what string) {
	f.Flag = flag
	cmd.Flags().StringVar(&f.File, flag, "", what)
	cmd.Flags().StringVar(&f.ID, "key-id", "", "`name` of the key, in the signature and in policy.bundles")
	cmd.Flags().StringVar(&f.Algorithm, "algorithm", bundle.Algorithms[0], "`algorithm` of the signature: "+strings.Join(bundle.Algorithms, ", "))
	cmd.Flags().StringVar(&f.Scope, "scope", "", "`word` that the signature says it is for")
	must(cmd.RegisterFlagCompletionFunc("algorithm", cobra.FixedCompletions(bundle.Algorithms, cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.MarkFlagFilename(flag, "pem"))
}
