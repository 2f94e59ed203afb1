package dirs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/folder"
	"github.com/winnow-reaper/winnow/internal/sys/git"
)

// What of one worktree is compared with the main checkout, at most: the size of one file and of all together, in bytes, and how many there are.
const (
	maxSame      = 1 << 20
	maxSameAll   = 64 << 20
	maxSameFiles = 1000
)

// twin is how a file in a worktree stands to that of the main checkout at the same path.
type twin int

const (
	unknownTwin twin = iota // it was not compared: no regular file, too large, or not to be read
	sameTwin                // byte for byte the same, here or in the upstream's tree, or a link to that very file
	otherTwin               // the main checkout has another one
	noTwin                  // the main checkout has nothing there
)

// twins compares what no commit of a worktree has with the main checkout and the upstream's tree.
type twins struct {
	tree, main folder.Folder
	kit        kit
	o          Options
	at, home   string // the worktree's path, and the main checkout's
	within     string // the worktree's path in the main checkout, where it lies in it; else ""
	left       int64
	files      int
}

// compared is what came of it, by path.
type compared struct{ same, differ, only []string }

// compare takes out of what git says those files that the main checkout has too, byte for byte at the same path, or that the upstream's tree has there,
// and links to what the main checkout has at the same path: nothing is lost with them. A folder that is ignored as a whole is taken out when all in it is, or is scaffold, or can be made again.
// Without a main checkout there is nothing to compare with.
func (l *look) compare(ctx context.Context, c *candidate, k kit, content *git.Content, made []string) (found compared) {
	if len(content.Untracked)+len(content.Ignored) == 0 || c.repo.Main == "" || c.repo.Main == c.dir.Path {
		return found
	}
	if !mutual(git.NewFinder(), c.place.CommonDir, c.repo.Main) {
		return found
	}
	t := twins{at: c.dir.Path, home: c.repo.Main, kit: k, o: l.o, left: maxSameAll, files: maxSameFiles}
	var err error
	if t.tree, err = folder.OpenAt(unix.AT_FDCWD, c.dir.Path); err != nil {
		return found
	}
	defer t.tree.Close()
	if t.main, err = folder.OpenAt(unix.AT_FDCWD, c.repo.Main); err != nil {
		return found
	}
	defer t.main.Close()
	if rel, err := filepath.Rel(c.repo.Main, c.dir.Path); err == nil && filepath.IsLocal(rel) {
		t.within = rel
	}
	kinds := map[string]twin{}
	var there []string // files that the upstream's tree may have
	for _, p := range slices.Concat(content.Untracked, content.Ignored) {
		if ctx.Err() != nil {
			return compared{}
		}
		if t.files <= 0 || k.made[p] {
			continue // a report is work until it is taken, with any content
		}
		if name, isFolder := strings.CutSuffix(p, "/"); isFolder {
			if !slices.Contains(made, p) {
				kinds[p] = t.wholeFolder(ctx, name)
			}
			continue
		}
		if kinds[p] = t.file(p); kinds[p] != sameTwin {
			there = append(there, p)
		}
	}
	for _, p := range l.upstreamHas(ctx, c, t.tree, there) {
		kinds[p] = sameTwin
	}
	drop := func(p string) bool {
		switch kinds[p] {
		case sameTwin:
			found.same = append(found.same, p)
			return true
		case otherTwin:
			found.differ = append(found.differ, p)
		case noTwin:
			found.only = append(found.only, p)
		}
		return false
	}
	content.Untracked = slices.DeleteFunc(content.Untracked, drop)
	content.Ignored = slices.DeleteFunc(content.Ignored, drop)
	return found
}

// upstreamHas gives those of the paths at which the upstream's tree has the very content that lies here.
func (l *look) upstreamHas(ctx context.Context, c *candidate, tree folder.Folder, paths []string) (same []string) {
	blobs, err := c.repo.UpstreamBlobs(ctx, git.Program{Path: l.o.Git}, paths[:min(len(paths), maxNamed)])
	if err != nil {
		l.o.Log.Debug("the upstream's tree was not compared", "path", c.dir.Path, "error", err)
	}
	for p, blob := range blobs {
		f, err := openBelow(tree, p)
		if err != nil {
			continue
		}
		if data, ok := f.read(); ok && c.repo.Blob(data) == blob {
			same = append(same, p)
		}
		f.Close()
	}
	return same
}

