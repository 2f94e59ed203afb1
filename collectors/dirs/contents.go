package dirs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"winnow/collectors/dirs/git"
)

// maxNamed is how many ignored paths are named.
const maxNamed = 5

// contents asks git what lies in the folders that nothing cheaper keeps.
func (l *look) contents(ctx context.Context) {
	var asked sync.WaitGroup
	defer asked.Wait()
	for _, c := range l.candidates {
		if ctx.Err() != nil {
			c.fail(fmt.Errorf("read folder: not looked at whole: %w", ctx.Err()))
			continue
		}
		if c.dir.Skipped = l.skip(c); c.dir.Skipped != "" || c.worktree == nil || c.place.Bare {
			continue
		}
		select {
		case l.execs <- struct{}{}:
		case <-ctx.Done():
			c.fail(fmt.Errorf("read folder: not looked at whole: %w", ctx.Err()))
			continue
		}
		asked.Go(func() {
			defer func() { <-l.execs }()
			l.content(ctx, c)
		})
	}
}

// skip says what already keeps the candidate, so that git need not be asked about its content; "" when nothing does.
func (l *look) skip(c *candidate) string {
	d := c.dir
	switch {
	case d.Symlink != nil && *d.Symlink:
		return "it is a symbolic link: nothing is read through it"
	case c.worktree == nil || l.o.Full:
		return ""
	case c.place.Bare:
		return "it is a repository itself"
	case !c.place.Linked:
		return "it is a main checkout or a clone"
	case len(d.Holders) > 0:
		return "it is in use by " + user(d.Holders[0])
	case d.HoldersKnown == nil || !*d.HoldersKnown:
		return "it is not known who uses it"
	case d.Git.Locked == nil:
		return "it is not known whether it is locked"
	case *d.Git.Locked:
		return "it is locked"
	case d.ActiveAt == nil:
		return "its age is not known"
	case l.o.Now().Sub(*d.ActiveAt) < l.o.Grace:
		return "it changed within the last " + l.o.Grace.String()
	case d.Mounts == nil:
		return "the mounts in it are not known"
	case *d.Mounts > 0:
		return "something is mounted at or in it"
	case d.Git.Unreachable == nil:
		return "it is not known whether only it has some commits"
	case *d.Git.Unreachable > 0:
		return "it has commits that nothing else reaches"
	}
	return ""
}

// content fills what is known only from the worktree's files.
func (l *look) content(ctx context.Context, c *candidate) {
	answer, err := c.repo.Status(ctx, git.Program{Path: l.o.Git}, c.worktree)
	if err != nil {
		c.fail(err)
		return
	}
	g := c.dir.Git
	if answer.Hidden == nil {
		g.Dirty = new(answer.Dirty)
	} else {
		c.fail(answer.Hidden)
	}
	if answer.Gitlinks != nil {
		nested, err := l.nested(ctx, c, answer.Gitlinks)
		if err != nil {
			c.fail(err)
		} else {
			g.Nested = &nested
		}
	}
	g.Untracked = new(answer.Untracked)
	ignored := work(l.o.Rebuildable, answer.Ignored, g.Nested)
	g.Ignored = new(len(ignored))
	g.IgnoredPaths = slices.Clone(ignored[:min(len(ignored), maxNamed)])
}

// nested gathers the repositories inside: those that lie in it, the submodules that its index names, and those that git keeps in
// the admin folder.
func (l *look) nested(ctx context.Context, c *candidate, gitlinks []string) ([]string, error) {
	inside, err := git.Nested(ctx, c.dir.Path, l.mounts.below(c.dir.Path), git.Budget)
	if err != nil {
		return nil, err
	}
	modules, err := c.worktree.Modules(ctx)
	if err != nil {
		return nil, err
	}
	// Not slices.Concat, which gives nil, the word for unknown, where there is none.
	all := append(append(inside, gitlinks...), modules...)
	slices.Sort(all)
	return slices.Compact(all), nil
}

func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) }

func denied(err error) bool { return errors.Is(err, fs.ErrPermission) }
