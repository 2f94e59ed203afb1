package dirs

import (
	"context"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/git"
)

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
