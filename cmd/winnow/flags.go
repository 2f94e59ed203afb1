package main

import (
	"errors"
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
			said := e.Error()
			if wrong := (*pflag.InvalidValueError)(nil); errors.As(e, &wrong) {
				said = wrongValue(wrong)
			}
			err = config.Usagef("%s: %s", config.EnvName(f.Name), said)
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

// flagError says what is wrong with a flag in words of our own: those of the packages below are for programmers.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var wrong *pflag.InvalidValueError
	said := "what stands before = is not the name of a flag"
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		said = "unknown flag -" + unknown.GetSpecifiedName()
	case errors.As(err, &unknown):
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		said = "unknown flag --" + unknown.GetSpecifiedName()
		if near := spelling.Near(unknown.GetSpecifiedName(), names); near != "" {
			said += "; did you mean --" + near + "?"
		}
	case errors.As(err, &missing):
		word, _ := pflag.UnquoteUsage(missing.GetFlag())
		said = "--" + missing.GetFlag().Name + " needs a " + word
	case errors.As(err, &wrong):
		said = "--" + wrong.GetFlag().Name + ": " + wrongValue(wrong)
	}
	return config.Usagef("%s (see %s --help)", said, cmd.CommandPath())
}

// wrongValue says what a flag takes in place of the value that it was given.
func wrongValue(err *pflag.InvalidValueError) string {
	wants := map[string]string{"bool": "neither true nor false", "int": "no whole number", "int64": "no whole number", "float64": "no number", "stringSlice": "no list of words with commas between"}
	if want := wants[err.GetFlag().Value.Type()]; want != "" {
		return fmt.Sprintf("%q is %s", err.GetValue(), want)
	}
	return err.Unwrap().Error()
}

// checkArgs has a command, and those below it, refuse arguments that it does not take as wrong use. A command that says nothing of arguments takes none.
func checkArgs(c *cobra.Command) {
	check := c.Args
	switch {
	case c.Name() == "help":
		check = knownCommand
	case check == nil:
		check = cobra.NoArgs
	}
	if !c.Runnable() && c.HasSubCommands() {
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	c.Args = func(cmd *cobra.Command, given []string) error {
		err := check(cmd, given)
		switch {
		case err == nil || errors.As(err, new(config.UsageError)):
			return err
		case cmd.HasSubCommands():
			return unknownCommand(cmd, given[0])
		}
		return config.Usagef("%s cannot run with %s; write: %s (see %s --help)", cmd.CommandPath(), text.Plural(len(given), "argument"),
			strings.TrimSuffix(cmd.UseLine(), " [flags]"), cmd.CommandPath())
	}
	for _, below := range c.Commands() {
		checkArgs(below)
	}
}

// knownCommand refuses the name of a command that is missing.
func knownCommand(help *cobra.Command, given []string) error {
	if above, rest, err := help.Root().Find(given); err != nil || len(rest) > 0 {
		return unknownCommand(above, rest[0])
	}
	return nil
}

// unknownCommand says that there is no command of this name below one, and which is the nearest.
func unknownCommand(above *cobra.Command, name string) error {
	names := text.Map(above.Commands(), func(c *cobra.Command) string { return c.Name() })
	return config.Usagef("unknown command %q of %s%s (see %s --help)", name, above.CommandPath(), spelling.Hint(name, names), above.CommandPath())
}
