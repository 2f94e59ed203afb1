// Package localapi answers programs and commands over the daemon's socket: routes, parameters, leases.
package localapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/oklog/ulid/v2"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/daemon"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/sys/listen"
)

// leases are holds that last as long as a connection. Each lies where every winnow of this user reads it, with any state folder, with an end that is put off while the connection
// lasts: a daemon that is killed leaves none behind for longer than that.
type leases struct {
	d *daemon.Daemon
	n atomic.Int32
	// over is closed when the daemon ends.
	over chan struct{}
	// Renewed is how often a lease is put off, looked how often the clock is asked for that, and lasts for how long a lapsed one of another daemon stays: leaseRenewed, leaseLooked and
	// LeaseLasts.
	Renewed, Looked, Lasts time.Duration
	// lapsed are the leases of other daemons that have lapsed, by their owners, and since when that is known. Only work touches it.
	lapsed map[string]time.Time

	Mu sync.Mutex
	// Open are the leases that there are: whether the hold of each was found gone. What it has for an end is read and changed under mu.
	Open map[*snapshot.Hold]bool
	// queue waits for the file of the leases, and busy is true while somebody has it: see inFile.
	queue []leaseWork
	busy  bool
}

// leaseWork is something that is done in the file of the leases.
type leaseWork struct {
	do   func(*ledger.Grants) error
	done chan error
}

func newLeases(d *daemon.Daemon) leases {
	return leases{d: d, over: make(chan struct{}), Renewed: leaseRenewed, Looked: leaseLooked, Lasts: LeaseLasts, lapsed: map[string]time.Time{}, Open: map[*snapshot.Hold]bool{}}
}

const (
	// LeaseLasts is for how long the hold of a lease lasts unless it is put off, leaseRenewed how often it is, and leaseLooked how often the clock is asked for that: after a
	// suspension, or where the clock was set, the hold is over at once, and no timer of Go's says so.
	LeaseLasts   = 2 * time.Minute
	leaseRenewed = 30 * time.Second
	leaseLooked  = time.Second
	// MaxLeases is how many there are at the same time.
	MaxLeases = 1000
)

// leased is the candidate that a lease names: an id of any kind, or a folder's path. It may not be there yet. A folder or a process that is another one to who asks is refused: the
// lease would hold what was not meant.
func leased(named string, asker listen.Conn) (string, error) {
	kind, ok := snapshot.KindOf(named)
	rest := strings.TrimPrefix(named, kind.Name+":")
	if !ok && filepath.IsAbs(named) {
		kind, ok, rest = snapshot.Kind{Name: snapshot.KindDir}, true, named
	}
	if !ok || rest == "" || len(named) > 8192 || strings.ContainsAny(named, "\x00\n") {
		return "", config.Usagef("candidate %q: give an id such as session:tmux/default/$4 or process:812@93211, or a folder's whole path", named)
	}
	switch at := strings.LastIndexByte(rest, '/'); {
	case kind.Name == snapshot.KindDir:
	case kind.Name == snapshot.KindProcess:
		if _, ticks, _ := strings.Cut(rest, "@"); !ops.IsPID(rest) || ticks == "" {
			return "", config.Usagef("candidate %q: it wants the process's start in clock ticks since boot, such as process:812@93211; nothing was held", named)
		}
		if other := ops.PIDDiffers(asker); other != "" {
			return "", config.Usagef("candidate %q: %s; nothing was held", named, other)
		}
	case at <= 0 || at == len(rest)-1: // as of $4 that a shell has replaced, which would hold nothing
		return "", config.Usagef("candidate %q: it wants the whole id, with its source, such as session:tmux/default/$4; nothing was held", named)
	}
	if kind.Name != snapshot.KindDir {
		return named, nil
	}
	if filepath.IsAbs(rest) {
		if other := ops.FolderDiffers(asker, filepath.Clean(rest)); other != "" {
			return "", config.Usagef("candidate %q: %s; nothing was held", named, other)
		}
	}
	real, _, err := ops.RealPath(filepath.Clean(rest))
	if err != nil || !filepath.IsAbs(rest) {
		return "", config.Usagef("candidate %q: its path is not a whole one, or cannot be followed: %v", named, err)
	}
	return snapshot.KindDir + ":" + real, nil
}

