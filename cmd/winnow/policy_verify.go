package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/internal/policyset"
)

func newPolicyVerify(a *app) *cobra.Command {
	var f policyset.Key
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Make sure that a bundle was signed with a key, and that it loads",
		Long: `Verify says whether the bundle in FILE was signed with the key that is named, for the scope that is named, over every file in it and
no other one, and whether winnow loads its policies. It exits with 0 when all of this is so, and with 1 when something is not.`,
		Example: `  winnow policy verify acme.tar.gz --verification-key acme.pem --key-id acme-2026 --algorithm ES256`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, given []string) error {
			out, err := policyset.Verify(cmd.Context(), &a.Ops, given[0], f)
			if err != nil {
				return err
			}
			return a.show(out, "  ", func(w io.Writer) { a.paint.VerifiedText(w, *out) })
		},
	}
	addSigning(cmd, &f, "verification-key", "`file` of the public key (PEM), or of the secret of an HS algorithm")
	return cmd
}
