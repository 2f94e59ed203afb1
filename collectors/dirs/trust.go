package dirs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/folder"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// trusted gives the real path of a folder whose children may be candidates. Everything on the way to it and it itself must belong to this
// user or to root, others may not be able to exchange what lies in it, and no link may lead to it but those that the machine has at
// its top, such as /home: a link in the place of a root would make the rules speak about folders that the configuration does not name.
func trusted(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := safeopen.Path(path)
	switch {
	case errors.Is(err, safeopen.ErrOwner), errors.Is(err, safeopen.ErrWritable):
		return "", fmt.Errorf("%w; nothing in it is looked at: Winnow reads only folders of this user that no other user can replace", err)
	case err != nil:
		return "", err
	}
	link, direct, err := linkTo(path)
	switch {
	case err != nil:
		return "", err
	case link != "":
		return "", fmt.Errorf("%s: %s %w; nothing was read through it; the real path is %s: write that in collect.dirs.roots",
			path, link, errLink, real)
	case direct != real:
		return "", fmt.Errorf("%s: %w", path, errExchanged)
	}
	again, err := safeopen.Folder(real)
	switch {
	case errors.Is(err, safeopen.ErrNotFolder):
		return "", fmt.Errorf("%w: %w", unix.ENOTDIR, err)
	case err != nil:
		return "", fmt.Errorf("%w; what lies in it is left out", err)
	case again != real:
		return "", fmt.Errorf("%s: %w", path, errExchanged)
	}
	return real, nil
}

var errLink = errors.New("is a symbolic link, and a root must not be reached through a link")

// linkTo is the first link on the way to folder, or folder itself, that is not the machine's own. Without such a link it is "", and real
// is folder with the machine's own links resolved.
func linkTo(folder string) (link, real string, err error) {
	real = "/"
	for name := range strings.SplitSeq(strings.Trim(folder, "/"), "/") {
		parent := real
		real = filepath.Join(real, name)
		var st unix.Stat_t
		if err := unix.Lstat(real, &st); err != nil {
			return "", "", &fs.PathError{Op: "look at", Path: real, Err: err}
		}
		if st.Mode&unix.S_IFMT != unix.S_IFLNK {
			continue
		}
		if st.Uid != 0 || !machines(parent) {
			return real, "", nil
		}
		if real, err = filepath.EvalSymlinks(real); err != nil {
			return "", "", err
		}
	}
	return "", real, nil
}

// machines reports whether only the machine's administrator makes entries in folder. Root makes entries everywhere, so for root it
// is only those at the top.
func machines(folder string) bool {
	var st unix.Stat_t
	if unix.Lstat(folder, &st) != nil || st.Uid != 0 || st.Mode&0o022 != 0 {
		return false
	}
	return os.Geteuid() != 0 || folder == "/" || filepath.Dir(folder) == "/"
}

// trust is what was found out about folders in one reading.
type trust struct {
	roots map[string]asked
	repos map[string]error
}

func newTrust() *trust { return &trust{roots: map[string]asked{}, repos: map[string]error{}} }

// root is trusted, asked once a folder.
func (t *trust) root(s *prober, path string) error {
	known, ok := t.roots[path]
	if !ok {
		known.id, known.err = ask(s, func(*git.Finder) (id folder.Stamp, err error) {
			real, err := trusted(path)
			if err == nil {
				id, err = folder.StampAt(unix.AT_FDCWD, real)
			}
			return id, err
		})
		t.roots[path] = known
	}
	return known.err
}

// asked is what came of asking about a folder: which one it is, or why it is not to be relied on.
type asked struct {
	id  folder.Stamp
	err error
}

// repository says why a checkout's git folders are not to be relied on: another user can write what they say.
func (t *trust) repository(s *prober, p git.Place) error {
	if err := t.folders(s, p); err != nil || p.Bare {
		return err
	}
	if err := checkOwner(s, filepath.Join(p.Path, ".git")); err != nil {
		return fmt.Errorf("what says where its repository is, is not this user's: %w: it is not relied on", err)
	}
	return nil
}

// folders is repository for the git folders alone.
func (t *trust) folders(s *prober, p git.Place) error {
	for _, folder := range []string{p.CommonDir, filepath.Dir(p.AdminDir)} {
		err, known := t.repos[folder]
		if !known {
			_, err = ask(s, func(*git.Finder) (string, error) { return safeopen.Folder(folder) })
			t.repos[folder] = err
		}
		if err != nil {
			return fmt.Errorf("its repository is not this user's: %w: what it says is not relied on", err)
		}
	}
	if err := checkOwner(s, p.AdminDir); err != nil {
		return fmt.Errorf("its repository is not this user's: %w: what it says is not relied on", err)
	}
	return nil
}

