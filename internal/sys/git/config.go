package git

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
)

// readConfig reads what a repository's configuration says of the repository itself and of its branches.
func readConfig(path string) (f gitsafe.Format, b follow, err error) {
	vars, err := gitsafe.ReadConfig(context.Background(), path)
	if err != nil {
		return f, b, err
	}
	if f, err = gitsafe.FormatOf(vars); err != nil {
		return f, b, fmt.Errorf("%q: %w", path, err)
	}
	return f, following(vars), nil
}

// mainOf is the path of the main checkout of a repository with this format, "" where it has none or this is unknown.
func mainOf(f gitsafe.Format, common string) string {
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
