package dirs

import (
	"context"
	"fmt"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// defaultTimeout holds where Options gives no Timeout.
const defaultTimeout = 10 * time.Second

// errTimeout is why the reading of one folder or repository ended before that of the others.
var errTimeout = fmt.Errorf("it was not read in time (%w): it alone is kept; see what holds it up (a mount, a filter, a busy machine), or raise collect.timeout",
	context.DeadlineExceeded)

// errNotReached is why a folder was not reached at all.
var errNotReached = fmt.Errorf("it was not reached before the time of its source was over (%w): it alone is kept, and the next look reads it; raise collect.timeout where that goes on",
	context.DeadlineExceeded)

// prober asks about places on the disk, one at a time, and gives up on each that does not answer: a mount whose server is gone keeps for ever who
// asks it. It is for one goroutine.
type prober struct {
	ctx    context.Context
	o      Options
	finder *git.Finder
	hung   int // how many questions were given up on
	// notes say of entries in a repository why no candidate came of them.
	notes []string
}

func newProber(ctx context.Context, o Options) *prober {
	return &prober{ctx: ctx, o: o, finder: o.finder()}
}

// finder is the one that all sources of a look have in common, and one of its own for a look at single folders.
func (o Options) finder() *git.Finder {
	if o.wholeLook() {
		return o.Cache.finder
	}
	return git.NewFinder()
}

// wholeLook says whether this is a part of one look at everything, so that what one source has just read need not be read by another one. What is
// looked at before an act is read by each for itself.
func (o Options) wholeLook() bool { return o.Later && len(o.Only) == 0 && o.Cache != nil }

const (
	// quickPart is which part of the timeout a question may take that is answered from a few inodes.
	quickPart = 5
	// manyHung is after how many that were given up on a question may take only as much as each item adds to its source's time, so that all of
	// them together never take more than that.
	manyHung, hungPart = 2, 100
)

// ask gives what found gives, or why there is no answer. What is given up on goes on by itself, so found must touch nothing that its caller, or
// a later question, uses too.
func ask[T any](s *prober, found func(f *git.Finder) (T, error)) (T, error) {
	type answer struct {
		found T
		err   error
	}
	limit := s.o.Timeout / quickPart
	if s.hung >= manyHung {
		limit = s.o.Timeout / hungPart
	}
	var a answer
	err := context.Cause(s.ctx)
	if err == nil {
		own, cancel := context.WithTimeoutCause(s.ctx, limit, errTimeout)
		defer cancel()
		finder := s.finder
		a, err = git.Await(own, func() answer {
			found, err := found(finder)
			return answer{found, err}
		})
	}
	if err != nil {
		s.hung++
		return a.found, err
	}
	return a.found, a.err
}

// locate is git.Finder.Locate. The place is given with an error too, as far as it is known.
func (s *prober) locate(path string) (git.Place, error) {
	return ask(s, func(f *git.Finder) (git.Place, error) { return f.Locate(path) })
}

// glance is what is cheap to know of a folder.
type glance struct {
	dir snapshot.Dir
	// ownErr is why the folder does not belong to this user: nothing was read in it.
	ownErr   error
	empty    *bool
	emptyErr error
	place    git.Place
	placeErr error
}

// glance reads what is cheap. Nothing is read through a link.
func (s *prober) glance(f found) (glance, error) {
	return ask(s, func(finder *git.Finder) (g glance, err error) {
		dir, is, err := stat(f)
		if err == nil {
			err = safeopen.OwnedBy(f.path, uint32(is.UID))
		}
		if g.dir, g.ownErr = dir, err; err != nil || *dir.Symlink {
			return g, nil
		}
		if g.place, g.placeErr = finder.LocateIn(f.path, is); g.placeErr == nil {
			g.empty = new(false) // there is what says where its git folders are
			return g, nil
		}
		if none, err := s.o.empty(s.ctx, f.path); err == nil {
			g.empty = new(none)
		} else {
			g.emptyErr = err
		}
		return g, nil
	})
}

const (
	// maxSlow is how many slow questions may be open at a time, beside those that are not.
	maxSlow = 30
	// patience is how long a question counts as a quick one.
	patience = 500 * time.Millisecond
)

// limiter bound how many questions to git are open at a time. One that takes long leaves its place to others and goes on in the slow
// lane, so that a few that never end do not hold up the rest.
type limiter struct{ quick, slow chan struct{} }

// enter waits for a place, and gives what is to be called at the end.
func (l limiter) enter(ctx context.Context) (leave func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	select {
	case l.quick <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	over, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-over:
			<-l.quick
			return
		case <-timer.C:
		}
		select {
		case <-over:
			<-l.quick
		case l.slow <- struct{}{}:
			<-l.quick
			<-over
			<-l.slow
		}
	}()
	return func() { close(over); <-left }, nil
}

// reserve gives the time at which what is asked of one folder or repository ends, so that there is some left to say so before the
// whole source is given up.
func reserve(ctx context.Context) time.Time {
	const most = 5 * time.Second // of the time that is kept back
	now := time.Now()
	end, ok := ctx.Deadline()
	if !ok {
		return now.Add(time.Minute)
	}
	return end.Add(-min(end.Sub(now)*3/10, most))
}

// gitFails takes note of a question to git that failed, and asks git for its version then, once: a git that cannot be run fails the
// whole source, since no folder's facts can be had.
func (l *look) gitFails(ctx context.Context, err error) {
	if err == nil {
		return
	}
	l.probe.Do(func() { l.noGit = git.Program{Path: l.o.Git}.Answers(ctx) })
}
