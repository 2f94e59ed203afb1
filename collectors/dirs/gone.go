package dirs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/folder"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
)

// goneEntry is the entry of a worktree whose folder is positively gone, and the folder that the worktree lay in, at the time when both were
// first looked at.
type goneEntry struct {
	path, admin, common string
	entry, parent       folder.Stamp
}

// madeWith is how much younger than a worktree's entry the folder around the worktree may be: git makes the entry first, and then that folder
// where it is missing.
const madeWith = time.Minute

// vanished gives the worktrees whose folders are positively gone, of the entries that lead to nothing. It notes of the others why they are not
// candidates. others are the paths that the repository's other checkouts have: a folder that was moved by hand most likely lies beside them.
func (s *prober) vanished(common string, entries, others []string) (list []found) {
	var all []goneEntry
	for _, admin := range entries {
		g, err := ask(s, func(*git.Finder) (goneEntry, error) { return s.o.lookGone(common, admin) })
		if err == nil && (s.o.outside(g.path) || s.o.outside(admin)) {
			err = errOutside
		}
		switch {
		case err == nil:
			all = append(all, g)
		case g.path != "":
			s.notGone(g, err)
		}
	}
	if len(all) == 0 {
		return nil
	}
	led, err := s.leads(common, all, others)
	for _, g := range all {
		same := func(other goneEntry) bool { return other.path == g.path && other.admin != g.admin }
		switch at := led[g.admin]; {
		case err != nil:
			s.notGone(g, fmt.Errorf("whether its folder was only moved is not known: %w", err))
		case at != "":
			s.notGone(g, fmt.Errorf("%s belongs to it, so it was moved by hand; git -C %s worktree repair %s mends its entry", at, termsafe.Quote(common), termsafe.Quote(at)))
		case slices.ContainsFunc(all, same):
			s.notGone(g, errors.New("another entry names the same folder"))
		default:
			list = append(list, found{path: g.path, root: filepath.Dir(g.path), entry: g.admin, common: common})
		}
	}
	return list
}

var errOutside = errors.New("processes outside of this container may use it, and are not seen from here; run winnow on the host")

// notGone notes why an entry without a folder is not a candidate, and how a person removes it alone.
func (s *prober) notGone(g goneEntry, why error) {
	s.notes = append(s.notes, fmt.Sprintf("%s is no candidate: its folder is gone, and its entry %s is still there: %v; where the folder will not come back, git -C %s worktree remove %s removes that entry alone",
		g.path, g.admin, why, termsafe.Quote(g.common), termsafe.Quote(g.path)))
}

// lookGone makes sure that an entry's folder is positively gone. The folder around it must be there, reached without a link, on the very mount
// that the repository is on, and the one in which the worktree was: not younger than the worktree, and changed since. Its files lay on the same file
// system, by the index, and nothing that the machine mounts on the way there is missing. A mount point whose disk is away fails one of these. An error with a path says that this is not known; one without, that there is no such thing to tell of.
func (o Options) lookGone(common, admin string) (g goneEntry, err error) {
	path, err := git.EntryPath(admin)
	if err != nil || !filepath.IsAbs(path) || filepath.Dir(path) == "/" {
		return g, cmp.Or(err, fs.ErrInvalid)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return g, cmp.Or(err, fs.ErrExist)
	}
	around := filepath.Dir(path)
	if _, err := os.Lstat(around); err != nil {
		return g, err // a disk may not be mounted: so the entry is left out
	}
	g = goneEntry{path: path, admin: admin, common: common}
	if real, err := filepath.EvalSymlinks(around); err != nil || real != around {
		return g, cmp.Or(err, errors.New("a link leads to where it was"))
	}
	parent, err := folder.Open(around)
	if err != nil {
		return g, err
	}
	defer parent.Close()
	if g.parent, err = parent.Stamp(); err != nil {
		return g, err
	}
	if _, err := folder.StampAt(parent.FD, filepath.Base(path)); !errors.Is(err, unix.ENOENT) {
		return g, cmp.Or(err, errExchanged)
	}
	if g.entry, err = folder.StampAt(unix.AT_FDCWD, admin); err != nil {
		return g, err
	}
	home, err := folder.StampAt(unix.AT_FDCWD, common)
	if err != nil {
		return g, err
	}
	pointer, err := folder.StampAt(unix.AT_FDCWD, filepath.Join(admin, "gitdir"))
	if err != nil {
		return g, err
	}
	if err := g.lostHere(home, pointer); err != nil {
		return g, err
	}
	if err := g.sameDisk(); err != nil {
		return g, err
	}
	return g, o.allMounted(path)
}

// sameDisk says why the files of the worktree may have lain on another file system than the folder around it: whoever writes into an empty mount point changes that.
func (g goneEntry) sameDisk() error {
	devices, err := git.Devices(g.admin)
	if err != nil {
		return fmt.Errorf("on which disk its files lay is not known: %w", err)
	}
	if len(devices) == 0 {
		return errors.New("on which disk its files lay is not known: git noted it of no file")
	}
	here := []uint32{uint32(g.parent.Dev)}
	if index, err := folder.StampAt(unix.AT_FDCWD, filepath.Join(g.admin, "index")); err == nil {
		here = append(here, uint32(index.Dev)) // an overlay may give files another device than folders
	}
	for _, dev := range devices {
		if !slices.Contains(here, dev) {
			return errors.New("git noted its files on another disk (device) than the one that is there now; that may come back")
		}
	}
	return nil
}

