package dirs

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/du"
	"github.com/winnow-reaper/winnow/internal/sys/folder"
)

// maxParts is how many folders of one worktree are candidates of their own.
const maxParts = 200

// trims says whether the folders in a worktree that can be made again may go by themselves: it is a linked worktree, it is old enough, and
// somebody wants it. What keeps it from going as a whole does not matter here.
func (l *look) trims(c *candidate) bool {
	return l.o.TrimAfter > 0 && !l.o.WholeOnly && c.place.Linked && c.gone == nil &&
		c.worktree != nil && !c.worktree.ActiveAt.IsZero() && l.o.Now().Sub(c.worktree.ActiveAt) >= l.o.TrimAfter
}

// parts are the folders in a worktree that git ignores as a whole and that can be made again, as candidates of their own.
type parts struct {
	of   *candidate
	list []*candidate
	tree du.Tree
}

// trim finds these folders in all worktrees that may be trimmed, the oldest first, and measures them. What was not measured in time is not
// known, and its worktree's other facts stand.
func (l *look) trim(ctx context.Context) {
	var all []parts
	for _, c := range l.candidates {
		if ctx.Err() != nil {
			return
		}
		// Right before something is done with it, a folder is given with all that speaks against it.
		unused := c.dir.HoldersKnown != nil && *c.dir.HoldersKnown && len(c.dir.Holders) == 0
		if l.o.TrimAfter > 0 && len(l.requested(c)) > 0 || len(l.o.Only) == 0 && unused && l.trims(c) {
			if p := l.partsOf(ctx, c); len(p.list) > 0 {
				all = append(all, p)
			}
		}
	}
	if len(all) == 0 {
		return
	}
	if len(l.o.Only) > 0 { // right before something is done with them their own users are asked for too
		l.alsoHeld(ctx, all)
	}
	slices.SortStableFunc(all, func(a, b parts) int { return a.of.workedAt().Compare(b.of.workedAt()) })
	own, cancel := context.WithDeadlineCause(ctx, reserve(ctx), errTimeout)
	defer cancel()
	var trees []du.Tree
	for _, p := range all {
		trees = append(trees, p.tree)
	}
	for i, u := range du.Measure(own, trees) {
		for _, c := range all[i].list {
			c.measured(u, all[i])
			l.candidates = append(l.candidates, c)
		}
	}
}

// requested are the paths in a worktree of the folders that are asked for and lie in it.
func (l *look) requested(c *candidate) []string {
	var out []string
	for _, path := range l.o.Only {
		if rel, in := strings.CutPrefix(filepath.Clean(path), c.dir.Path+"/"); in && c.gone == nil && !slices.Contains(out, rel) {
			out = append(out, rel)
		}
	}
	return out
}

// workedAt is when git was last used in a worktree, as far as its entry shows.
func (c *candidate) workedAt() time.Time {
	if c.worktree == nil {
		return time.Time{}
	}
	return c.worktree.ActiveAt
}

// partsOf lists a worktree's folders of that kind, with all that is known of them without looking into them.
func (l *look) partsOf(ctx context.Context, c *candidate) parts {
	p := parts{of: c, tree: du.Tree{Path: c.dir.Path, Parts: l.rebuildable(c)}}
	if len(p.tree.Parts) == 0 {
		return p
	}
	var tracked map[string]int
	var err error
	if c.worktree != nil {
		tracked, err = c.repo.Tracked(c.worktree, p.tree.Parts)
	}
	for _, rel := range p.tree.Parts {
		if part := l.inner(ctx, c, rel); part != nil {
			part.fail(err)
			if n, known := tracked[rel]; known {
				part.dir.Content.Tracked = new(n)
			}
			p.list = append(p.list, part)
		}
	}
	return p
}

// rebuildable are the paths of the folders in a worktree that git ignores as a whole and that can be made again, or of those that are asked
// for.
func (l *look) rebuildable(c *candidate) []string {
	if len(l.o.Only) > 0 {
		return l.requested(c)
	}
	var out []string
	for _, made := range c.made {
		if rel, folder := strings.CutSuffix(made, "/"); folder && filepath.IsLocal(rel) && len(out) < maxParts {
			out = append(out, rel)
		}
	}
	return out
}

