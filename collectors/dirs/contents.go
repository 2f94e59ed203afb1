package dirs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/folder"
	"github.com/winnow-reaper/winnow/internal/sys/git"
)

// maxNamed is how many paths of a kind are named.
const maxNamed = 100

// maxInside is how many entries of one plain folder are looked at. All those of a source together may have git.Budget.
const maxInside = 50_000

// manyInside is why a plain folder was not looked into to its end.
const manyInside = "there are more files in it, or in all such folders here, than one look reads"

// contents looks into the folders that nothing cheaper keeps: git is asked about worktrees, and plain folders are searched for
// repositories. Each has the timeout for itself, and what is slow makes room for the others, so that one that never answers costs that
// folder alone. What is not reached before the end of the source's own time is not read, alone as well.
func (l *look) contents(ctx context.Context, end time.Time, candidates []*candidate) {
	all, cancel := context.WithDeadlineCause(ctx, end, errNotReached)
	defer cancel()
	var asked sync.WaitGroup
	defer asked.Wait()
	for _, c := range candidates {
		if c.dir.Skipped = l.skip(c); c.dir.Skipped != "" || c.worktree == nil && !c.plain() && !c.lost() || c.place.Bare {
			l.dealt()
			continue
		}
		if c.gone != nil {
			asked.Go(func() {
				defer l.dealt()
				l.goneContents(all, c)
			})
			continue
		}
		known, mine := l.o.Cache.claim(c)
		if !mine {
			asked.Go(func() {
				defer l.dealt()
				l.found(ctx, c, known.wait(all))
			})
			continue
		}
		leave, err := l.o.Cache.limiter.enter(all)
		if err != nil {
			known.found.err = fmt.Errorf("read folder: %w", err)
			close(known.done)
			l.found(ctx, c, known.found)
			l.dealt()
			continue
		}
		asked.Go(func() {
			defer l.dealt()
			defer close(known.done)
			defer leave()
			until := slices.MinFunc([]time.Time{end, time.Now().Add(l.o.Timeout)}, time.Time.Compare)
			own, cancel := context.WithDeadlineCause(ctx, until, errTimeout)
			defer cancel()
			// What is left behind must not write into what is handed on.
			a, err := git.Await(own, func() contents { return l.content(own, c) })
			if err != nil {
				a.err = fmt.Errorf("read folder: %w", err)
			}
			known.found = a
			l.found(ctx, c, a)
		})
	}
}

// found writes what is known of a candidate's content into it.
func (l *look) found(ctx context.Context, c *candidate, a contents) {
	if c.worktree != nil {
		l.gitFails(ctx, a.err)
	}
	a.describe(l.o, c)
}

// plain says whether the candidate is positively no checkout, and holds something.
func (c *candidate) plain() bool {
	return c.dir.Checkout != nil && !*c.dir.Checkout && c.dir.Empty != nil && !*c.dir.Empty
}

// skip says what already keeps the candidate, so that nothing need look into it; "" when nothing does. Where the rules were asked, they have said so of
// all that is cheap to know, and what is left is who uses it.
func (l *look) skip(c *candidate) string {
	d, worktree := c.dir, c.worktree != nil
	if d.Symlink != nil && *d.Symlink {
		return "it is a symbolic link: nothing is read through it"
	}
	if l.o.Full {
		return ""
	}
	if why := l.decided(c).skip(l.trims(c)); why != "" {
		return why
	}
	switch {
	case !worktree && !c.plain():
		return ""
	case c.place.Bare:
		return "it is a repository itself"
	case worktree && !c.place.Linked:
		return "it is a main checkout or a clone"
	case !l.o.UsedToo && len(d.Holders) > 0:
		return "it is in use by " + user(d.Holders[0])
	case !l.o.UsedToo && (d.HoldersKnown == nil || !*d.HoldersKnown):
		return "it is not known who uses it"
	case l.o.Later && l.o.Cache.rules():
		return ""
	// What follows most rules keep: it is for a look that is not judged, or by rules that are not all known.
	case worktree && d.Git.Locked == nil:
		return "it is not known whether it is locked"
	case worktree && *d.Git.Locked && !d.Git.Lock.Void():
		return "it is locked"
	case !l.o.YoungToo && d.ActiveAt == nil:
		return "its age is not known"
	case !l.o.YoungToo && l.o.Now().Sub(*d.ActiveAt) < l.o.Grace:
		return "it changed within the last " + l.o.Grace.String()
	case d.Mounts == nil:
		return "the mounts in it are not known"
	case *d.Mounts > 0:
		return "something is mounted at or in it"
	case worktree && d.Git.Unreachable == nil:
		return "it is not known whether only it has some commits"
	case worktree && *d.Git.Unreachable > 0 && !l.trims(c):
		return "it has commits that nothing else reaches"
	}
	return ""
}

