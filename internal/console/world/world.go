// Package world is this machine for the console: operations, one at a time, and a look while somebody reads.
package world

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/console"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/render"
	"github.com/winnow-reaper/winnow/internal/report"
)

// World is this machine for the console: the functions behind the commands, one at a time.
type World struct {
	// loadConfig reads the configuration again.
	loadConfig func() (*config.Config, error)
	// turn is held by whoever looks, judges or acts, and guards the next two.
	turn   chan struct{}
	engine *eval.Engine
	// seen is what the latest look saw.
	seen *snapshot.Snapshot

	mu sync.Mutex
	// ops are the operations as they are configured now, with the policies that were loaded for that. Nobody writes to them.
	ops     *ops.Ops
	last    *report.Report
	problem string
	looks   int
	// asked is when a page was last asked for, ended and took are of the latest look, dirty asks for a look soon, and ledger is how the ledger stood at the latest look.
	asked, ended time.Time
	took         time.Duration
	dirty        bool
	ledger       string
	// daemon is how winnow run stood when it was last asked.
	daemon      *client.State
	daemonAsked time.Time
}

const (
	// leastRest is the least time from the end of one look to the next that no person asked for; a look that takes long is followed by a rest of so many times that.
	leastRest, share = 3 * time.Second, 4
	// asleep is after how long without a reader nothing is looked at.
	asleep = 2 * time.Minute
)

// New loads the policies. load reads the configuration again.
func New(ctx context.Context, from *ops.Ops, load func() (*config.Config, error)) (*World, error) {
	w := &World{ops: from, loadConfig: load, turn: make(chan struct{}, 1), dirty: true}
	return w, w.load(ctx, from.Cfg)
}

// Begin looks while somebody reads, until the function that it gives is called. What is under way then comes to its end, and nothing else begins.
func (w *World) Begin(ctx context.Context) (end func()) {
	within, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() { defer close(watched); w.watch(within) }()
	return func() {
		stop()
		<-watched
		w.turn <- struct{}{}
	}
}

// take waits for the turn.
func (w *World) take(ctx context.Context) (done func(), err error) {
	select {
	case w.turn <- struct{}{}:
		return func() { <-w.turn }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%w; nothing was done", context.Cause(ctx))
	}
}

// now gives the operations as they are configured now.
func (w *World) now() *ops.Ops {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ops
}

func (w *World) Close() {
	if err := w.engine.Close(); err != nil {
		w.now().Log.Warn("end what evaluates the policies", "error", err)
	}
}

// load takes a configuration and its policies in the place of those before. After an error these go on.
func (w *World) load(ctx context.Context, cfg *config.Config) error {
	with := *w.now()
	with.Cfg, with.Workers = cfg, nil
	e, _, err := with.Engine(ctx)
	if err != nil {
		return err
	}
	if w.engine != nil {
		w.Close()
	}
	w.engine = e
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ops = &with
	return nil
}

// reload reads the configuration and the policies again.
func (w *World) reload(ctx context.Context) error {
	a := w.now()
	cfg, err := w.loadConfig()
	if err == nil && cfg.State != a.Cfg.State {
		err = fmt.Errorf("state has become %s: start winnow console again for another state folder", cfg.State)
	}
	if err == nil {
		err = w.load(ctx, cfg)
	}
	return err
}

// quiet are the operations with what they say to a person kept in said.
func (w *World) quiet(said *bytes.Buffer) *ops.Ops {
	a := *w.now()
	a.Tell, a.Watch = func(line string) { fmt.Fprintln(said, line) }, nil
	return &a
}

// words are what was said, on one line.
func words(said *bytes.Buffer) string {
	var out []string
	for line := range strings.Lines(said.String()) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "; ")
}

