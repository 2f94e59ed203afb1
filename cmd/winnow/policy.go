package main

import (
	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
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
			return config.Usagef("unknown command %q of winnow policy%s (see winnow policy --help)", given[0], spelling.Hint(given[0], names))
		},
	}
	cmd.AddCommand(
		newPolicyNew(a), newPolicyCheck(a), newPolicyTest(a), newPolicyFmt(a), newPolicyDiff(a), newPolicyReplay(a),
		newPolicyBundle(a), newPolicyVerify(a), newPolicyPull(a), newPolicySchema(a),
	)
	return cmd
}
