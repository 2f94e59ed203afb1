package dirs

import (
	"context"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/folder"
)

// Maker is a tool that makes folders of names that people use too, and what shows that it made one.
type Maker struct {
	Name string
	// Names are names of such folders, as in Options.Rebuildable. A folder of such a name can be made again only where a mark lies in it.
	Names []string
	// Marks are globs over paths in the folder; * stands for part of a name. A CACHEDIR.TAG counts by its first line.
	Marks []string
}

// maxMarked is how many names of one folder are compared with the marks.
const maxMarked = 1000

// cacheTag is how a CACHEDIR.TAG begins (bford.info/cachedir).
const cacheTag = "Signature: 8a477f597d28d172789f06886806bc55"

// makersOf are the makers of folders called so.
func makersOf(makers []Maker, rel string) []Maker {
	return slices.DeleteFunc(slices.Clone(makers), func(m Maker) bool { return !rebuildable(m.Names, rel) })
}

// marked says whose mark lies in a folder that git ignores: "" where none does, and for what is no folder. A folder of a name that only a
// tool uses has its name for a mark. An error says that it is not known.
func marked(ctx context.Context, makers []Maker, top folder.Folder, rel string) (string, error) {
	rel = strings.TrimSuffix(rel, "/")
	asked := makersOf(makers, rel)
	if len(asked) == 0 {
		return path.Base(rel), nil
	}
	f, err := top.OpenBelow(rel, unix.O_RDONLY)
	if gone(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	for _, m := range asked {
		for _, mark := range m.Marks {
			found, err := hasMark(ctx, f, mark)
			if found || err != nil {
				return m.Name, err
			}
		}
	}
	return "", nil
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
	var st unix.Stat_t
	if unix.Fstatat(f.FD, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return false
	}
	if name != "CACHEDIR.TAG" {
		return st.Mode&unix.S_IFMT == unix.S_IFREG || st.Mode&unix.S_IFMT == unix.S_IFDIR
	}
	tag, err := openBelow(f, name)
	if err != nil {
		return false
	}
	defer tag.Close()
	head := make([]byte, len(cacheTag))
	n, _ := tag.ReadAt(head, 0)
	return string(head[:n]) == cacheTag
}

// unmarked are those of the ignored paths that have a name of what can be made again and no mark of a maker's, or of which that is not known.
func (l *look) unmarked(ctx context.Context, c *candidate, ignored []string) []string {
	var found []string
	top, err := folder.OpenAt(unix.AT_FDCWD, c.dir.Path)
	if err == nil {
		defer top.Close()
	}
	for _, p := range ignored {
		if !rebuildable(l.o.Rebuildable, p) || len(makersOf(l.o.Makers, p)) == 0 {
			continue
		}
		maker := ""
		if err == nil {
			maker, _ = marked(ctx, l.o.Makers, top, p) // what is not known keeps
		}
		if maker == "" {
			found = append(found, p)
		}
	}
	return found
}