// lostHere says why the folder may have been elsewhere than in the folder around its path as that is now.
func (g goneEntry) lostHere(home, pointer folder.Stamp) error {
	named := g.entry.Born // when the entry got the path that it has: git worktree move writes it again
	if pointer.Modified.After(named) {
		named = pointer.Modified
	}
	for _, s := range []folder.Stamp{g.parent, g.entry} {
		if s.Mount == 0 || s.Dev != home.Dev || s.Mount != home.Mount {
			return errors.New("it lay on another mount than its repository, and may come back with it")
		}
	}
	switch {
	case g.entry.Mode&unix.S_IFMT != unix.S_IFDIR || g.entry.MountRoot:
		return errors.New("its entry is not a folder of the repository")
	case g.entry.Born.IsZero() || g.parent.Born.IsZero():
		return errors.New("the file system keeps no times of birth, so whether a disk is missing is not known")
	case g.parent.Born.After(named.Add(madeWith)):
		return fmt.Errorf("%s is younger than it, so it lay in another folder of that name", filepath.Dir(g.path))
	case g.parent.Modified.Before(named):
		return fmt.Errorf("%s has not changed since it was made, so it lay on a disk that is not mounted now", filepath.Dir(g.path))
	}
	return nil
}

// leads looks in all folders in which checkouts of the repository are or were for one whose .git leads to one of these entries: it was moved
// by hand. It gives these by the entry. What cannot be read is an error.
func (s *prober) leads(common string, all []goneEntry, others []string) (map[string]string, error) {
	wanted, parents := map[string]bool{}, map[string]bool{filepath.Dir(common): true}
	for _, g := range all {
		wanted[g.admin], parents[filepath.Dir(g.path)] = true, true
	}
	for _, path := range others {
		parents[path], parents[filepath.Dir(path)] = true, true
	}
	led := map[string]string{}
	for parent := range parents {
		entries, err := ask(s, func(*git.Finder) ([]os.DirEntry, error) { return os.ReadDir(parent) })
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			at := filepath.Join(parent, e.Name())
			if !e.IsDir() || e.Name() == Trash || e.Name() == ".git" {
				continue
			}
			place, err := s.locate(at)
			if wanted[place.AdminDir] {
				led[place.AdminDir] = at
			} else if err != nil && place.AdminDir == "" && !errors.Is(err, git.ErrNone) && !denied(err) && !errors.Is(err, safeopen.ErrOwner) {
				return nil, err
			}
		}
	}
	return led, nil
}

// baseGone reads what is cheap to know of a worktree whose folder is gone: all of it is about its entry.
func (l *look) baseGone(f found, mounts error) {
	c := &candidate{dir: snapshot.Dir{Name: filepath.Base(f.path), Path: f.path, Root: f.root, Source: l.name}}
	l.candidates = append(l.candidates, c)
	g, err := ask(l.prober, func(*git.Finder) (goneEntry, error) { return l.o.lookGone(f.common, f.entry) })
	if err != nil {
		l.dealt()
		c.fail(fmt.Errorf("look whether it is gone: %w", err))
		return
	}
	c.gone = &g
	c.dir.Gone, c.dir.Symlink = new(true), new(false)
	c.dir.Device, c.dir.Inode, c.dir.UID = new(g.entry.Dev), new(g.entry.Ino), new(g.entry.UID)
	c.dir.BornAt, c.dir.ModifiedAt, c.dir.ActiveAt = known(g.entry.Born), known(g.entry.Modified), known(g.entry.Modified)
	c.dir.MountID = new(g.entry.Mount)
	if l.mounts != nil {
		c.dir.Mounts = new(l.mounts.count[f.path] + l.mounts.count[f.entry])
	}
	c.fail(mounts)
	place := git.Place{Path: f.path, AdminDir: f.entry, CommonDir: f.common, Linked: true}
	if err := l.trust.folders(l.prober, place); err != nil {
		c.dir.Git = located(place)
		c.fail(err)
		return
	}
	c.place = place
}

// goneContents finds out what the entry of a worktree whose folder is gone holds: what is staged, and submodules' repositories.
func (l *look) goneContents(ctx context.Context, c *candidate) {
	leave, err := l.o.Cache.limiter.enter(ctx)
	if err != nil {
		c.fail(fmt.Errorf("read its entry: %w", err))
		return
	}
	defer leave()
	own, cancel := context.WithTimeoutCause(ctx, l.o.Timeout, errTimeout)
	defer cancel()
	type answer struct {
		staged  int
		modules []string
		errs    [2]error
	}
	a, err := git.Await(own, func() (a answer) {
		a.staged, a.errs[0] = c.repo.Staged(own, git.Program{Path: l.o.Git}, c.worktree)
		a.modules, a.errs[1] = c.worktree.Modules(own)
		return a
	})
	if err != nil {
		c.fail(fmt.Errorf("read its entry: %w", err))
		return
	}
	l.gitFails(ctx, a.errs[0])
	c.fail(errors.Join(a.errs[:]...))
	if a.errs[0] == nil {
		c.dir.Git.Staged = new(a.staged)
	}
	if a.errs[1] == nil {
		c.dir.Git.Nested = new(append([]string{}, a.modules...))
	}
}

// settleGone leaves out what is not gone any more, and entries that were exchanged while they were read.
func (l *look) settleGone() {
	l.candidates = slices.DeleteFunc(l.candidates, func(c *candidate) bool {
		if c.gone == nil {
			return false
		}
		now, err := ask(l.prober, func(*git.Finder) (goneEntry, error) { return l.o.lookGone(c.gone.common, c.gone.admin) })
		if err == nil && (now.path != c.gone.path || !now.entry.Equal(c.gone.entry) || !now.parent.Equal(c.gone.parent) || !now.entry.Modified.Equal(c.gone.entry.Modified)) {
			err = errExchanged
		}
		if err != nil {
			l.refuse(c.dir.Path, err)
		}
		return err != nil
	})
}
