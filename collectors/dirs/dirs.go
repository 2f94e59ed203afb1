// Package dirs reads folders that may be disposable: the children of configured roots, and the worktrees of a repository.
//
// A folder costs a few system calls, and a repository two runs of git however many worktrees and sources it has (LookCache.Prefetch). The dear questions come last: who uses a folder, what
// git says of its content, how its work has landed, and how large it is. They are asked of what nothing cheaper keeps; in a look that is judged the rules say
// which that is (LookCache.Prefilter). Nothing is written, and no symbolic link is followed.
package dirs

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/forge"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// Kind is the kind of the sources here, and the part of their names before the slash.
const Kind = "dirs"

// Trash is the folder in a root that set-aside things lie in. It is never a candidate.
const Trash = ".winnow-trash"

// Options say how folders are read. The zero value is usable, but knows no holders, so that git is asked about no content.
type Options struct {
	// Rebuildable names ignored files and folders that can be made again: a glob over the base name, or, with a slash in it, over
	// as many of the path's last components.
	Rebuildable []string
	// Makers are tools by whose marks alone a folder of a name that people use too can be made again.
	Makers []Maker
	// ToolFiles names what only a tool writes, ignored or not: the same globs, also over the folders that a file lies in.
	ToolFiles []string
	// Scaffold is what tools write into worktrees for themselves.
	Scaffold []Scaffold
	// LandingBranches are names and globs of branches beside the default one on which work has landed.
	LandingBranches []string
	// LockReasons are those that agents' tools give for the lock of a worktree.
	LockReasons []LockReason
	// Grace is how long after its last change a folder is not asked about in depth.
	Grace time.Duration
	// TrimAfter is for how long nothing may have happened in a worktree before the folders in it that can be made again are candidates too;
	// 0 is never.
	TrimAfter time.Duration
	// WholeOnly leaves out the folders in worktrees that can be made again: no rule is about them.
	WholeOnly bool
	// UsedToo and YoungToo have folders that are in use, or young, asked about all the same: no rule keeps them for that.
	UsedToo, YoungToo bool
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Holders tells which live processes use which of these folders, and whether every process that could was read. It is called
	// once for each source, or with Later once for all sources that have the Cache in common. Nil leaves holders unknown.
	Holders func(ctx context.Context, paths []string) (map[string][]snapshot.Holder, bool, error)
	// Git is the git program; "" is git.
	Git string
	// Forge asks for pull requests; one without a program is never asked.
	Forge forge.Asker
	// Only restricts the reading to the candidates with these paths; empty is all.
	Only []string
	// Full asks git about every checkout, also one that something already keeps.
	Full bool
	// Places says that only which folders are checkouts of which repository is of interest: git is asked nothing.
	Places bool
	// Later leaves the dear questions to collectors.Part.Rest.
	Later bool
	// ProcRoot is where procfs is mounted, "" for /proc. Mountinfo is the file that lists the mounts, "" for this process's own.
	ProcRoot, Mountinfo string
	// Mounted are the mount points on which earlier looks saw folders.
	Mounted []string
	// Home is this user's home folder: what leads into folders is looked for there too, and is unknown where it is "". Beside are folders, which may have a * for what
	// is there at one level, in and beside which a worktree that was moved or copied by hand is looked for.
	Home   string
	Beside []string
	// Machine is the folder below which the machine's own places lie (etc, run, usr, var), "" for /.
	Machine string
	// Timeout is how long one folder, or one repository, may take; 0 is 10 seconds.
	Timeout time.Duration
	// Cache is what the sources of one look share; nil shares nothing but what one call here gives.
	Cache *LookCache
	// Log may be nil.
	Log hclog.Logger
	// outside says whether processes that this pid namespace does not show may use what lies at a path; it is set by filled.
	outside func(path string) bool
}

// filled gives o with its defaults in place.
func (o Options) filled() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Timeout = cmp.Or(max(o.Timeout, 0), defaultTimeout)
	o.ProcRoot = cmp.Or(o.ProcRoot, "/proc")
	o.Mountinfo = cmp.Or(o.Mountinfo, filepath.Join(o.ProcRoot, "self", "mountinfo"))
	o.Machine = cmp.Or(o.Machine, "/")
	if o.Cache == nil {
		o.Cache = NewLookCache()
	}
	shared := sync.OnceValue(func() func(string) bool { return proc.SharedOutside(o.ProcRoot, o.Mountinfo) })
	o.outside = func(path string) bool { return shared()(path) }
	o.Log = cmp.Or(o.Log, hclog.NewNullLogger())
	return o
}

// ID is the id of the candidate with that real path.
func ID(path string) string { return snapshot.KindDir + ":" + path }

// Roots gives a source for each root folder. A component of a pattern that holds a * stands for what is there at one level, and a
// pattern with one that matches no folder gives none; a folder without one is always a source, which is absent if it does not
// exist.
func Roots(o Options, patterns []string) []collectors.Source {
	o = o.filled()
	var sources []collectors.Source
	seen := map[string]bool{}
	for _, pattern := range patterns {
		for _, path := range expand(filepath.Clean(pattern)) {
			if seen[path] {
				continue
			}
			seen[path] = true
			name := Kind + "/" + path
			sources = append(sources, collectors.Source{Name: name, Kind: Kind, Path: path,
				Reader: reader{o: o, name: name, list: root(path)}})
		}
	}
	return sources
}

