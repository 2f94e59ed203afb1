package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/winnow-reaper/winnow/engine/bundle"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/policyset"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/sys/duration"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
	"github.com/winnow-reaper/winnow/internal/text"
)

// span is a flag whose value is a duration, in days too, as in the configuration: 90s, 15m, 48h, 2d.
type span time.Duration

// Set implements pflag.Value.
func (s *span) Set(v string) error {
	d, err := duration.Parse(v)
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

// addShowFlags adds what sweep and decide share.
func addShowFlags(cmd *cobra.Command, f *sweep.Listing) {
	cmd.Flags().StringSliceVar(&f.Kinds, "kind", nil, "only these `kinds`: tab, session, terminal, dir, process")
	cmd.Flags().BoolVar(&f.All, "all", false, "also list what is spared, each with its main reason")
	cmd.Flags().BoolVar(&f.Explain, "explain", false, "say of each that is listed what would have to be otherwise for the other verdict; takes 10s at most")
	cmd.Flags().BoolVar(&f.ExitCode, "exit-code", false, "exit with 4 when something would go")
	addSelection(cmd, &f.Select)
}

// addSelection adds what leaves a part of a report.
func addSelection(cmd *cobra.Command, f *report.Selection) {
	cmd.Flags().StringVar(&f.Repository, "repo", "", "only what is in a repository or folder with this `part` in its path")
	cmd.Flags().StringVar(&f.Owner, "owner", "", "only what has an owner with this `part` in its name")
	cmd.Flags().Var((*span)(&f.Older), "older", "only that in which nothing has happened for so long")
	cmd.Flags().Func("larger", "only what frees at least this `size`, such as 500MB", func(v string) error {
		n, err := config.ParseSize(v)
		f.Larger = int64(n)
		return err
	})
	cmd.Flags().StringVar(&f.Sort, "sort", "", "an `order`: size (the largest first), age (the oldest first) or name")
	cmd.Flags().IntVar(&f.Limit, "limit", 0, "only the first `N`, those that go before those that wait or stay")
	must(cmd.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(report.Orders, cobra.ShellCompDirectiveNoFileComp)))
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

// envFlags sets each flag that was not given from its WINNOW_ variable.
func envFlags(fs *pflag.FlagSet) error {
	var err error
	fs.VisitAll(func(f *pflag.Flag) {
		val, ok := os.LookupEnv(config.EnvName(f.Name))
		if f.Changed || !ok || val == "" || f.Name == "help" || f.Name == "version" || err != nil {
			return
		}
		if e := fs.Set(f.Name, val); e != nil {
			err = config.Usagef("%s: %v", config.EnvName(f.Name), e)
		}
	})
	return err
}

func flagEnvNames(root *cobra.Command) []string {
	var names []string
	add := func(f *pflag.Flag) { names = append(names, config.EnvName(f.Name)) }
	root.PersistentFlags().VisitAll(add)
	var below func(*cobra.Command)
	below = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(add)
		for _, sub := range c.Commands() {
			below(sub)
		}
	}
	below(root)
	return names
}

// flagError adds the nearest flag to an unknown one.
func flagError(cmd *cobra.Command, err error) error {
	msg := err.Error()
	if name, ok := strings.CutPrefix(msg, "unknown flag: --"); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := spelling.Near(name, names); near != "" {
			return config.Usagef("unknown flag --%s; did you mean --%s? (see %s --help)", name, near, cmd.CommandPath())
		}
		return config.Usagef("unknown flag --%s (see %s --help)", name, cmd.CommandPath())
	}
	return config.Usagef("%s (see %s --help)", msg, cmd.CommandPath())
}

// checkArgs has every command below one refuse arguments that it does not take as wrong use. A command that says nothing of arguments takes none.
func checkArgs(above *cobra.Command) {
	for _, c := range above.Commands() {
		check := c.Args
		if check == nil {
			check = cobra.NoArgs
		}
		c.Args = func(cmd *cobra.Command, given []string) error {
			if err := check(cmd, given); err != nil {
				use := strings.TrimPrefix(strings.TrimSuffix(cmd.UseLine(), " [flags]"), cmd.Root().Name()+" ")
				return config.Usagef("%s: %v (see %s --help)", use, err, cmd.CommandPath())
			}
			return nil
		}
		checkArgs(c)
	}
}