// watch looks while somebody reads, until ctx ends.
func (w *World) watch(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if w.due(w.ledgerStamp()) {
			w.look(ctx)
		}
		w.askDaemon(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// daemonEvery is how often winnow run is asked how it stands, while somebody reads.
const daemonEvery = 5 * time.Second

// askDaemon asks winnow run how it stands, where that is due.
func (w *World) askDaemon(ctx context.Context) {
	w.mu.Lock()
	due := time.Since(w.asked) < asleep && time.Since(w.daemonAsked) > daemonEvery
	w.mu.Unlock()
	if !due {
		return
	}
	var stands *client.State
	if cfg := w.now().Cfg; cfg.Run.API.Enabled {
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		c := client.New(cfg.APISocket())
		defer c.Close()
		if s, err := c.State(short); err == nil {
			stands = &s
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.daemon, w.daemonAsked = stands, time.Now()
}

// Daemon implements console.World.
func (w *World) Daemon() (stands *client.State, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.daemon, !w.daemonAsked.IsZero()
}

// due reports whether to look now.
func (w *World) due(ledger string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := time.Since(w.ended)
	switch {
	case w.dirty:
		return w.problem == "" || rest > leastRest
	case time.Since(w.asked) > asleep:
		return false
	case w.last == nil || ledger != w.ledger || rest > w.ops.Cfg.Console.Every:
		return rest > max(leastRest, share*w.took)
	}
	return false
}

// look looks and decides, and remembers nothing of it.
func (w *World) look(ctx context.Context) {
	done, err := w.take(ctx)
	if err != nil {
		return
	}
	defer done()
	w.mu.Lock()
	w.dirty = false
	w.mu.Unlock()
	stamp, began := w.ledgerStamp(), time.Now()
	var said bytes.Buffer
	r, snap, err := w.quiet(&said).OnlyLook(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		w.now().Log.Warn("look for the console", "error", err)
	}
	w.looked(r, snap, err, stamp, time.Since(began))
}

// looked takes note of a look that ended. The brakes that hold are alarms too: they are the daemon's, and no look finds them.
func (w *World) looked(r *report.Report, snap *snapshot.Snapshot, err error, stamp string, took time.Duration) {
	if err == nil {
		w.seen = snap
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended, w.took, w.ledger = time.Now(), took, stamp
	w.looks++
	if w.problem = ""; err != nil {
		w.problem = err.Error()
		return
	}
	w.last = r
}

// ledgerStamp changes when the ledger or the pause does.
func (w *World) ledgerStamp() string {
	var out strings.Builder
	a := w.now()
	path := a.LedgerPath()
	for _, name := range []string{path, path + "-wal", a.Acting.PausePath(a.Cfg.State)} {
		if st, err := os.Lstat(name); err == nil {
			fmt.Fprintf(&out, "%x.%x-", st.ModTime().UnixNano(), st.Size())
		} else {
			out.WriteString("0-")
		}
	}
	return out.String()
}

// Look implements console.World.
func (w *World) Look() (*report.Report, string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = time.Now()
	return w.last, w.problem
}

// Stamp implements console.World.
func (w *World) Stamp() string {
	stamp := w.ledgerStamp()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = time.Now()
	stamp += strconv.Itoa(w.looks)
	if w.daemon != nil {
		stamp += fmt.Sprint(w.daemon.Mode, w.daemon.Problem, len(w.daemon.Brakes))
	}
	return stamp + strconv.FormatBool(w.daemonAsked.IsZero())
}

// alone does something for the console while nothing else looks or acts, and has it look again soon. The answer is what do gives, behind what was said to a person.
func (w *World) alone(ctx context.Context, do func(*ops.Ops) (string, error)) (string, error) {
	done, err := w.take(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	var said bytes.Buffer
	answer, err := do(w.quiet(&said))
	w.mu.Lock()
	w.dirty = true
	w.mu.Unlock()
	if err != nil && said.Len() > 0 {
		return "", fmt.Errorf("%w; %s", err, words(&said))
	}
	fmt.Fprintln(&said, answer)
	return words(&said), err
}

// Sweep implements console.World.
func (w *World) Sweep(ctx context.Context) (string, error) {
	done, err := w.take(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	if err := w.reload(ctx); err != nil {
		return "", fmt.Errorf("the configuration or the policies were not read again, and those before go on: %w", err)
	}
	var said bytes.Buffer
	a, began := w.quiet(&said), time.Now()
	r, snap, err := a.DryRun(ctx)
	if err != nil {
		return "", err
	}
	w.looked(r, snap, nil, w.ledgerStamp(), time.Since(began))
	return report.Headline(r) + "; nothing was changed", nil
}

// Explain implements console.World.
func (w *World) Explain(ctx context.Context, id string) (*console.Explanation, error) {
	done, err := w.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if w.seen == nil {
		return nil, errors.New("the first look is under way; load the page again in a moment")
	}
	x, err := w.quiet(&bytes.Buffer{}).ExplainLatest(ctx, w.seen, id)
	if err != nil {
		return nil, err
	}
	d := x.Decision()
	out := &console.Explanation{Explanation: x, Owner: d.Owner, About: d.About}
	if x.Subject != nil {
		out.Users = usersOf(x.Subject.Dir)
	}
	return out, nil
}

// usersOf says of each process that uses a folder how it does.
func usersOf(d *snapshot.Dir) (out []string) {
	if d == nil {
		return nil
	}
	for _, h := range d.Holders {
		out = append(out, fmt.Sprintf("%s (%d) %s", h.Name, h.PID, cmp.Or(render.HoldsBy[h.How], "uses it")))
	}
	return out
}

// Holds implements console.World.
func (w *World) Holds(ctx context.Context) (holds []snapshot.Hold, err error) {
	return w.now().ReadHolds(ctx)
}

// Acts implements console.World.
func (w *World) Acts(ctx context.Context, since time.Time) (document.History, error) {
	return w.now().History(ctx, since)
}

// Trash implements console.World.
func (w *World) Trash(ctx context.Context) ([]document.SetAside, error) {
	return w.quiet(&bytes.Buffer{}).Trash(ctx)
}

// Policies implements console.World.
func (w *World) Policies(ctx context.Context) (*console.Policies, error) {
	a := w.now()
	p := a.Policy
	rules, err := a.Configured(ctx)
	if err != nil {
		return nil, err
	}
	out := &console.Policies{Revision: p.Revision, Digest: p.Digest, Bundles: a.BundleRefs(), Layers: rules.Shown(p),
		Exceptions: report.Exceptions(a.Cfg.Rules.Exceptions, time.Now(), nil)}
	for id, r := range p.Rules() {
		one := console.Rule{ID: id, Title: r.Title, Description: r.Description, File: r.File, Line: r.Line}
		for _, l := range a.Cfg.Rules.Levels {
			if l.Rule == id {
				one.Levels = append(one.Levels, l.Level+" for "+l.Kind)
			}
		}
		out.Rules = append(out.Rules, one)
	}
	slices.SortFunc(out.Rules, func(x, y console.Rule) int { return cmp.Compare(x.ID, y.ID) })
	return out, nil
}

// Paused implements console.World.
func (w *World) Paused() *ledger.Pause { return w.now().Paused() }

// Hold implements console.World. It looks first: what may not be held, and whose session it is, is known only then.
func (w *World) Hold(ctx context.Context, id, reason string, long time.Duration) (string, error) {
	return w.alone(ctx, func(a *ops.Ops) (string, error) {
		h, err := a.RetainWhole(ctx, id, reason, long)
		return render.Held(h), err
	})
}

// Release implements console.World.
func (w *World) Release(ctx context.Context, id string) (string, error) {
	return w.alone(ctx, func(a *ops.Ops) (string, error) {
		out, err := a.ReleaseHold(ctx, id)
		return render.Released(out), err
	})
}

// Restore implements console.World.
func (w *World) Restore(ctx context.Context, act string) (string, error) {
	return w.alone(ctx, func(a *ops.Ops) (string, error) {
		back, err := a.RestoreWhole(ctx, act)
		var said strings.Builder
		render.Restored(&said, back)
		return said.String(), err
	})
}

// Purge implements console.World.
func (w *World) Purge(ctx context.Context, acts []string) (string, error) {
	return w.alone(ctx, func(a *ops.Ops) (string, error) {
		out, err := a.Purge(ctx, acts...)
		if err != nil {
			return "", err
		}
		var said bytes.Buffer
		render.Paint{}.Emptied(&said, out)
		if len(out.Left) > 0 {
			return "", errors.New(words(&said))
		}
		return said.String(), nil
	})
}

// Pause implements console.World.
func (w *World) Pause(ctx context.Context, long time.Duration, reason string) (string, error) {
	return w.alone(ctx, func(a *ops.Ops) (string, error) {
		p, err := a.Pause(ctx, long, reason)
		return render.Paused(p, a.PausePath()), err
	})
}

// Resume implements console.World.
func (w *World) Resume(ctx context.Context) (string, error) {
	return w.alone(ctx, func(a *ops.Ops) (string, error) {
		out, err := a.EndPause()
		if err == nil && !out.Resumed {
			err = errors.New("nothing was paused")
		}
		return render.Resumed(out), err
	})
}
