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
	defer func() {
		if err != nil {
			n, err = 0, fmt.Errorf("ask git what is staged: %w", err)
		}
	}()
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
	// The commit's name in the answer shows that git gave it.
	commit, err := sealed.Output(ctx, "", "rev-parse", "--verify", w.Head+"^{commit}")
	if err == nil && commit != w.Head+"\n" {
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
