package ops

import (
	"context"
	"fmt"
	"maps"
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

// NotFollowed says what to do with what lies in the place of the file.
func NotFollowed(main string) string {
	if old := project.NotFollowed(main); old != "" {
		return ". " + old
	}
	return ""
}

// CheckRules refuses to name a rule that does not exist: that line would do nothing.
func (o *Ops) CheckRules(ctx context.Context, file string, data []byte, says project.File) error {
	off := says.Off()
	named := slices.Clone(off)
	for _, k := range says.Protected {
		named = append(named, k.Rules...)
	}
	if len(named) == 0 {
		return nil
	}
	e, p, err := o.Engine(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	reaping := slices.DeleteFunc(slices.Collect(maps.Keys(p.Rules())), func(rule string) bool { return !decision.Reaps(rule) })
	for _, rule := range named {
		if slices.Contains(reaping, rule) {
			continue
		}
		key := "levels"
		if !slices.Contains(off, rule) {
			key = "protected"
		}
		wrong := strict.Problem{File: file, Key: key, Text: fmt.Sprintf("%s: unknown rule %q%s", key, rule, spelling.Hint(rule, reaping))}
		wrong.Line = strict.Line(data, wrong.Text, func(string) string { return "" })
		return config.Usagef("%w; nothing was trusted", wrong)
	}
	return nil
}

// MainCheckout is the real path of the main checkout of the repository that a folder lies in. A worktree's own copy of the project's file
// is never read: who works there can write it.
func MainCheckout(folder string) (string, error) {
	abs, err := filepath.Abs(folder)
	if err != nil {
		return "", config.Usagef("%s: %v", text.Quote(folder), err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", config.Usagef("%v; give a folder of a repository", err)
	}
	place, ok := git.NewFinder().Around(real)
	if !ok || place.CommonDir == "" {
		return "", config.Usagef("%s lies in no git repository; give a folder of one", abs)
	}
	main := filepath.Dir(place.CommonDir)
	if place.Bare || filepath.Base(place.CommonDir) != ".git" {
		return "", config.Usagef("the repository of %s has no main checkout with its own .git, and so no %s/%s to trust", abs, project.Folder, project.Name)
	}
	return main, nil
}