// checkOwner is safeopen.CheckOwner.
func checkOwner(s *prober, path string) error {
	_, err := ask(s, func(*git.Finder) (struct{}, error) { return struct{}{}, safeopen.CheckOwner(path) })
	return err
}

// Real gives the real path of what a record names, of which the last parts may be missing by now. A record has the path that its program
// worked with, so this user's own links are followed; another's link, and a folder that another can exchange, is an error.
func Real(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for at, rest := path, ""; ; at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest) {
		real, err := safeopen.Path(at)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !gone(err) || at == "/" {
			return "", err
		}
	}
}

// mutual reports whether a checkout's own .git leads back to the repository that names it, by the very entry that does.
func mutual(f *git.Finder, common, path string) bool {
	place, err := f.Locate(path)
	if err != nil || place.CommonDir != common {
		return false
	}
	return !place.Linked || f.Registered(place)
}

// inOwnRoots leaves out what lies in a folder that others can exchange, and says so. What is gone by now is left to the look.
func (l *look) inOwnRoots(list []found) []found {
	return slices.DeleteFunc(list, func(f found) bool {
		if l.prober.ctx.Err() != nil { // nothing more is read, and it is shown as unread
			return false
		}
		err := l.trust.root(l.prober, filepath.Dir(f.path))
		if err == nil || gone(err) {
			return false
		}
		l.refuse(f.path, err)
		l.dealt()
		return true
	})
}

func (l *look) refuse(path string, err error) {
	l.refused = append(l.refused, fmt.Sprintf("%s is no candidate: %v", path, err))
	l.o.Log.Warn("folder is no candidate", "path", path, "error", err)
}

// settle leaves out what was exchanged while it was read, and what is gone by now. A folder that is not the one that was looked at first was
// read in part from something else, and so was all that lies in a root that a link has taken the place of.
//
// Each root is held open meanwhile: by its path, a link could stand in its place for one of two questions and be gone for the other.
func (l *look) settle(ctx context.Context) {
	l.prober = newProber(context.WithoutCancel(ctx), l.o) // what was read is compared also when the time is over
	fresh := newTrust()
	held := map[string]int{}
	defer func() {
		for _, fd := range held {
			_ = unix.Close(fd)
		}
	}()
	l.candidates = slices.DeleteFunc(l.candidates, func(c *candidate) bool {
		if c.dir.Inode == nil || c.gone != nil {
			return false // nothing was read, or settleGone asks
		}
		root := filepath.Dir(c.dir.Path)
		err := fresh.root(l.prober, root)
		fd, open := held[root]
		if err == nil && !open {
			want := l.trust.roots[root].id
			if fd, err = ask(l.prober, func(*git.Finder) (int, error) { return hold(root, want) }); err == nil {
				held[root] = fd
			}
		}
		switch {
		case gone(err):
			return true
		case err != nil:
			l.refuse(c.dir.Path, err)
			return true
		}
		return l.exchanged(c, fd)
	})
}

// hold opens a root, which must still be the folder that was asked about, also when its path has changed by now.
func hold(root string, want folder.Stamp) (int, error) {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return -1, fmt.Errorf("%s: %w", root, errExchanged)
	}
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: root, Err: err}
	}
	if now, err := folder.StampAt(fd, ""); err != nil || now.Dev != want.Dev || now.Ino != want.Ino {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("%s: %w", root, errExchanged)
	}
	return fd, nil
}

// exchanged reports whether a candidate is another thing by now than what was read, in the root that is open as fd.
func (l *look) exchanged(c *candidate, fd int) bool {
	now, err := ask(l.prober, func(*git.Finder) (folder.Stamp, error) { return folder.StampAt(fd, filepath.Base(c.dir.Path)) })
	switch {
	case err == nil && now.Ino == *c.dir.Inode && now.Dev == *c.dir.Device && (c.dir.BornAt == nil || now.Born.Equal(*c.dir.BornAt)): // an inode is given again
		return false
	case err == nil:
		l.refuse(c.dir.Path, errExchanged)
	case !gone(err):
		c.fail(err)
		return false
	}
	return true
}

var errExchanged = errors.New("it was replaced while it was read; the next look reads it again")

// user names who uses a folder. What the kernel itself does has no process.
func user(h snapshot.Holder) string {
	if h.PID == 0 {
		return fmt.Sprintf("%s (%s)", h.Name, h.How)
	}
	return fmt.Sprintf("%s (%d)", h.Name, h.PID)
}