// file compares one file.
func (t *twins) file(p string) twin {
	t.files--
	ours, err := openBelow(t.tree, p)
	if errors.Is(err, unix.ELOOP) && t.link(p) {
		return sameTwin
	}
	if err != nil {
		return unknownTwin
	}
	defer ours.Close()
	if t.foreign(p) {
		return unknownTwin
	}
	theirs, err := openBelow(t.main, p)
	if errors.Is(err, unix.ENOENT) {
		return noTwin
	}
	if err != nil {
		return unknownTwin
	}
	defer theirs.Close()
	switch {
	case ours.size != theirs.size:
		return otherTwin
	case t.left < ours.size:
		return unknownTwin
	}
	t.left -= ours.size
	a, okA := ours.read()
	b, okB := theirs.read()
	switch {
	case !okA || !okB:
		return unknownTwin
	case bytes.Equal(a, b):
		return sameTwin
	}
	return otherTwin
}

// link says whether what lies at p is a symbolic link to what the main checkout has at that very path. It holds nothing of its own.
func (t *twins) link(p string) bool {
	in, err := t.tree.OpenBelow(path.Dir(p), unix.O_PATH)
	if err != nil {
		return false
	}
	defer in.Close()
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(in.FD, path.Base(p), buf)
	if err != nil || n == len(buf) {
		return false
	}
	target := string(buf[:n])
	if !filepath.IsAbs(target) {
		target = filepath.Join(t.at, path.Dir(p), target)
	}
	if filepath.Clean(target) != filepath.Join(t.home, p) || t.foreign(p) {
		return false
	}
	there, err := t.main.OpenBelow(path.Dir(p), unix.O_PATH) // through no link
	if err != nil {
		return false
	}
	defer there.Close()
	return isMark(there, path.Base(p))
}

// foreign says whether what the main checkout has at the path may go with some worktree: because it lies in this one, or in another repository or
// worktree in the main checkout.
func (t *twins) foreign(p string) bool {
	if t.within != "" && (p == t.within || strings.HasPrefix(p, t.within+"/")) {
		return true
	}
	for i, char := range p {
		if char != '/' {
			continue
		}
		var st unix.Stat_t
		if err := unix.Fstatat(t.main.FD, path.Join(p[:i], ".git"), &st, unix.AT_SYMLINK_NOFOLLOW); !errors.Is(err, unix.ENOENT) {
			return !errors.Is(err, unix.ENOTDIR)
		}
	}
	return false
}

// wholeFolder compares a folder that git ignores as a whole.
func (t *twins) wholeFolder(ctx context.Context, name string) twin {
	var st unix.Stat_t
	switch err := unix.Fstatat(t.main.FD, name, &st, unix.AT_SYMLINK_NOFOLLOW); {
	case t.folder(ctx, name):
		return sameTwin
	case errors.Is(err, unix.ENOENT):
		return noTwin
	}
	return unknownTwin
}

// folder says whether there is nothing in a folder that git ignores as a whole but what the main checkout has too, scaffold, and what can be made
// again.
func (t *twins) folder(ctx context.Context, name string) bool {
	f, err := t.tree.OpenBelow(name, unix.O_RDONLY)
	if err != nil {
		return false
	}
	defer f.Close()
	names, err := f.Names()
	if err != nil || len(names) > t.files || slices.Contains(names, ".git") {
		return false
	}
	for _, n := range names {
		var st unix.Stat_t
		if ctx.Err() != nil || unix.Fstatat(f.FD, n, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			return false
		}
		p := name + "/" + n
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFDIR:
			if t.files--; !t.madeAgain(ctx, p+"/") && !t.folder(ctx, p) {
				return false
			}
		case unix.S_IFREG:
			scaffold, report := t.kit.is(ctx, p)
			if report || !scaffold && !t.madeAgain(ctx, p) && t.file(p) != sameTwin {
				return false
			}
		case unix.S_IFLNK:
			if t.files--; !t.link(p) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// madeAgain says whether a tool makes again what lies at p.
func (t *twins) madeAgain(ctx context.Context, p string) bool {
	maker, err := t.o.maker(ctx, t.tree, p)
	return err == nil && maker != ""
}

// regular is an open regular file of at most maxSame bytes.
type regular struct {
	*os.File
	size int64
}

// openBelow opens the regular file at p below a folder, through no link and on the same mount.
func openBelow(top folder.Folder, p string) (regular, error) {
	in, err := top.OpenBelow(path.Dir(p), unix.O_PATH)
	if err != nil {
		return regular{}, err
	}
	defer in.Close()
	fd, err := unix.Openat(in.FD, path.Base(p), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return regular{}, err
	}
	f := os.NewFile(uintptr(fd), p)
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxSame) {
		err = errNotCompared
	}
	if err != nil {
		return regular{}, errors.Join(err, f.Close())
	}
	return regular{f, info.Size()}, nil
}

var errNotCompared = errors.New("no small regular file")

// read gives the whole content, and false where it is not all that it was when the file was opened.
func (r regular) read() ([]byte, bool) {
	data, err := io.ReadAll(io.LimitReader(r.File, maxSame+1))
	return data, err == nil && int64(len(data)) == r.size
}
