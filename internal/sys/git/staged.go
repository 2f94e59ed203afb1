package git

import (
	"context"
	"errors"
	"fmt"

	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
)

// Staged counts the paths at which the worktree's index differs from its HEAD, unmerged ones among them. The worktree's folder itself is not
// looked at, so that it may be gone. A worktree without an index is an error.
func (r *Repository) Staged(ctx context.Context, git Program, w *Worktree) (n int, err error) {
	n, err = r.staged(ctx, git, w)
	if err != nil {
		return 0, fmt.Errorf("ask git what is staged: %w", err)
	}
	return n, nil
}

func (r *Repository) staged(ctx context.Context, git Program, w *Worktree) (n int, err error) {
	view, err := w.view()
	if err != nil {
		return 0, notRun(err)
	}
	if view.Index == nil || w.Head == "" {
		return 0, errors.New("its index or its commit is missing; git was not run")
	}
	if _, err := indexOf(view.Index, r.hashSize()); err != nil {
		if view.SharedName, view.Shared, err = w.shared(err); err != nil {
			return 0, notRun(err)
		}
	}
	view.Tree = "" // the question is about the index and the commit alone
	sealed, err := r.seal(ctx, git, view)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, sealed.Close()) }()
	// The commit's name at the end of the answer shows that git gave it.
	answered := false
	_, err = sealed.Run(ctx, gitsafe.Call{Args: []string{"rev-parse", "--verify", w.Head + "^{commit}"}, Until: '\n'}, func(line []byte) error {
		answered = string(line) == w.Head
		return nil
	})
	if err == nil && !answered {
		err = gitsafe.ErrAnswer
	}
	if err != nil {
		return 0, err
	}
	stderr, err := sealed.Run(ctx, gitsafe.Call{Args: []string{"diff-index", "--cached", "--name-only", "-z", "--no-renames", "--no-ext-diff",
		"--ignore-submodules=none", w.Head}}, func([]byte) error {
		n++
		return nil
	})
	if err == nil && stderr != "" {
		err = fmt.Errorf("git complained: %.200q", stderr)
	}
	return n, err
}
