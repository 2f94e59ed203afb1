package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/redact"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/sys/atomicfile"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newSnapshot(a *app) *cobra.Command {
	var file, key string
	var hide, argv bool
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "See only, and write the snapshot document",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if hide && argv {
				return config.Usagef("--redact and --with-argv contradict each other; choose one")
			}
			if key != "" && !hide {
				return config.Usagef("--redact-key needs --redact")
			}
			s, err := a.Look(cmd.Context(), sources.Scope{Argv: argv}, a.LoadPriorReadOnly(cmd.Context()))
			if err != nil {
				return err
			}
			if hide {
				if s, err = a.redacted(cmd.Context(), s, key); err != nil {
					return err
				}
			}
			write := func(w io.Writer) error { return text.JSON(w, s, a.indent()) }
			if file == "" || file == "-" {
				err = write(a.out)
			} else if err = atomicfile.Write(cmd.Context(), file, write); err != nil { // whole or not at all
				err = fmt.Errorf("--output %s: %w", file, err)
			}
			if err != nil {
				return err
			}
			for name, src := range s.Sources {
				if src.Status == snapshot.Failed { // the document was written all the same
					return exit.Error{Code: exit.Part, Err: fmt.Errorf("%s could not be read: %s; the rest was written", name, src.Error)}
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "`file` to write to instead of stdout")
	cmd.Flags().BoolVar(&hide, "redact", false, "replace names of people, machines, paths and values by stand-ins that still match one another")
	cmd.Flags().StringVar(&key, "redact-key", "", "`file` with 64 hexadecimal digits: documents that are redacted with the same key have the same stand-ins")
	cmd.Flags().BoolVar(&argv, "with-argv", false, "include command lines, which may hold secrets")
	return cmd
}

// redacted is a copy of a snapshot that can be shown to strangers, with the stand-ins of a key in a file, "" for a key that is thrown away.
func (a *app) redacted(ctx context.Context, s *snapshot.Snapshot, file string) (*snapshot.Snapshot, error) {
	var key []byte
	if file != "" {
		path, err := config.Path(file)
		if err == nil {
			key, err = sweep.ReadRedactionKey(ctx, path)
		}
		if err != nil {
			return nil, config.Usagef("--redact-key: %w; nothing was written", err)
		}
	}
	e, p, err := a.Engine(ctx)
	if err != nil {
		return nil, err
	}
	o, err := sweep.Redaction(a.Cfg, p, key)
	if err = errors.Join(err, e.Close()); err != nil {
		return nil, err
	}
	return redact.New(o).Snapshot(s), nil
}
