package main

import (
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/render"
)

func newExplain(a *app) *cobra.Command {
	var file string
	var rules bool
	cmd := &cobra.Command{
		Use:         "explain ID",
		Annotations: reports,
		Short:       "Why one thing goes or stays, and what would change that",
		Args:        cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			id := ops.AbsoluteID(ids[0])
			here := func() (document.Explanation, error) { return a.Explain(cmd.Context(), id, file) }
			out, err := document.Explanation{}, error(nil)
			if file != "" {
				out, err = here()
			} else {
				out, err = viaDaemon(cmd.Context(), a, http.MethodGet, "/v1/explain", client.Params{Candidate: id}, here)
			}
			if err != nil {
				return err
			}
			return a.write(result{doc: out,
				markdown: func(w io.Writer) { render.ExplanationMarkdown(w, out) },
				text:     func(p render.Paint, w io.Writer) { p.Explanation(w, out, rules) }})
		},
	}
	cmd.Flags().BoolVar(&rules, "rules", false, "also each rule's place in the policies, its facts, and what would have to be different")
	cmd.Flags().StringVar(&file, "snapshot", "", "explain from a saved snapshot `file` instead of a fresh look")
	return cmd
}
