package dirs

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/folder"
)

// Maker is a tool that makes folders of names that people use too, and what shows that it made one.
type Maker struct {
	Maker string
	// Names are names of such folders, as in Options.Rebuildable. No folder of such a name can be made again without a mark. A maker without
	// names takes none of them for itself, and its mark counts in a folder of any name.
	Names []string
	// Marks are globs over paths in the folder; * stands for part of a name, and one of them lies in it. A CACHEDIR.TAG counts by its first line.
	// Beside are globs over paths in the folder that holds it, and all of them lie there.
	Marks, Beside []string
}

// maxMarked is how many names of one folder are compared with the marks.
const maxMarked = 1000

// claimed are the names that people use too, so that no folder or file of one can be made again without a mark.
func (o Options) claimed() (names []string) {
	for _, m := range o.Makers {
		names = append(names, m.Names...)
	}
	return names
}

// maker says which tool makes again what git ignores at p, by its mark; p ends with a slash for a folder. It is "" where no tool is known to. What has
// a name that only a tool uses has that name for a mark. An error says that it is not known.
func (o Options) maker(ctx context.Context, top folder.Folder, p string) (string, error) {
	rel, isFolder := strings.CutSuffix(p, "/")
	if !rebuildable(o.claimed(), rel) {
		// A glob such as *.log is about files.
		if name, ok := patternOf(o.Rebuildable, rel); ok && !(isFolder && strings.HasPrefix(name, "*.")) {
			return path.Base(rel), nil
		}
	}
	if !isFolder {
		return "", nil
	}
	f, err := top.OpenBelow(rel, unix.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer f.Close()
	around, err := top.OpenBelow(path.Dir(rel), unix.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer around.Close()
	for _, m := range o.Makers {
		if len(m.Names) > 0 && !rebuildable(m.Names, rel) {
			continue
		}
		beside, err := countMarks(ctx, around, m.Beside)
		inside, unread := countMarks(ctx, f, m.Marks)
		if err = errors.Join(err, unread); err != nil || inside > 0 && beside == len(m.Beside) {
			return m.Maker, err
		}
	}
	return "", nil
}

// countMarks counts those of the marks that lie in a folder.
func countMarks(ctx context.Context, f folder.Folder, marks []string) (n int, err error) {
	for _, mark := range marks {
		found, unread := hasMark(ctx, f, mark)
		if err = errors.Join(err, unread); found {
			n++
		}
	}
	return n, err
}

// hasMark looks for one mark, through no link and on the folder's own mount.
func hasMark(ctx context.Context, f folder.Folder, mark string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, context.Cause(ctx)
	}
	name, rest, deeper := strings.Cut(mark, "/")
	names := []string{name}
	if strings.ContainsAny(name, `*?[\`) {
		all, err := f.Some(maxMarked)
		if err != nil {
			return false, err
		}
		names = slices.DeleteFunc(all, func(n string) bool { ok, err := path.Match(name, n); return err != nil || !ok })
	}
	for _, n := range names {
		if !deeper {
			if isMark(f, n) {
				return true, nil
			}
			continue
		}
		in, err := f.OpenBelow(n, unix.O_RDONLY)
		if err != nil {
			continue // a file, a link, or nothing
		}
		found, err := hasMark(ctx, in, rest)
		in.Close()
		if found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// isMark says whether a regular file or a folder has that name.
func isMark(f folder.Folder, name string) bool {
	if name == "CACHEDIR.TAG" {
		return f.Tagged()
	}
	var st unix.Stat_t
	err := unix.Fstatat(f.FD, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && (st.Mode&unix.S_IFMT == unix.S_IFREG || st.Mode&unix.S_IFMT == unix.S_IFDIR)
}

// remade are those of the ignored paths that tools make again; unmarked those of a name that people use too which are not, or of which that is not
// known.
func (l *look) remade(ctx context.Context, c *candidate, ignored []string) (made, unmarked []string) {
	top, err := folder.OpenAt(unix.AT_FDCWD, c.dir.Path)
	if err == nil {
		defer top.Close()
	}
	for _, p := range ignored {
		switch maker, err := l.o.maker(ctx, top, p); {
		case err == nil && (maker != "" || toolFile(l.o.ToolFiles, p)):
			made = append(made, p)
		case rebuildable(l.o.claimed(), p):
			unmarked = append(unmarked, p) // what is not known keeps
		}
	}
	return made, unmarked
}

// Parts says of the paths in a tree whether they may be what tools make again, by their names and by what must lie beside them.
func (o Options) Parts(ctx context.Context, tree string) func(rel string) bool {
	claimed := o.claimed()
	return func(rel string) bool {
		if !rebuildable(claimed, rel) {
			return rebuildable(o.Rebuildable, rel)
		}
		around, err := folder.OpenAt(unix.AT_FDCWD, filepath.Join(tree, filepath.Dir(rel)))
		if err != nil {
			return true
		}
		defer around.Close()
		return slices.ContainsFunc(o.Makers, func(m Maker) bool {
			beside, err := countMarks(ctx, around, m.Beside)
			return rebuildable(m.Names, rel) && (beside == len(m.Beside) || err != nil)
		})
	}
}

// rebuildable says whether an ignored path can be made again, by the list of names.
func rebuildable(names []string, ignored string) bool {
	_, ok := patternOf(names, ignored)
	return ok
}

// patternOf is the first of the names that an ignored path matches.
func patternOf(names []string, ignored string) (string, bool) {
	parts := strings.Split(strings.TrimSuffix(ignored, "/"), "/")
	for _, name := range names {
		depth := strings.Count(name, "/") + 1
		if depth > len(parts) {
			continue
		}
		tail := strings.Join(parts[len(parts)-depth:], "/")
		if ok, err := path.Match(name, tail); err == nil && ok {
			return name, true
		}
	}
	return "", false
}

// work tells the ignored paths that are work from those that tools make again. Work is also what they make, but which holds a repository, or
// may hold one. Nested is nil where it is not known.
func work(ignored, made []string, nested *[]string) (kept, rebuilt []string) {
	for _, p := range ignored {
		if !slices.Contains(made, p) || strings.HasSuffix(p, "/") && holdsRepository(p, nested) {
			kept = append(kept, p)
		} else {
			rebuilt = append(rebuilt, p)
		}
	}
	return kept, rebuilt
}

// toolFile says whether an untracked file is one that only a tool writes, or lies in such a folder. A path with a slash at its end is a
// repository of its own, and never one.
func toolFile(names []string, untracked string) bool {
	if strings.HasSuffix(untracked, "/") {
		return false
	}
	for at := range len(untracked) + 1 {
		if (at == len(untracked) || untracked[at] == '/') && rebuildable(names, untracked[:at]) {
			return true
		}
	}
	return false
}

func holdsRepository(folder string, nested *[]string) bool {
	return nested == nil || slices.ContainsFunc(*nested, func(n string) bool { return strings.HasPrefix(n+"/", folder) })
}
