package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"winnow/cmd/winnow/redact"

	"github.com/spf13/cobra"

	"winnow/cmd/winnow/config"
	"winnow/cmd/winnow/report"
	"winnow/cmd/winnow/text"
	"winnow/engine/snapshot"
	"winnow/engine/subject"
	"winnow/internal/outfile"
)

func newSnapshot(a *app) *cobra.Command {
	var file string
	var hide, argv bool
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "See only, and write the snapshot document",
		Long: `Snapshot looks at everything and writes what it found as one JSON document (docs/input.md). Of the environment only the
variables named in collect.processes.markers are in it, and no command lines unless --with-argv is given.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if hide && argv {
				return config.Mistakef("--redact and --with-argv contradict each other; choose one")
			}
			s, err := a.look(cmd.Context(), scope{argv: argv}, a.recall(cmd.Context()))
			if err != nil {
				return err
			}
			if hide {
				s = redact.Snapshot(s, a.cfg.Rules.HelperLabels)
			}
			if err := a.writeTo(cmd.Context(), file, func(w io.Writer) error { return text.JSON(w, s, "  ") }); err != nil {
				return err
			}
			return sourcesCode(s)
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "`file` to write to instead of stdout")
	cmd.Flags().BoolVar(&hide, "redact", false, "replace names of people, machines, paths and values by stand-ins that still match one another")
	cmd.Flags().BoolVar(&argv, "with-argv", false, "include command lines, which may hold secrets")
	return cmd
}

// sourcesCode is exit 3 when a source failed: the document was written all the same.
func sourcesCode(s *snapshot.Snapshot) error {
	for name, src := range s.Sources {
		if src.Status == snapshot.Failed {
			return codeError{report.ExitPart, fmt.Errorf("%s could not be read: %s; the rest was written", name, src.Error)}
		}
	}
	return nil
}

// writeTo writes to stdout or, whole or not at all, to a file.
func (a *app) writeTo(ctx context.Context, file string, write func(io.Writer) error) error {
	if file == "" || file == "-" {
		return write(a.out)
	}
	return outfile.Write(ctx, file, write)
}

func newSubjects(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "subjects [FILE]",
		Short: "Write exactly what the policies judge, one JSON line a candidate",
		Long: `Subjects writes {"id": ..., "input": {...}} for each candidate of a saved snapshot, or of a fresh look. Each input is what
the policies judge, and stock opa takes it:

  winnow subjects | jq -c .input | head -1 > subject.json
  opa eval -d policies -i subject.json data.policies.main.decision`,
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, files []string) error {
			s, err := a.lookOrRead(cmd.Context(), slices.Concat(files, []string{""})[0])
			if err != nil {
				return err
			}
			joined := subject.Join(s, &a.cfg.Rules.Config)
			for _, kind := range snapshot.KindNames() {
				for _, id := range joined.IDs(kind) {
					sub, ok := joined.Subject(id)
					if !ok {
						continue
					}
					err := text.JSON(a.out, struct {
						ID    string           `json:"id"`
						Input *subject.Subject `json:"input"`
					}{id, sub}, "")
					if err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
}

// lookOrRead gives a saved snapshot, or a fresh look where file is empty.
func (a *app) lookOrRead(ctx context.Context, file string) (*snapshot.Snapshot, error) {
	if file == "" {
		return a.look(ctx, scope{}, a.recall(ctx))
	}
	return a.readSnapshot(ctx, file)
}