// serve holds a candidate until who asked goes, and says so in a line of JSON at first and each time that it was put off.
func (l *leases) serve(out http.ResponseWriter, r *http.Request) {
	w, err := readParams(r)
	candidate := ""
	if err == nil {
		candidate, err = leased(w.Candidate, peer(r))
	}
	if err == nil && strings.TrimSpace(w.Reason) == "" {
		err = config.Usagef("reason is missing: why it is held, for the reader of winnow holds")
	}
	if err != nil {
		refuse(out, http.StatusBadRequest, exit.Usage, err.Error(), nil)
		return
	}
	if l.n.Add(1) > MaxLeases {
		l.n.Add(-1)
		refuse(out, http.StatusTooManyRequests, exit.Failed, "there are a thousand leases already; nothing was held", nil)
		return
	}
	defer l.n.Add(-1)
	h := snapshot.Hold{ID: candidate, Reason: w.Reason, Since: time.Now().UTC()}
	lease := client.Lease{ID: ulid.Make().String(), Candidate: client.EscapeID(candidate)}
	h.Owner = LeaseOwner + lease.ID
	lease.Owner = h.Owner
	// Who goes while the hold is being placed has it placed and lifted: a statement that is interrupted may have been carried out.
	if err := l.Put(context.WithoutCancel(r.Context()), &h); err != nil {
		l.end(&h)
		status, code := http.StatusInternalServerError, exit.Failed
		if errors.As(err, new(*ledger.Begun)) {
			status, code = http.StatusConflict, exit.Part
		}
		refuse(out, status, code, err.Error()+"; nothing was held", nil)
		return
	}
	defer func() {
		select {
		case <-l.over:
		default:
			l.end(&h)
		}
	}()
	out.Header().Set("Content-Type", "application/x-ndjson")
	line := flusher(out)
	looked := time.NewTicker(l.Looked)
	defer looked.Stop()
	for first := true; ; first = false {
		lease.Until, _ = l.stands(&h)
		data, err := json.Marshal(lease)
		if err != nil {
			return
		}
		behind := !first && !takesMore(peer(r))
		if !behind {
			err = line(string(data) + "\n")
		}
		if err != nil || !l.Last(r.Context(), &h, looked.C, func() bool { return behind && takesMore(peer(r)) }) {
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
			for errors.Is(err, unix.EINTR) { // a signal says nothing of the connection
				n, err = unix.Poll(fds, 0)
			}
			takes = err != nil || n > 0
		})
	}
	return takes
}

// Last waits until the end of a lease was put off, or until again says that it is to be told once more: who was stopped reads old lines first. It gives false where the lease is over: who
// asked has gone, the daemon ends, a person released the hold, or it could not be put off in time. Then the connection ends, so that who asked knows.
func (l *leases) Last(ctx context.Context, h *snapshot.Hold, looked <-chan time.Time, again func() bool) bool {
	said := false
	told, _ := l.stands(h)
	for {
		select {
		case <-ctx.Done():
			return false
		case <-l.over:
			return false
		case <-looked:
		}
		until, gone := l.stands(h)
		left := until.Sub(time.Now().Round(0)) // by the clock of the file
		var err error
		if !gone && until.Equal(told) && l.due(left) {
			err = l.putOff()
			until, gone = l.stands(h)
		}
		switch {
		case gone:
			l.d.Now().Log.Info("a lease was released by a person", "candidate", h.ID)
			return false
		case !until.Equal(told) || again():
			return true
		case err != nil && left <= 0:
			l.d.Now().Log.Warn("a lease is over: it could not be put off", "candidate", h.ID, "error", err)
			return false
		case err != nil && !said && ctx.Err() == nil:
			said = true
			l.d.Now().Log.Warn("a lease could not be put off; it is tried again", "candidate", h.ID, "until", until, "error", err)
		}
	}
}

// due says of a lease that lasts for so long still whether it is to be put off. One that lasts longer than a lease can is, too: the clock was set back.
func (l *leases) due(left time.Duration) bool {
	return left <= LeaseLasts-l.Renewed || left > LeaseLasts
}

// stands says when the hold of a lease ends, and whether it was found gone.
func (l *leases) stands(h *snapshot.Hold) (until time.Time, gone bool) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return *h.Until, l.Open[h]
}