// contents is what is known only from a folder's files.
type contents struct {
	git.Content
	// scaffold is what tools made for themselves, which is taken out of Content; reports counts what is left in it.
	scaffold []string
	reports  int
	// written is what only a tool writes, of what git does not ignore. It is taken out of Content too.
	written []string
	// made are the ignored paths that tools make again, unmarked those of a name that people use too, in which no mark shows that a tool made them.
	made, unmarked []string
	// compared is what the main checkout has too, and what it has otherwise or not; only the first is taken out.
	compared
	nested    []string
	nestedErr error
	err       error
	// changed is when a file was last written in a worktree that is not listed any more.
	changed time.Time
}

// content looks into a worktree. First for what would hold git up, which is then not asked.
func (l *look) content(ctx context.Context, c *candidate) (answer contents) {
	if c.lost() {
		return l.lostContent(ctx, c)
	}
	budget := git.Budget
	if c.worktree == nil {
		budget = int(min(maxInside, l.left.Load()))
	}
	most := budget
	inside, err := git.Nested(ctx, c.dir.Path, l.mounts.listBelow(c.dir.Path), &budget)
	if c.worktree == nil {
		l.left.Add(int64(budget - most))
		answer.nested, answer.err = inside, err
		return answer
	}
	if errors.Is(err, git.ErrTrap) || ctx.Err() != nil {
		answer.err = errors.Join(err, context.Cause(ctx))
		return answer
	}
	kit := kitOf(l.o.Scaffold, c)
	if answer.Content, answer.err = c.repo.Status(ctx, git.Program{Path: l.o.Git}, c.worktree); answer.err != nil {
		return answer
	}
	answer.scaffold, answer.reports = kit.sort(ctx, &answer.Content)
	answer.Untracked = slices.DeleteFunc(answer.Untracked, func(p string) bool {
		_, report := kit.made[p]
		if report || !toolFile(l.o.ToolFiles, p) {
			return false
		}
		answer.written = append(answer.written, p)
		return true
	})
	answer.made, answer.unmarked = l.remade(ctx, c, answer.Ignored)
	answer.compared = l.compare(ctx, c, kit, &answer.Content, answer.made)
	if answer.Gitlinks == nil {
		return answer
	}
	if err == nil {
		answer.nested, err = l.nested(ctx, c, inside, answer.Gitlinks, budget)
	}
	answer.nestedErr = err
	return answer
}

