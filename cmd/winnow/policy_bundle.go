package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/internal/policyset"
)

func newPolicyBundle(a *app) *cobra.Command {
	var f policyset.BundleOptions
	cmd := &cobra.Command{
		Use:   "bundle [FOLDER]",
		Short: "Make a bundle of policies that others can load",
		Long: `Bundle packs the policies in FOLDER, or the embedded ones, into one file that winnow and opa load: OPA's own bundle, with a revision and,
where a key is named, a signature. It refuses what winnow would not load. The same files, revision and serial give the same bytes; a
signature with an ES or a PS algorithm has chance in it.

The revision is what --revision says, else what the manifest (FOLDER/.manifest) says, else the commit of the repository when all files
are as they are in it, else a digest of them. The serial is a number by which a machine refuses a bundle that is older than what ran before:
what --serial says, else metadata.winnow.serial of the manifest, else the time of that commit, else none.`,
		Example: `  winnow policy bundle rules -o acme.tar.gz --signing-key acme-private.pem --key-id acme-2026 --algorithm ES256
  opa inspect acme.tar.gz`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, given []string) error {
			out, err := policyset.Bundle(cmd.Context(), &a.Ops, append(given, "")[0], f)
			if err != nil {
				return err
			}
			return a.show(out, "  ", func(w io.Writer) { a.paint.BuiltText(w, *out) })
		},
	}
	cmd.Flags().StringVarP(&f.Out, "output", "o", "", "`file` to write")
	cmd.Flags().StringVar(&f.Revision, "revision", "", "what this version is `called`")
	cmd.Flags().Int64Var(&f.Serial, "serial", 0, "`number` that is greater than that of every earlier bundle")
	cmd.Flags().BoolVar(&f.Tests, "with-tests", false, "put the tests in as well")
	addSigning(cmd, &f.Key, "signing-key", "`file` of the private key (PEM), or of the secret of an HS algorithm")
	return cmd
}
