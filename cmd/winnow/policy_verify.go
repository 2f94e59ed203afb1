package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/bundle"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/render"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/text"
)

// VerifiedBundle is what winnow policy verify prints as JSON.
type VerifiedBundle struct {
	File string `json:"file"`
	render.BundleContent
}

func newPolicyVerify(a *app) *cobra.Command {
	var f signingFlags
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Make sure that a bundle was signed with a key, and that it loads",
		Long: `Verify says whether the bundle in FILE was signed with the key that is named, for the scope that is named, over every file in it and
no other one, and whether winnow loads its policies. It exits with 0 when all of this is so, and with 1 when something is not.`,
		Example: `  winnow policy verify acme.tar.gz --verification-key acme.pem --key-id acme-2026 --algorithm ES256`,
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			return a.verifyBundle(cmd.Context(), given[0], f)
		},
	}
	f.add(cmd, "verification-key", "`file` of the public key (PEM), or of the secret of an HS algorithm")
	return cmd
}

func (a *app) verifyBundle(ctx context.Context, name string, f signingFlags) error {
	if err := f.check("verification-key"); err != nil {
		return err
	}
	file, err := config.Path(f.key)
	if err != nil {
		return config.Mistakef("--verification-key: %w; nothing was done", err)
	}
	v := bundle.Verification{KeyID: f.keyID, Algorithm: f.algorithm, Scope: f.scope}
	if v.Key, err = ruleset.ReadKey(ctx, file); err == nil {
		err = v.Check()
	}
	if err != nil {
		return config.Mistakef("--verification-key: %w; nothing was done", err)
	}
	packed, err := safeopen.Read(ctx, name, safeopen.Want{Max: bundle.Max})
	if err != nil {
		return config.Mistakef("%w; nothing was verified", err)
	}
	b, err := bundle.Read(packed.Data, &v)
	if err != nil {
		return fmt.Errorf("%s is not verified: %w", name, err)
	}
	rules, err := a.loads(ctx, b, name)
	if err != nil {
		return exit.Error{Code: 1, Err: fmt.Errorf("%s is signed with key %s, and does not load: %w", name, f.keyID, err)}
	}
	out := VerifiedBundle{File: name, BundleContent: contentOf(b, rules)}
	out.Algorithm, out.Scope = f.algorithm, f.scope
	return a.show(out, "  ", func(w io.Writer) {
		fmt.Fprintf(w, "%s: verified, and it loads: %s in %s\n", text.Clean(name), text.Plural(out.Rules, "rule"), text.Plural(out.Files, "file"))
		a.paint.BundleText(w, out.BundleContent, "")
	})
}
