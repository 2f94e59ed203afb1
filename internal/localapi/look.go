package localapi

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/report"
)

const (
	// leastRest is the least time from the end of one look to the next; a look that takes long is followed by a rest of share times that.
	leastRest, share = 3 * time.Second, 4
	// mostRest is the most that a look which remembers what it sees is followed by.
	mostRest = 10 * time.Second
	// forgetAfter is how long what a look saw is kept after it was last asked for.
	forgetAfter = 2 * time.Minute
)

// latest is the latest look that was asked for. Looks are begun while somebody asks, and not otherwise.
type latest struct {
	// ctx ends with the server, and running are the looks that are under way by then.
	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup
	// turn is held by the one look that is under way: a second one would find in use what the first one reads.
	turn chan struct{}

	mu sync.Mutex
	seen
	// n counts looks, and looking is true while one is under way.
	n       int
	looking bool
	// forget drops what was seen some time after it was last asked for.
	forget *time.Timer
}

// seen is what a look saw, or why it failed.
type seen struct {
	report   *report.Report
	snapshot *snapshot.Snapshot
	problem  string
	began    time.Time
	took     time.Duration
	// stamp is how the ledger stood, and rules the configuration.
	stamp, rules string
}

func newLatest() *latest {
	l := &latest{turn: make(chan struct{}, 1)}
	l.ctx, l.end = context.WithCancel(context.Background())
	l.forget = time.AfterFunc(forgetAfter, l.drop)
	return l
}

// Close ends the look that is under way.
func (s *Server) Close() {
	s.latest.mu.Lock()
	s.latest.end() // from here on none begins
	s.latest.forget.Stop()
	s.latest.mu.Unlock()
	s.latest.running.Wait()
}

// latestLook gives the latest look at once. It has another one begin where the ledger or the configuration has changed since, or it is older than console.every.
func (s *Server) latestLook(_ context.Context, o *ops.Ops, w client.Params) (any, error) {
	l, stamp := s.latest, o.Stamp()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.due(stamp, o.Fingerprint, o.Cfg.Console.Every) {
		l.looking = true
		l.running.Go(s.lookAside)
	}
	l.forget.Reset(forgetAfter)
	out := document.Look{Stamp: fmt.Sprintf("%s%x.%d", stamp, s.d.Status().Started.UnixNano(), l.n), Problem: l.problem}
	if out.Stamp != w.Stamp {
		out.Report = l.report
	}
	return out, nil
}

// due reports whether to look now.
func (l *latest) due(stamp, rules string, every time.Duration) bool {
	rest := time.Since(l.began.Add(l.took))
	return !l.looking && l.ctx.Err() == nil && rest > max(leastRest, share*l.took) &&
		(l.report == nil || stamp != l.stamp || rules != l.rules || rest > every)
}

// drop forgets what was seen.
func (l *latest) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.report != nil {
		l.report, l.seen.snapshot = nil, nil
		debug.FreeOSMemory() // looks of a large machine leave much
	}
}

// snapshot is what the latest look saw, nil where that is not kept. It is not written to.
func (l *latest) snapshot() *snapshot.Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen.snapshot
}

// take waits for the turn of a look.
func (l *latest) take(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w; nothing was done", context.Cause(ctx))
	}
}

// give ends the turn of a look that nobody waited for.
func (l *latest) give() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looking = false
	<-l.turn
}

// lookAside looks and decides, and remembers nothing of it.
func (s *Server) lookAside() {
	if s.latest.take(s.latest.ctx) != nil {
		return
	}
	defer s.latest.give()
	o := s.operations()
	now := seen{began: time.Now(), stamp: o.Stamp(), rules: o.Fingerprint}
	err := s.look(s.latest.ctx, true, func() (err error) {
		now.report, now.snapshot, err = o.OnlyLook(s.latest.ctx)
		return err
	})
	if err != nil {
		now.problem = err.Error()
		o.Log.Warn("look for who asks for the latest look", "error", err)
	}
	s.latest.keep(now)
}

// keep takes note of a look that ended. After one that failed what was seen before is kept.
func (l *latest) keep(now seen) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	if now.took = time.Since(now.began); now.problem != "" {
		now.report, now.snapshot = l.report, l.seen.snapshot
	}
	l.seen = now
	l.forget.Reset(forgetAfter)
}

// lookNow looks and decides, and remembers what it saw, as winnow sweep does. It rests from one such look to the next, so that others get the lock of sweeps too.
func (s *Server) lookNow(ctx context.Context, o *ops.Ops, _ client.Params) (any, error) {
	l := s.latest
	if err := l.take(ctx); err != nil {
		return nil, err
	}
	now := seen{began: time.Now(), rules: o.Fingerprint}
	defer func() { time.AfterFunc(min(share*time.Since(now.began), mostRest), func() { <-l.turn }) }()
	err := s.look(ctx, true, func() (err error) {
		now.report, now.snapshot, err = o.DryRun(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	now.began, now.stamp = now.report.TakenAt, o.Stamp() // the lock was waited for until then
	l.keep(now)
	return *now.report, nil
}