// describe writes what was found into the snapshot's words.
func (a contents) describe(o Options, c *candidate) {
	switch {
	case c.worktree == nil && errors.Is(a.err, git.ErrMany):
		c.dir.Skipped = manyInside
		return
	case a.err != nil:
		c.fail(a.err)
		return
	case c.lost():
		g := c.dir.Git
		g.Dirty, g.Ignored, g.Nested = new(0), new(0), &a.nested
		g.Untracked, g.UntrackedPaths = new(len(a.Untracked)), new(firstOf(a.Untracked))
		if c.dir.ActiveAt != nil && a.changed.After(*c.dir.ActiveAt) {
			c.dir.ActiveAt = known(a.changed)
		}
		return
	case c.worktree == nil:
		c.dir.Nested = &a.nested
		return
	}
	g := c.dir.Git
	c.ignored, c.made = append([]string{}, a.Ignored...), a.made
	if a.Hidden == nil {
		g.Dirty = new(a.Dirty)
	} else {
		c.fail(a.Hidden)
	}
	c.fail(a.nestedErr)
	if a.nestedErr == nil && a.nested != nil {
		g.Nested = &a.nested
	}
	ignored, rebuilt := work(a.Ignored, a.made, g.Nested)
	same := slices.DeleteFunc(slices.Clone(a.same), func(p string) bool {
		held := strings.HasSuffix(p, "/") && holdsRepository(p, g.Nested)
		if held {
			ignored = append(ignored, p)
		}
		return held
	})
	out := slices.Concat(a.scaffold, same, rebuilt, a.written)
	g.Untracked, g.Ignored, g.LeftOut = new(len(a.Untracked)), new(len(ignored)), new(len(out))
	g.Scaffold, g.Reports, g.Same = new(len(a.scaffold)), new(a.reports), new(len(same))
	g.DifferingPaths, g.OnlyHerePaths = new(firstOf(notIn(a.differ, rebuilt))), new(firstOf(notIn(a.only, rebuilt)))
	g.UnmarkedPaths = new(firstOf(notIn(a.unmarked, same)))
	g.UntrackedPaths, g.IgnoredPaths, g.LeftOutPaths = new(firstOf(a.Untracked)), new(firstOf(ignored)), new(firstOf(out))
}

// notIn leaves out of paths those that are among others.
func notIn(paths, others []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return slices.Contains(others, p) })
}

// firstOf copies the first of many paths, so that the rest is let go.
func firstOf(paths []string) []string {
	return append([]string{}, paths[:min(len(paths), maxNamed)]...)
}

// nested gives the repositories that keep the checkout: those that lie in it, and the submodules that are filled, or
// whose git folders lie in the admin folder. It leaves out a submodule of a linked worktree that holds nothing but what its
// remotes have.
func (l *look) nested(ctx context.Context, c *candidate, inside, gitlinks []string, budget int) ([]string, error) {
	if !c.place.Linked {
		filled, err := git.Filled(c.dir.Path, gitlinks)
		all := append(inside, filled...)
		slices.Sort(all)
		return slices.Compact(all), err
	}
	work := func(path string, ignored []string) []string {
		made, _ := l.remade(ctx, &candidate{dir: snapshot.Dir{Path: path}}, ignored)
		return notIn(ignored, made)
	}
	s := git.Submodules{Git: git.Program{Path: l.o.Git}, Work: work, Budget: budget, Clean: map[string]string{}}
	s.Mounts = l.mounts.listBelow(c.dir.Path)
	return s.Judge(ctx, c.repo, c.worktree, inside, gitlinks)
}

func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) }

func denied(err error) bool { return errors.Is(err, fs.ErrPermission) }

// lost says whether the candidate is a worktree that its repository positively has no entry for any more (git worktree prune).
func (c *candidate) lost() bool { return c.place.Lost && c.repo != nil }

// lose notes what is known of it: without an entry there are no lock, no operation, and no commits that only it has.
func (c *candidate) lose(repo *git.Repository) {
	c.repo = repo
	g := c.dir.Git
	g.Lost, g.Locked, g.Unreachable, g.Operation = new(true), new(false), new(0), new("")
	g.Main, g.Upstream = repo.Main, repo.Upstream
}

// lostContent looks for files in such a worktree that the upstream does not have, nor had. They count as untracked.
func (l *look) lostContent(ctx context.Context, c *candidate) (a contents) {
	budget := git.Budget
	if a.nested, a.err = git.Nested(ctx, c.dir.Path, l.mounts.listBelow(c.dir.Path), &budget); a.err != nil {
		return a
	}
	top, err := folder.OpenAt(unix.AT_FDCWD, c.dir.Path)
	if a.err = err; err != nil {
		return a
	}
	defer top.Close()
	a.Untracked, a.changed, a.err = c.repo.Unlanded(ctx, git.Program{Path: l.o.Git}, c.dir.Path, func(rel string, isFolder bool) bool {
		if !isFolder {
			return rel == ".git" || toolFile(l.o.ToolFiles, rel)
		}
		maker, err := l.o.maker(ctx, top, rel+"/")
		return err == nil && maker != ""
	})
	return a
}
