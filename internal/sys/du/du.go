// Package du measures what folders take up on disk, as du(1) counts it: the blocks of every file and folder, each file once however
// many names it has, on one file system, through no link. It reads and changes nothing.
package du

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/folder"
)

// Tree is one folder to measure.
type Tree struct {
	// Path is the folder, absolute and without a link in it.
	Path string
	// Parts are folders in it that are counted apart too, by their paths relative to it.
	Parts []string
	// Part says of a folder, by its path relative to Path, whether it is such a part as well; nil finds no more than Parts. Newest knows
	// of the folders around Parts only.
	Part func(rel string) bool
}

// Sum is what was counted. Bytes count each file once, whichever of its names was seen first.
type Sum struct {
	Bytes int64
	// Shared are those of Bytes that stay in use when the folder goes, because the file has another name outside of it.
	Shared  int64
	Entries int
	// Newest is the latest modification of anything counted; of a tree not of a folder that a part lies in, since a part that comes or
	// goes changes that folder.
	Newest time.Time
	// Others counts what belongs to another user, Mounts the folders on another file system, which are not entered.
	Others, Mounts int
	// Stores are the places of repositories of any kind, relative to the tree.
	Stores []string
}

// Part is what was counted of a folder in a tree. Its Bytes are part of the tree's.
type Part struct {
	Path string
	Sum
}

// Usage is the measure of one tree.
type Usage struct {
	Sum
	// Parts are sorted by their paths.
	Parts []Part
	// Complete is false where the measuring ended before all was counted: then the sums are what there is at least. Unread counts the
	// folders and files that could not be read, and Err is the first reason.
	Complete bool
	Unread   int
	Err      error
}

// PartBytes is what all parts take up.
func (u Usage) PartBytes() (sum int64) {
	for _, p := range u.Parts {
		sum += p.Bytes
	}
	return sum
}

// Largest is the part that takes up most; false without parts.
func (u Usage) Largest() (Part, bool) {
	if len(u.Parts) == 0 {
		return Part{}, false
	}
	return slices.MaxFunc(u.Parts, func(a, b Part) int { return int(a.Bytes - b.Bytes) }), true
}

// Measure measures many trees, until ctx ends. The answers are in the order of the trees. They are also begun in it: the next one while the last
// folders of the one before are read.
func Measure(ctx context.Context, trees []Tree) []Usage {
	var group errgroup.Group
	// More folders are read at a time than there are processors, since a disk answers later than it is asked.
	group.SetLimit(min(max(runtime.GOMAXPROCS(0)*2, 4), 16) - 1)
	out := make([]Usage, len(trees))
	states := make([]*state, len(trees))
	for i, t := range trees {
		states[i] = &state{tree: t, links: map[link]*linked{}}
		states[i].walk(ctx, &group, job{part: none})
	}
	_ = group.Wait()
	for i, s := range states {
		out[i] = s.usage(ctx)
	}
	return out
}

// none is the part of what lies in no part.
const none = -1

// job is a folder to read: rel is its path in the tree, part the place of the part that it lies in.
type job struct {
	rel  string
	part int
}

// walk counts a folder and all below it, with as many others as there are workers free.
func (s *state) walk(ctx context.Context, group *errgroup.Group, j job) {
	if ctx.Err() != nil {
		s.add(&counted{part: j.part, cut: true})
		return
	}
	for _, sub := range s.read(ctx, j) {
		next := func() error {
			s.walk(ctx, group, sub)
			return nil
		}
		if !group.TryGo(next) {
			_ = next()
		}
	}
}

// link is a file with several names, linked what is known of it: how many names it has and how many of them were seen.
type link struct{ dev, ino uint64 }

type linked struct {
	names, seen uint64
	bytes       int64
	part        int
	shared      bool // its names lie in several parts, or in a part and outside of it
}

// state is a tree while it is measured.
type state struct {
	tree Tree

	lock   sync.Mutex
	sum    Sum
	parts  []Part
	links  map[link]*linked
	dev    uint64
	unread int
	err    error
	cut    bool
}

// counted is what one folder holds.
type counted struct {
	part   int
	sum    Sum
	links  map[link]*linked
	unread int
	err    error
	cut    bool
}

func (c *counted) fail(err error) {
	if errors.Is(err, unix.ENOENT) { // gone meanwhile: there is nothing to count
		return
	}
	c.unread++
	c.err = cmp.Or(c.err, err)
}

