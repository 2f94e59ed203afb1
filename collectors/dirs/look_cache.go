package dirs

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/git"
)

// LookCache is what all sources of one look have in common: the bound on how much git runs at a time, what was found in worktrees, so that one
// that two sources give (a root and its repository) is looked into once, and who uses all the folders.
type LookCache struct {
	limiter limiter
	finder  *git.Finder
	// mounts are nil until they were read; mounting is held meanwhile.
	mounts   *mounts
	mounting sync.Mutex
	mu       sync.Mutex
	asked    map[string]*answer
	// entries is what was read of checkouts' admin folders, by the checkout, as it was before git was asked anything.
	entries map[git.Place]git.Worktree
	// places are where the candidates of all sources may be in use, by id; known is what Prefilter was given, and held what Holders said.
	places map[string]place
	// looks are the readings of these sources, and weighed is set when git was asked about the repositories of all of them.
	looks      []*look
	prefetched sync.Once
	known      atomic.Pointer[func(id string) Prefiltered]
	held       *held
	// pointing is what leads into folders from outside.
	pointing pointing
	// processes is nil until a lock asks for them.
	processes *processTable
}

// NewLookCache gives what the sources of one look share.
func NewLookCache() *LookCache {
	return &LookCache{
		limiter: limiter{quick: make(chan struct{}, maxExecs), slow: make(chan struct{}, maxSlow)}, finder: git.NewOnce(),
		asked: map[string]*answer{}, entries: map[git.Place]git.Worktree{}, places: map[string]place{},
	}
}

// Prefiltered is what the rules make of a folder by what is cheap to know of it.
type Prefiltered struct {
	// Skip is why it stays with any answer to the dear questions, as the end of a sentence that begins with because; "" has them asked.
	Skip string
	// Part is true where a folder in it that can be made again may go all the same.
	Part bool
	// Users are processes that are known to use a folder that is skipped, without that anybody was asked.
	Users []snapshot.Holder
}

// skip is why nothing is asked of a folder, for one in which what can be made again may go or not.
func (d Prefiltered) skip(trims bool) string {
	if d.Part && trims {
		return ""
	}
	return d.Skip
}

// Prefilter takes what the rules make of the folders that all sources have found so far, by id. It is called before collectors.Part.Rest is; where it is not,
// the folders themselves say what keeps them.
func (s *LookCache) Prefilter(known func(id string) Prefiltered) {
	if known != nil {
		s.known.Store(&known)
	}
}

func (s *LookCache) prefiltered(id string) Prefiltered {
	if known := s.known.Load(); known != nil {
		return (*known)(id)
	}
	return Prefiltered{}
}

// rules says whether the rules of this look were asked what is worth the dear questions.
func (s *LookCache) rules() bool { return s.known.Load() != nil }

// place is where a candidate may be in use, and whether what can be made again in it may go.
type place struct {
	paths []string
	trims bool
}

// saw takes note of the folders that a source has found.
func (l *look) saw() {
	s := l.o.Cache
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks = append(s.looks, l)
	for _, c := range l.candidates {
		if c.dir.Symlink != nil && !*c.dir.Symlink {
			s.places[ID(c.dir.Path)] = place{c.places(), l.trims(c)}
		}
	}
}

// entry gives what the admin folder of a checkout says, which in the same look another source may have read. Each has a copy of its own.
func (l *look) entry(repo *git.Repository, p git.Place) *git.Worktree {
	if !l.o.Later { // then what is shared may outlive a look
		return repo.Read(p)
	}
	s := l.o.Cache
	s.mu.Lock()
	w, known := s.entries[p]
	s.mu.Unlock()
	if !known {
		w = *repo.Read(p)
		s.mu.Lock()
		s.entries[p] = w
		s.mu.Unlock()
	}
	w.Errors = slices.Clip(w.Errors)
	return &w
}

