package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/bundle"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/policyset"
	"github.com/winnow-reaper/winnow/internal/text"
)

// newPolicy is the group of commands for people who write, review and ship policies.
func newPolicy(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Write, check, test, compare, replay and ship policies",
		Args:  cobra.ArbitraryArgs, // cobra would print the help and exit with 0
		RunE: func(cmd *cobra.Command, given []string) error {
			if len(given) == 0 {
				return cmd.Help()
			}
			var names []string
			for _, c := range cmd.Commands() {
				names = append(names, c.Name())
			}
			return config.Mistakef("unknown command %q of winnow policy%s (see winnow policy --help)", given[0], text.Hint(given[0], names))
		},
	}
	cmd.AddCommand(
		newPolicyNew(a), newPolicyCheck(a), newPolicyTest(a), newPolicyFmt(a), newPolicyDiff(a), newPolicyReplay(a),
		newPolicyBundle(a), newPolicyVerify(a), newPolicyPull(a), newPolicySchema(a),
	)
	return cmd
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
