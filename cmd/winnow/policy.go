package main

import "github.com/spf13/cobra"

// newPolicy is the group of commands for people who write, review and ship policies.
func newPolicy(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Write, check, test, compare, replay and ship policies",
	}
	cmd.AddCommand(
		newPolicyNew(a), newPolicyCheck(a), newPolicyTest(a), newPolicyFmt(a), newPolicyDiff(a), newPolicyReplay(a),
		newPolicyBundle(a), newPolicyVerify(a), newPolicyPull(a), newPolicySchema(a),
	)
	return cmd
}