// read counts one folder and gives the folders in it.
func (s *state) read(ctx context.Context, j job) (sub []job) {
	c := counted{part: j.part}
	defer s.add(&c)
	path := filepath.Join(s.tree.Path, j.rel)
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		if j.rel == "" && errors.Is(err, unix.ENOENT) {
			c.unread, c.err = 1, &os.PathError{Op: "open", Path: path, Err: err}
			return nil
		}
		c.fail(&os.PathError{Op: "open", Path: path, Err: err})
		return nil
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	var own unix.Stat_t
	if err := unix.Fstat(fd, &own); err != nil {
		c.fail(&os.PathError{Op: "look at", Path: path, Err: err})
		return nil
	}
	s.lock.Lock()
	if j.rel == "" {
		s.dev = own.Dev
	}
	foreign := s.dev != own.Dev // not on the tree's file system, which is that of its top
	s.lock.Unlock()
	if foreign {
		c.sum.Mounts++
		return nil
	}
	names, err := dir.Readdirnames(-1)
	if err != nil {
		c.fail(err)
		return nil
	}
	if storeIn(j.rel, names, j.part != none) {
		c.sum.Stores = append(c.sum.Stores, j.rel)
	}
	var st unix.Stat_t
	holdsPart := false
	for _, name := range names {
		if ctx.Err() != nil {
			c.cut = true
			return nil
		}
		if err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			c.fail(&os.PathError{Op: "look at", Path: filepath.Join(path, name), Err: err})
			continue
		}
		rel := name
		if j.rel != "" {
			rel = j.rel + "/" + name
		}
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			c.file(&st)
			continue
		}
		in := job{rel: rel, part: j.part}
		if in.part == none && (slices.Contains(s.tree.Parts, rel) || s.tree.Part != nil && s.tree.Part(rel)) {
			s.lock.Lock()
			in.part, holdsPart = len(s.parts), true
			s.parts = append(s.parts, Part{Path: rel})
			s.lock.Unlock()
		}
		sub = append(sub, in)
	}
	newest := c.sum.Newest
	c.entry(&own)
	if holdsPart || s.leadsToPart(j.rel) {
		c.sum.Newest = newest
	}
	c.sum.Bytes += own.Blocks * folder.BlockSize
	return sub
}

// leadsToPart says whether one of the known parts lies below a folder.
func (s *state) leadsToPart(rel string) bool {
	return rel == "" && len(s.tree.Parts) > 0 || slices.ContainsFunc(s.tree.Parts, func(p string) bool { return strings.HasPrefix(p, rel+"/") })
}

func (c *counted) file(st *unix.Stat_t) {
	c.entry(st)
	bytes := st.Blocks * folder.BlockSize
	if st.Nlink < 2 {
		c.sum.Bytes += bytes
		return
	}
	if c.links == nil {
		c.links = map[link]*linked{}
	}
	at := link{st.Dev, st.Ino}
	if l := c.links[at]; l != nil {
		l.seen++
		return
	}
	c.links[at] = &linked{names: uint64(st.Nlink), seen: 1, bytes: bytes, part: c.part}
}

func (c *counted) entry(st *unix.Stat_t) {
	c.sum.Entries++
	if at := time.Unix(st.Mtim.Unix()); at.After(c.sum.Newest) {
		c.sum.Newest = at
	}
	if int(st.Uid) != os.Geteuid() {
		c.sum.Others++
	}
}

// add puts the count of one folder to that of its tree.
func (s *state) add(c *counted) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.cut = s.cut || c.cut
	s.unread += c.unread
	s.err = cmp.Or(s.err, c.err)
	for at, l := range c.links {
		was := s.links[at]
		if was == nil {
			s.links[at] = l
			c.sum.Bytes += l.bytes
			continue
		}
		was.seen += l.seen
		was.shared = was.shared || was.part != l.part
	}
	s.sum.plus(&c.sum, c.part == none)
	if c.part != none {
		s.parts[c.part].plus(&c.sum, true)
	}
}

// plus adds what was counted. Of what lies in a part the time does not count for the tree.
func (s *Sum) plus(o *Sum, time bool) {
	s.Bytes += o.Bytes
	s.Entries += o.Entries
	s.Others += o.Others
	s.Mounts += o.Mounts
	s.Stores = append(s.Stores, o.Stores...)
	if time && o.Newest.After(s.Newest) {
		s.Newest = o.Newest
	}
}

func (s *state) usage(ctx context.Context) Usage {
	for _, l := range s.links {
		outside := l.seen < l.names
		if outside {
			s.sum.Shared += l.bytes
		}
		if l.part != none && (outside || l.shared) {
			s.parts[l.part].Shared += l.bytes
		}
	}
	u := Usage{Sum: s.sum, Parts: s.parts, Unread: s.unread, Err: s.err}
	u.Complete = !s.cut && s.unread == 0
	if u.Err == nil && !u.Complete {
		u.Err = context.Cause(ctx)
	}
	slices.Sort(u.Stores)
	for i := range u.Parts {
		slices.Sort(u.Parts[i].Stores)
	}
	slices.SortFunc(u.Parts, func(a, b Part) int { return strings.Compare(a.Path, b.Path) })
	return u
}

// storeIn says whether a folder with these names in it is a repository, a checkout or a bare one. What a worktree has at its own top is
// its own; in a part nothing is.
func storeIn(rel string, names []string, inPart bool) bool {
	if rel == "" && !inPart {
		return false
	}
	if folder.CVS(filepath.Base(rel), names) {
		return true
	}
	marks := 0
	for _, name := range names {
		switch {
		case folder.Store(name):
			return true
		case name == "HEAD", name == "objects", name == "refs":
			marks++
		}
	}
	return marks == 3
}
