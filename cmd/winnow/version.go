package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	extension "github.com/winnow-reaper/winnow/editors/vscode"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/internal/version"
)

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "The version of the program, of OPA and of the policies here",
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, p, err := a.Engine(cmd.Context())
			if err != nil {
				return err
			}
			if err := e.Close(); err != nil {
				return err
			}
			v := version.Read()
			companion, err := extension.Version()
			if err != nil {
				return err
			}
			v.Companion = &version.Companion{Version: companion, SHA256: extension.Digest()}
			v.Policy = &version.Policy{Revision: p.Revision, Digest: p.Digest, Rules: len(p.Rules())}
			return a.show(v, nil, "  ", func(w io.Writer) {
				fmt.Fprintf(w, "winnow %s\n", text.Clean(v.String()))
				fmt.Fprintf(w, "policies %s, %s\n", strings.TrimSpace(text.Clean(p.Revision+" "+p.Digest)), text.Plural(v.Policy.Rules, "rule"))
				fmt.Fprintf(w, "companion in editors %s, sha256:%s\n", companion, v.Companion.SHA256)
			})
		},
	}
}
