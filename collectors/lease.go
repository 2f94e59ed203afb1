package collectors

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// perItem is the part of a source's timeout that each item in it adds: a source with 100 folders may take twice as long as one without.
const perItem = 100

// lease is the context of one source's reading. Its deadline can be moved, since how long a reading may take is known only when it is known
// how much there is to read.
type lease struct {
	context.Context // has the values, and the cause of the end
	cancel          context.CancelCauseFunc
	began           time.Time
	timeout         time.Duration
	done            chan struct{}
	counted         count

	mu    sync.Mutex
	end   time.Time
	timer *time.Timer
	err   error
}

// count is how far a reading has come.
type count struct{ done, all atomic.Int64 }

type leaseKey struct{}

func newLease(parent context.Context, timeout time.Duration) *lease {
	inner, cancel := context.WithCancelCause(parent)
	l := &lease{Context: inner, cancel: cancel, began: time.Now(), timeout: timeout, done: make(chan struct{})}
	l.end = l.began.Add(timeout)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(timeout, func() { l.stop(context.DeadlineExceeded) })
	context.AfterFunc(inner, func() { l.stop(inner.Err()) })
	return l
}

// stop ends the lease for good, once.
func (l *lease) stop(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	l.err = err
	l.timer.Stop()
	l.cancel(err) // before done is closed, so that whoever sees the end sees its cause
	close(l.done)
}

// Done implements context.Context.
func (l *lease) Done() <-chan struct{} { return l.done }

// Err implements context.Context.
func (l *lease) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Deadline implements context.Context.
func (l *lease) Deadline() (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if outer, ok := l.Context.Deadline(); ok && outer.Before(l.end) {
		return outer, true
	}
	return l.end, true
}

// Value implements context.Context.
func (l *lease) Value(key any) any {
	if key == (leaseKey{}) {
		return l
	}
	return l.Context.Value(key)
}

// allowed is how long the reading may take in all.
func (l *lease) allowed() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end.Sub(l.began)
}

// Items says that the source whose reading ctx belongs to has n items to read: its deadline moves by a hundredth of its timeout for each. It
// gives what is to be called whenever one of them has been dealt with. Outside of a Run it does nothing.
func Items(ctx context.Context, n int) (dealt func()) {
	l, ok := ctx.Value(leaseKey{}).(*lease)
	if !ok {
		return func() {}
	}
	l.counted.all.Store(int64(n))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil && n > 0 {
		l.end = l.began.Add(l.timeout + time.Duration(n)*(l.timeout/perItem))
		l.timer.Reset(time.Until(l.end))
	}
	return func() { l.counted.done.Add(1) }
}

// Running is a source that is being read.
type Running struct {
	Name string
	// Count is how many of all its items have been dealt with; all is 0 where it is not known yet, or does not matter.
	Count func() (done, all int)
}

func (c *count) now() (done, all int) { return int(c.done.Load()), int(c.all.Load()) }
