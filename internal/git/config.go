package git

import (
	"context"
	"fmt"
	"path/filepath"

	"winnow/internal/gitcmd"
)

// readFormat reads what a repository's configuration says of the repository itself.
func readFormat(path string) (gitcmd.Format, error) {
	vars, err := gitcmd.ReadConfig(context.Background(), path)
	if err != nil {
		return gitcmd.Format{}, err
	}
	f, err := gitcmd.FormatOf(vars)
	if err != nil {
		return gitcmd.Format{}, fmt.Errorf("%q: %w", path, err)
	}
	return f, nil
}

// mainOf is the path of the main checkout of a repository with this format, "" where it has none or this is unknown.
func mainOf(f gitcmd.Format, common string) string {
	switch {
	case f.Bare:
		return ""
	case f.Worktree != "" && filepath.IsAbs(f.Worktree):
		return filepath.Clean(f.Worktree)
	case f.Worktree != "":
		return filepath.Join(common, f.Worktree)
	case filepath.Base(common) == ".git":
		return filepath.Dir(common)
	}
	return ""
}