// Prefetch asks git about each repository, once for all sources, and writes what came of it into a snapshot of what they have found so far: which work has landed, what only a worktree
// has. Where it is not called, it is done before the dear questions are asked, and no rule knows of it before.
func (s *LookCache) Prefetch(ctx context.Context, into *snapshot.Snapshot) {
	s.prefetch(ctx)
	s.mu.Lock()
	looks := slices.Clone(s.looks)
	s.mu.Unlock()
	for _, l := range looks {
		for _, c := range l.candidates {
			if d, there := into.Dirs[ID(c.dir.Path)]; there && d.Source == l.name {
				into.Dirs[ID(c.dir.Path)] = c.dir
			}
		}
	}
}

func (s *LookCache) prefetch(ctx context.Context) {
	s.prefetched.Do(func() {
		s.mu.Lock()
		looks := slices.Clone(s.looks)
		s.mu.Unlock()
		// The candidates of a repository, by the reading that has them.
		type members struct {
			of   *look
			list []*candidate
		}
		all := map[string][]members{}
		for _, l := range looks {
			for _, list := range l.groups {
				if len(list) > 0 && list[0].place.CommonDir != "" {
					common := list[0].place.CommonDir
					all[common] = append(all[common], members{l, list})
				}
			}
		}
		var asked sync.WaitGroup
		for common, groups := range all {
			asked.Go(func() {
				var together []*candidate
				asks := false
				for _, g := range groups {
					together = append(together, g.list...)
					asks = asks || g.of.asks[common]
				}
				if asks {
					first := groups[0].of
					allowed := first.o.Timeout + time.Duration(len(together))*(first.o.Timeout/eachPart)
					if err := first.weigh(ctx, time.Now().Add(allowed), together); err != nil {
						for _, g := range groups[1:] {
							g.of.probe.Do(func() { g.of.noGit = first.noGit })
						}
					}
				}
				for _, g := range groups {
					g.of.describe(g.list)
				}
			})
		}
		asked.Wait()
	})
}

// held is the one answer to who uses the folders of a look; done is closed when it is there.
type held struct {
	done  chan struct{}
	by    map[string][]snapshot.Holder
	known bool
	err   error
}

// users asks once, for the folders of all sources that are worth it, who uses them. Whoever comes first asks, and has the time of all of them together:
// its own source may be a small one.
func (s *LookCache) users(ctx context.Context, o Options) (map[string][]snapshot.Holder, bool, error) {
	s.mu.Lock()
	h, first := s.held, s.held == nil
	if first {
		h = &held{done: make(chan struct{}), err: errUnasked}
		s.held = h
	}
	places := s.places
	s.mu.Unlock()
	if !first {
		select {
		case <-h.done:
			return h.by, h.known, h.err
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
	}
	defer close(h.done)
	var paths []string
	for _, id := range slices.Sorted(maps.Keys(places)) {
		if at := places[id]; s.prefiltered(id).skip(at.trims) == "" {
			paths = append(paths, at.paths...)
		}
	}
	own, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), o.Timeout+time.Duration(len(paths))*(o.Timeout/eachPart), errTimeout)
	defer cancel()
	h.by, h.known, h.err = o.Holders(own, paths)
	return h.by, h.known, h.err
}

// eachPart is which part of the timeout each folder adds to the time for a question about all of them.
const eachPart = 100

var errUnasked = errors.New("the question was not answered")

// answer is what came of a look into one worktree in one state; done is closed when it is there.
type answer struct {
	state string
	done  chan struct{}
	found contents
}

// claim gives the answer about a candidate's content that another source has, or is about to have; or, with mine, one that the caller is to
// fill and close.
func (s *LookCache) claim(c *candidate) (a *answer, mine bool) {
	w := c.worktree
	if w == nil {
		return &answer{done: make(chan struct{})}, true
	}
	// Two sources that read it in the same state need only one look.
	state := strings.Join([]string{w.AdminDir, w.Head, w.Branch, w.ActiveAt.String()}, "\x00")
	s.mu.Lock()
	defer s.mu.Unlock()
	if a = s.asked[c.dir.Path]; a != nil && a.state == state {
		return a, false
	}
	a = &answer{state: state, done: make(chan struct{})}
	s.asked[c.dir.Path] = a
	return a, true
}

// wait gives the answer once it is there.
func (a *answer) wait(ctx context.Context) contents {
	select {
	case <-a.done:
		return a.found
	case <-ctx.Done():
		return contents{err: context.Cause(ctx)}
	}
}