// Repository gives the source of the repository that path lies in: all its worktrees wherever they are, and folders beside them
// that say they belong to it. It says false where path lies in no repository.
func Repository(o Options, path string) (collectors.Source, bool) {
	o = o.filled()
	h, err := homeOf(o, path, false)
	switch {
	case err != nil:
		name := Kind + "/" + path
		err := sourceError(fmt.Errorf("%w; the repository that it may lie in is left out", err))
		return collectors.Source{Name: name, Kind: Kind, Path: path, Reader: collectors.Failing{Err: fmt.Errorf("read folders: %w", err)}}, true
	case h.common == "":
		return collectors.Source{}, false
	}
	return h.source(o), true
}

// Linked is Repository for a folder that only may lead to worktrees: without a linked worktree, or where anything about the folder cannot be read,
// there is no source.
func Linked(o Options, path string) (collectors.Source, bool) {
	o = o.filled()
	h, err := homeOf(o, path, true)
	if err != nil {
		o.Log.Debug("a place of work leads to no repository", "path", path, "error", err)
	}
	if err != nil || h.common == "" || h.entries == 0 {
		return collectors.Source{}, false
	}
	return h.source(o), true
}

// homed is the repository that a folder lies in.
type homed struct {
	common, at string
	entries    int // of linked worktrees, where they were counted
}

// source is that of the repository. Its name is the main checkout's path where it has one, so that one repository is read once.
func (h homed) source(o Options) collectors.Source {
	name := Kind + "/" + h.at
	return collectors.Source{Name: name, Kind: Kind, Path: h.at, Reader: reader{o: o, name: name, list: repository(h.common)}}
}

// homeOf finds the repository around a folder; common is "" when it is missing. A folder that does not answer is an error.
func homeOf(o Options, path string, count bool) (homed, error) {
	prober := newProber(context.Background(), o)
	return ask(prober, func(finder *git.Finder) (h homed, err error) {
		real, err := Real(path)
		if err != nil {
			return h, err
		}
		place, ok := finder.Around(real)
		if !ok {
			return h, nil
		}
		h.common, h.at = place.CommonDir, place.CommonDir
		repo, err := finder.Open(h.common)
		if err != nil {
			return h, nil // its source says so
		}
		if repo.Main != "" && mutual(finder, h.common, repo.Main) {
			h.at = repo.Main
		}
		if count {
			entries, err := repo.Entries()
			h.entries = len(entries)
			return h, err
		}
		return h, nil
	})
}

// expand gives the folders that a pattern stands for, sorted. Only * is special.
func expand(pattern string) []string {
	if !strings.Contains(pattern, "*") {
		return []string{pattern}
	}
	paths := []string{"/"}
	if !filepath.IsAbs(pattern) {
		paths = []string{"."}
	}
	for part := range strings.SplitSeq(strings.Trim(pattern, "/"), "/") {
		var next []string
		for _, path := range paths {
			if strings.HasPrefix(path, stop) {
				next = append(next, path)
			} else {
				next = append(next, level(path, part)...)
			}
		}
		paths = next
	}
	for i, path := range paths {
		paths[i] = strings.TrimPrefix(path, stop)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// reader reads one source.
type reader struct {
	o    Options
	name string
	list lister
}

// found is a folder that a source gives for a candidate.
type found struct {
	path, root string
	// entry is the worktree's entry in its repository common where the folder itself is gone; both are "" for one that is there.
	entry, common string
}

// lister lists a source's candidates, and counts those that it could not.
type lister func(o Options, s *prober) (list []found, unreadable int, err error)

// Read implements collectors.Reader.
func (r reader) Read(ctx context.Context) (collectors.Part, error) {
	prober := newProber(ctx, r.o)
	list, unreadable, err := r.list(r.o, prober)
	if err != nil {
		return collectors.Part{}, fmt.Errorf("read folders: %w", err)
	}
	l := &look{reader: r, prober: prober, trust: newTrust(), candidates: make([]*candidate, 0, len(list)), asks: map[string]bool{}, dealt: collectors.Items(ctx, len(list)), unreadable: unreadable}
	l.base(l.inOwnRoots(list))
	if !r.o.Later {
		l.holders(ctx)
	}
	l.repositories(ctx)
	l.notes = prober.notes
	if r.o.Later && ctx.Err() != nil {
		for _, members := range l.groups {
			l.describe(members)
		}
	}
	if !r.o.Later || ctx.Err() != nil {
		return l.end(ctx)
	}
	l.saw()
	part := l.part()
	part.Rest = func(ctx context.Context) (collectors.Part, error) {
		l.dealt = collectors.Items(ctx, len(l.candidates))
		r.o.Cache.prefetch(ctx)
		l.holders(ctx)
		end := reserve(ctx)
		var asked sync.WaitGroup
		for _, members := range l.groups {
			asked.Go(func() { l.into(ctx, end, members) })
		}
		asked.Wait()
		return l.end(ctx)
	}
	return part, nil
}

// end leaves out what was exchanged meanwhile, adds what can be made again, and hands all of it over.
func (l *look) end(ctx context.Context) (collectors.Part, error) {
	l.settle(ctx)
	l.settleGone()
	l.trim(ctx)
	l.points(ctx)
	part := l.part()
	if err := ctx.Err(); err != nil {
		part.Partial = true
		return part, fmt.Errorf("read folders: %w", err)
	}
	if l.noGit != nil {
		part.Partial = true
		return part, fmt.Errorf("look into worktrees: %w", l.noGit)
	}
	return part, nil
}
