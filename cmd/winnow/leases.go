package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/oklog/ulid/v2"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/cmd/winnow/config"
	"github.com/winnow-reaper/winnow/cmd/winnow/report"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/listen"
	"github.com/winnow-reaper/winnow/ledger"
)

// leases are holds that last as long as a connection. Each is a hold in the ledger, so that every winnow of this user honours it, with an end that is put off while the connection
// lasts: a daemon that is killed leaves none behind for longer than that.
type leases struct {
	d *daemon
	n atomic.Int32
	// over is closed when the daemon ends.
	over chan struct{}
	// renewed is how often a lease is put off, and looked how often the clock is asked for that: leaseRenewed and leaseLooked.
	renewed, looked time.Duration
}

func newLeases(d *daemon) leases {
	return leases{d: d, over: make(chan struct{}), renewed: leaseRenewed, looked: leaseLooked}
}

const (
	// leaseLasts is for how long the hold of a lease lasts unless it is put off, leaseRenewed how often it is, and leaseLooked how often the clock is asked for that: after a
	// suspension, or where the clock was set, the hold is over at once, and no timer of Go's says so.
	leaseLasts   = 2 * time.Minute
	leaseRenewed = 30 * time.Second
	leaseLooked  = time.Second
	// maxLeases is how many there are at the same time.
	maxLeases = 1000
)

// leased is the candidate that a lease names: an id of any kind, or a folder's path. It may not be there yet. A folder or a process that is another one to who asks is refused: the
// lease would hold what nobody meant.
func leased(named string, asker listen.Conn) (string, error) {
	kind, ok := snapshot.KindOf(named)
	rest := strings.TrimPrefix(named, kind.Name+":")
	if !ok && filepath.IsAbs(named) {
		kind, ok, rest = snapshot.Kind{Name: snapshot.KindDir}, true, named
	}
	if !ok || rest == "" || len(named) > 8192 || strings.ContainsAny(named, "\x00\n\ufffd") {
		return "", config.Mistakef("candidate %q: it wants an id such as dir:/home/me/wt/a, session:tmux/default/$4 or process:812@93211, or a folder's whole path", named)
	}
	if kind.Name == snapshot.KindProcess {
		if other := sameNumbers(asker); other != "" {
			return "", config.Mistakef("candidate %q: %s; nothing was held", named, other)
		}
	}
	if kind.Name != snapshot.KindDir {
		return named, nil
	}
	if filepath.IsAbs(rest) {
		if other := sameFolder(asker, filepath.Clean(rest)); other != "" {
			return "", config.Mistakef("candidate %q: %s; nothing was held", named, other)
		}
	}
	real, _, err := realPath(filepath.Clean(rest))
	if err != nil || !filepath.IsAbs(rest) {
		return "", config.Mistakef("candidate %q: its path is not a whole one, or cannot be followed: %v", named, err)
	}
	return snapshot.KindDir + ":" + real, nil
}

// serve holds a candidate until who asked goes, and says so in a line of JSON at first and each time that it was put off.
func (l *leases) serve(out http.ResponseWriter, r *http.Request) {
	w, err := wishOf(out, r)
	candidate := ""
	if err == nil {
		candidate, err = leased(w.Candidate, asker(r))
	}
	if err == nil && strings.TrimSpace(w.Reason) == "" {
		err = config.Mistakef("reason is missing: why it is held, for the reader of winnow holds")
	}
	if err != nil {
		refuse(out, http.StatusBadRequest, report.ExitUsage, err.Error(), nil)
		return
	}
	if l.n.Add(1) > maxLeases {
		l.n.Add(-1)
		refuse(out, http.StatusTooManyRequests, report.ExitFailed, "there are a thousand leases already; nothing was held", nil)
		return
	}
	defer l.n.Add(-1)
	h := snapshot.Hold{ID: candidate, Reason: w.Reason, Since: time.Now().UTC()}
	lease := client.Lease{ID: ulid.Make().String(), Candidate: candidate}
	h.Owner = leaseOwner + lease.ID
	lease.Owner = h.Owner
	if err := l.put(r.Context(), &h); err != nil {
		refuse(out, http.StatusInternalServerError, report.ExitFailed, err.Error()+"; nothing was held", nil)
		return
	}
	defer func() {
		select {
		case <-l.over:
		default:
			l.end(h)
		}
	}()
	out.Header().Set("Content-Type", "application/x-ndjson")
	line := flusher(out)
	looked := time.NewTicker(l.looked)
	defer looked.Stop()
	for first := true; ; first = false {
		lease.Until = *h.Until
		data, err := json.Marshal(lease)
		if err != nil {
			return
		}
		if first || takesMore(asker(r)) {
			err = line(string(data) + "\n")
		}
		if err != nil || !l.last(r.Context(), &h, looked.C) {
			return
		}
	}
}

