package main

import (
	"context"
	"fmt"
	"io"

	"winnow/cmd/winnow/redact"
	"winnow/cmd/winnow/sources"

	"github.com/spf13/cobra"

	"winnow/cmd/winnow/config"
	"winnow/cmd/winnow/report"
	"winnow/cmd/winnow/text"
	"winnow/engine/snapshot"
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
			s, err := a.look(cmd.Context(), sources.Scope{Argv: argv}, a.recall(cmd.Context()))
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
	if err := outfile.Write(ctx, file, write); err != nil {
		return fmt.Errorf("--output %s: %w", file, err)
	}
	return nil
}
