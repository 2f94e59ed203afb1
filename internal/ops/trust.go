package ops

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/project"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
	"github.com/winnow-reaper/winnow/internal/sys/strict"
	"github.com/winnow-reaper/winnow/internal/text"
)

// ExceptionsAlone says of exceptions that lie there without the file what to do.
func ExceptionsAlone(main string) string {
	if _, err := os.Lstat(filepath.Join(main, project.Folder, project.Exceptions)); err == nil {
		return ", and its exceptions are trusted together with that: write version: 1 into it"
	}
	if old := project.NotFollowed(main); old != "" {
		return ". " + old
	}
	return ""
}

// CheckRules refuses to turn off a rule that does not exist: that line would do nothing.
func (o *Ops) CheckRules(ctx context.Context, file string, data []byte, off []string) error {
	if len(off) == 0 {
		return nil
	}
	e, p, err := o.Engine(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	reaping := slices.DeleteFunc(slices.Collect(maps.Keys(p.Rules())), func(rule string) bool { return !decision.Reaps(rule) })
	for _, rule := range off {
		if !slices.Contains(reaping, rule) {
			wrong := strict.Problem{File: file, Key: "levels", Text: fmt.Sprintf("levels: unknown rule %q%s", rule, spelling.Hint(rule, reaping))}
			wrong.Line = strict.Line(data, wrong.Text, func(string) string { return "" })
			return config.Mistakef("%w; nothing was trusted", wrong)
		}
	}
	return nil
}

// MainCheckout is the real path of the main checkout of the repository that a folder lies in. A worktree's own copy of the project's file
// is never read: who works there can write it.
func MainCheckout(folder string) (string, error) {
	abs, err := filepath.Abs(folder)
	if err != nil {
		return "", config.Mistakef("%s: %v", text.Quote(folder), err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", config.Mistakef("%v; give a folder of a repository", err)
	}
	place, ok := git.NewFinder().Around(real)
	if !ok || place.CommonDir == "" {
		return "", config.Mistakef("%s lies in no git repository; give a folder of one", abs)
	}
	main := filepath.Dir(place.CommonDir)
	if place.Bare || filepath.Base(place.CommonDir) != ".git" {
		return "", config.Mistakef("the repository of %s has no main checkout with a .git of its own, so it has no %s/%s that could be trusted", abs, project.Folder, project.Name)
	}
	return main, nil
}
