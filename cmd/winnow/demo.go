package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/demo"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newDemo(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Build a small made-up world, sweep it twice, and remove it",
		Long: `Demo builds a world of its own in a temporary folder: a tmux server on a private socket, a repository with worktrees, and a few
processes. It sweeps that world twice, shows it before and after, and removes it. Nothing outside of it is looked at as a
candidate, and nothing is left behind.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context()) },
	}
	a.forms(cmd, "text")
	return cmd
}

func (a *app) demo(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "winnow-demo-")
	if err != nil {
		return fmt.Errorf("make the demo's folder: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return fmt.Errorf("make the demo's folder: %w", err)
	}
	if _, err := safeopen.Folder(dir); err != nil {
		return errors.Join(fmt.Errorf("make the demo's folder: %w; nothing was made in it: set TMPDIR to a folder that no other user can change", err), os.Remove(dir))
	}
	w := &demo.World{Dir: dir, Out: a.out, Paint: a.paint.Paint}
	defer func() { err = errors.Join(err, w.Remove()) }()
	w.Title("1. A made-up world in " + text.Clean(dir))
	if err := w.Build(ctx); err != nil {
		return err
	}
	w.Show(ctx)

	cfg, err := w.Config()
	if err != nil {
		return err
	}
	demo := *a
	demo.Cfg = cfg
	// It acts on what it made, so that it does not wait and leaves nothing in the user's home.
	demo.Acting = lock.Acting{Name: filepath.Base(dir), Home: dir}
	e, p, err := demo.Engine(ctx)
	if err != nil {
		return err
	}
	s, err := demo.OpenSweeper(ctx, e, p, true, 0)
	if err != nil {
		return err
	}
	defer s.Close()
	f := sweep.Options{Apply: true, Show: sweep.Listing{Kinds: snapshot.KindNames(), All: true}}
	for i, title := range []string{
		"2. winnow sweep --apply: what a person may be looking at, and what runs, is only marked",
		"3. winnow sweep --apply again: seen twice, it goes",
	} {
		if i > 0 {
			if err := demo.wait(ctx, config.Seconds(cfg.Rules.ConfirmAfter)); err != nil {
				return err
			}
		}
		w.Title(title)
		r, err := s.Sweep(ctx, f)
		if err != nil {
			return err
		}
		if err := r.Write(demo.out, demo.paint.Paint, demo.flags.format, f.Show.All); err != nil {
			return err
		}
	}
	w.Title("4. What is left")
	w.Show(ctx)
	w.Title("5. The made-up world is removed")
	return nil
}