// Put places the hold of a lease, and lifts those of leases that were left by a daemon that has ended.
func (l *leases) Put(ctx context.Context, h *snapshot.Hold) error {
	return l.InFile(func(g *ledger.Grants) error {
		all, err := g.Leases(ctx)
		if err != nil {
			return err
		}
		mine := map[string]bool{} // after a suspension their ends may be long past, until they are put off
		l.Mu.Lock()
		for have := range l.Open {
			mine[have.Owner] = true
		}
		l.Mu.Unlock()
		for _, old := range all {
			if !mine[old.Owner] && l.abandoned(old) {
				if _, err := g.Release(ctx, old.ID, old.Owner); err != nil {
					return err
				}
			}
		}
		until := leaseUntil()
		h.Until = &until
		if err := g.Lease(ctx, *h); err != nil {
			return err
		}
		l.Mu.Lock()
		defer l.Mu.Unlock()
		l.Open[h] = false
		return nil
	})
}

// abandoned reports whether a lease of another daemon has lapsed, and had some minutes ago, by a clock that stands still in a suspension: after one its daemon puts it off again.
func (l *leases) abandoned(h snapshot.Hold) bool {
	if h.Until == nil || h.Until.After(time.Now()) {
		delete(l.lapsed, h.Owner)
		return false
	}
	since, seen := l.lapsed[h.Owner]
	if !seen {
		l.lapsed[h.Owner] = time.Now()
	}
	return seen && time.Since(since) >= l.Lasts
}

// putOff puts off the ends of all leases, also of those that are not due: so the file is opened and written once for all of them.
func (l *leases) putOff() error {
	return l.InFile(func(g *ledger.Grants) error {
		var all []*snapshot.Hold
		var holds []snapshot.Hold
		due := false
		l.Mu.Lock()
		for h, gone := range l.Open {
			if !gone {
				all, holds = append(all, h), append(holds, *h)
				due = due || l.due(h.Until.Sub(time.Now().Round(0)))
			}
		}
		l.Mu.Unlock()
		if !due { // another one has just done it
			return nil
		}
		until := leaseUntil()
		there, err := g.PutOff(context.Background(), holds, until)
		if err != nil {
			return err
		}
		l.Mu.Lock()
		defer l.Mu.Unlock()
		for i, h := range all {
			if _, open := l.Open[h]; open && there[i] {
				h.Until = &until
			} else if open {
				l.Open[h] = true
			}
		}
		return nil
	})
}

// LeaseOwner begins the owner of each lease's hold.
const LeaseOwner = "lease "

// leaseUntil is when a lease ends that is put off now, by the clock alone.
func leaseUntil() time.Time { return time.Now().UTC().Round(0).Add(LeaseLasts) }

// end lifts the hold of a lease.
func (l *leases) end(h *snapshot.Hold) {
	err := l.InFile(func(g *ledger.Grants) error {
		_, err := g.Release(context.Background(), h.ID, h.Owner)
		return err
	})
	l.Mu.Lock()
	defer l.Mu.Unlock()
	delete(l.Open, h)
	if err != nil && h.Until != nil { // else nothing was placed
		l.d.Now().Log.Warn("the hold of a lease that ended could not be lifted; it ends by itself", "candidate", h.ID, "until", *h.Until, "error", err)
	}
}

// InFile does something in the file of the leases, together with all else that waits for it: to open it costs more than what is done there, and hundreds of leases may begin and end at once.
func (l *leases) InFile(do func(*ledger.Grants) error) error {
	this := leaseWork{do, make(chan error, 1)}
	l.Mu.Lock()
	l.queue = append(l.queue, this)
	begins := !l.busy
	l.busy = true
	l.Mu.Unlock()
	if begins {
		go l.work()
	}
	return <-this.done
}

// work does what waits for the file until nothing does.
func (l *leases) work() {
	for {
		l.Mu.Lock()
		batch := l.queue
		l.queue = nil
		l.busy = len(batch) > 0
		l.Mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for i, err := range l.together(batch) {
			batch[i].done <- err
		}
	}
}

// together opens the file once for several.
func (l *leases) together(batch []leaseWork) []error {
	errs := make([]error, len(batch))
	each := func(do func(i int) error) {
		for i := range batch {
			errs[i] = errors.Join(errs[i], do(i))
		}
	}
	a := l.d.Now()
	g, err := a.OpenGrants()
	if err != nil {
		each(func(int) error { return err })
		return errs
	}
	each(func(i int) error { return batch[i].do(g) })
	err = g.Close()
	each(func(int) error { return err })
	return errs
}
