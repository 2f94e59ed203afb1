package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newSubjects(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "subjects [FILE]",
		Short: "Write exactly what the policies judge, one JSON line a candidate",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			s, err := a.LookOrRead(cmd.Context(), slices.Concat(files, []string{""})[0])
			if err != nil {
				return err
			}
			if err := a.WithOwn(cmd.Context()); err != nil {
				return err
			}
			joined := subject.Join(s, &a.Cfg.Rules.Config)
			var all []line
			for _, kind := range snapshot.KindNames() {
				for _, id := range joined.IDs(kind) {
					sub, ok := joined.Subject(id)
					if !ok {
						continue
					}
					if a.flags.format == "json" {
						all = append(all, line{id, sub})
					} else if err := text.JSON(a.out, line{id, sub}, ""); err != nil {
						return err
					}
				}
			}
			if a.flags.format == "json" {
				return list(a, "subjects", all, nil, nil)
			}
			return nil
		},
	}
}

// line is a candidate with what the policies judge.
type line struct {
	ID    string           `json:"id"`
	Input *subject.Subject `json:"input"`
}