// inner is one of these folders; nil where it is gone or a link.
func (l *look) inner(ctx context.Context, c *candidate, rel string) *candidate {
	path := filepath.Join(c.dir.Path, rel)
	d, _, err := stat(found{path: path, root: c.dir.Root})
	if gone(err) || err == nil && *d.Symlink {
		return nil
	}
	d.Source, d.Empty, d.Checkout = l.name, new(false), new(false)
	if l.mounts != nil {
		d.Mounts = new(l.mounts.count[path])
	}
	d.Holders, d.HoldersKnown, d.SharedOutside = c.dir.Holders, c.dir.HoldersKnown, c.dir.SharedOutside
	d.Content = &snapshot.Content{Worktree: c.dir.Path, ID: ID(c.dir.Path), Name: c.dir.Name}
	if c.worktree != nil {
		d.Content.Main, d.Content.Linked = c.repo.Main, new(c.place.Linked)
		d.Content.Registered, d.Content.Locked = c.worktree.Registered, c.worktree.Locked
		if g := c.dir.Git; g != nil && g.Locked != nil {
			d.Content.Locked = new(*g.Locked && !g.Lock.Void())
		}
	}
	if c.ignored != nil {
		d.Content.Ignored = new(slices.Contains(c.ignored, rel+"/"))
	}
	part := &candidate{dir: d, around: c}
	part.fail(err)
	top, err := folder.OpenAt(unix.AT_FDCWD, c.dir.Path)
	if err == nil {
		defer top.Close()
		if maker, unread := l.o.maker(ctx, top, rel+"/"); unread == nil {
			d.Content.Maker, d.Content.Pattern = &maker, maker
		}
	}
	if name, ok := patternOf(slices.Concat(l.o.Rebuildable, l.o.claimed()), rel); ok {
		d.Content.Pattern = name
	}
	return part
}

// alsoHeld adds those who use the folders themselves to those who use their worktrees. All are asked for at once.
func (l *look) alsoHeld(ctx context.Context, all []parts) {
	var paths []string
	var list []*candidate
	for _, p := range all {
		for _, c := range p.list {
			if c.dir.HoldersKnown != nil {
				paths, list = append(paths, c.dir.Path), append(list, c)
			}
		}
	}
	if l.o.Holders == nil || len(list) == 0 {
		return
	}
	held, known, err := l.o.Holders(ctx, paths)
	for _, c := range list {
		if err != nil {
			c.fail(fmt.Errorf("look for holders: %w", err))
			c.dir.Holders, c.dir.HoldersKnown = nil, nil
			continue
		}
		more := slices.Concat(c.dir.Holders, held[c.dir.Path])
		c.dir.Holders = nil
		c.dir.SetHolders(more, known && *c.dir.HoldersKnown)
	}
}

// measured writes what lies in the folder, and when anything in it or in its worktree changed last.
func (c *candidate) measured(u du.Usage, p parts) {
	rel, _ := filepath.Rel(p.of.dir.Path, c.dir.Path)
	i := slices.IndexFunc(u.Parts, func(part du.Part) bool { return part.Path == rel })
	if !u.Complete || i < 0 {
		c.fail(fmt.Errorf("what lies in it could not be read whole: %w", cmp.Or(u.Err, errTimeout)))
		return
	}
	part := u.Parts[i]
	c.dir.Content.Bytes, c.dir.Content.Others = new(part.Bytes), new(part.Others)
	inside := []string{}
	for _, at := range part.Stores {
		in, _ := filepath.Rel(rel, at)
		inside = append(inside, in)
	}
	c.dir.Nested = &inside
	if n := c.dir.Mounts; part.Mounts > 0 && (n == nil || *n < part.Mounts) {
		c.dir.Mounts = new(part.Mounts)
	}
	c.dir.ActiveAt = known(slices.MaxFunc([]time.Time{u.Newest, part.Newest, p.of.workedAt()}, time.Time.Compare))
}

// checkout reports whether a folder has a .git of any kind.
func checkout(path string) bool {
	_, err := os.Lstat(filepath.Join(path, ".git"))
	return err == nil
}

// around gives the folder directly below root that path is or lies in.
func around(root, path string) (string, bool) {
	rel, ok := strings.CutPrefix(path, strings.TrimSuffix(root, "/")+"/")
	if !ok {
		return "", false
	}
	first, _, _ := strings.Cut(rel, "/")
	return filepath.Join(root, first), first != ""
}