// takesMore reports whether a line can be written to a connection without waiting. Who has a lease need not read more than its first line, and may be stopped for a night: what it does
// not read fills the connection's buffer within hours, and the connection, which is the lease, has to stay.
func takesMore(c listen.Conn) bool {
	raw, ok := c.Conn.(syscall.Conn)
	if !ok {
		return true
	}
	takes := true
	rc, err := raw.SyscallConn()
	if err == nil {
		_ = rc.Control(func(fd uintptr) {
			fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
			n, err := unix.Poll(fds, 0)
			takes = err != nil || n > 0
		})
	}
	return takes
}

// last waits until the end of a lease was put off. It gives false where the lease is over: who asked has gone, the daemon ends, a person released the hold, or it could not be put off
// in time. Then the connection ends, so that who asked knows.
func (l *leases) last(ctx context.Context, h *snapshot.Hold, looked <-chan time.Time) bool {
	said := false
	for {
		select {
		case <-ctx.Done():
			return false
		case <-l.over:
			return false
		case <-looked:
		}
		left := h.Until.Sub(time.Now().Round(0)) // by the clock of the ledger
		if left > leaseLasts-l.renewed && left <= leaseLasts {
			continue
		}
		there, err := l.putOff(ctx, h)
		switch {
		case err == nil && !there:
			l.d.log.Info("a lease was released by a person", "candidate", h.ID)
			return false
		case err == nil:
			return true
		case left <= 0:
			l.d.log.Warn("a lease is over: it could not be put off", "candidate", h.ID, "error", err)
			return false
		case !said && ctx.Err() == nil:
			said = true
			l.d.log.Warn("a lease could not be put off; it is tried again", "candidate", h.ID, "until", *h.Until, "error", err)
		}
	}
}

// put places the hold of a lease, and lifts those of leases that were left by a daemon that has ended.
func (l *leases) put(ctx context.Context, h *snapshot.Hold) error {
	return l.inLedger(func(g *ledger.Ledger) error {
		all, err := g.Holds(ctx)
		if err != nil {
			return err
		}
		for _, old := range all {
			if strings.HasPrefix(old.Owner, leaseOwner) && old.Until != nil && old.Until.Before(time.Now().Add(-leaseLasts)) {
				if _, err := g.Release(ctx, old.ID, old.Owner); err != nil {
					return err
				}
			}
		}
		until := leaseUntil()
		h.Until = &until
		return g.Hold(ctx, *h)
	})
}

// putOff puts off the end of a lease's hold. It gives false where the hold is no longer there.
func (l *leases) putOff(ctx context.Context, h *snapshot.Hold) (there bool, err error) {
	until := leaseUntil()
	err = l.inLedger(func(g *ledger.Ledger) (err error) {
		there, err = g.PutOff(ctx, h.ID, h.Owner, until)
		return err
	})
	if err == nil && there {
		h.Until = &until
	}
	return there, err
}

// leaseOwner begins the owner of each lease's hold.
const leaseOwner = "lease "

// leaseUntil is when a lease ends that is put off now, by the clock alone.
func leaseUntil() time.Time { return time.Now().UTC().Round(0).Add(leaseLasts) }

// end lifts the hold of a lease.
func (l *leases) end(h snapshot.Hold) {
	err := l.inLedger(func(g *ledger.Ledger) error {
		_, err := g.Release(context.Background(), h.ID, h.Owner)
		return err
	})
	if err != nil {
		l.d.log.Warn("the hold of a lease that ended could not be lifted; it ends by itself", "candidate", h.ID, "until", *h.Until, "error", err)
	}
}

func (l *leases) inLedger(do func(*ledger.Ledger) error) error {
	a := l.d.now()
	if err := a.trustState(); err != nil {
		return err
	}
	g, err := ledger.Open(a.ledgerPath())
	if err != nil {
		return err
	}
	return errors.Join(do(g), g.Close())
}
