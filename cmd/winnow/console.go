package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/engine/alarm"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/console"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/render"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newConsole(a *app) *cobra.Command {
	var port int
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Show everything in a browser on this machine, with holds, restore and pause",
		Long: `Console serves pages on this machine's loopback: what is here by owner, what would go and why, acts with restore, holds, the trash with sizes, alarms, and policies
with their levels. It prints an address with a token, which is new at every start; open it in a browser. Nobody gets in without it, nor as another user.

It ends nothing that lives: the pages can hold, release, bring back, pause, resume, look, and remove for good what lies in the trash, after they asked. It looks while a page is
open, at least every console.every, and when the ledger changes. It runs until it is interrupted.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("port") && (port < 0 || port > 65535) {
				return config.Mistakef("--port %d: it is a number from 1 to 65535, or 0 for a free one; nothing was started", port)
			}
			listen := a.Cfg.Console.Listen
			if at, err := netip.ParseAddrPort(listen); err == nil && cmd.Flags().Changed("port") {
				listen = net.JoinHostPort(at.Addr().String(), strconv.Itoa(port))
			}
			return a.console(cmd.Context(), listen)
		},
	}
	a.forms(cmd, "text", "json")
	cmd.Flags().IntVar(&port, "port", 0, "the `port`, in place of the one in console.listen; 0 for a free one")
	return cmd
}

// console is winnow console.
func (a *app) console(ctx context.Context, listen string) error {
	w := &consoleWorld{app: a, turn: make(chan struct{}, 1), dirty: true}
	if err := w.load(ctx, a.Cfg); err != nil {
		return err
	}
	defer w.close()
	server, err := console.Listen(w, listen, a.Log.Named("console"))
	if err != nil {
		return err
	}
	doc := map[string]string{"url": server.URL()}
	if err := a.say(doc, server.URL()+"\nopen this address in a browser of yours on this machine; it is good until winnow console ends, which an interrupt does"); err != nil {
		return err
	}
	within, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() { defer close(watched); w.watch(within) }()
	err = server.Serve(ctx)
	stop()
	<-watched
	w.turn <- struct{}{} // what is under way comes to its end, and nothing else begins
	return err
}

// consoleWorld is this machine for the console: the functions behind the commands, one at a time.
type consoleWorld struct {
	// turn is held by whoever looks, judges or acts, and guards the next two.
	turn   chan struct{}
	engine *eval.Engine
	// seen is what the latest look saw.
	seen *snapshot.Snapshot

	mu sync.Mutex
	// app is the program as it is configured now, with the policies that were loaded for it. Nobody writes to it.
	app     *app
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
	// consoleRest is the least time from the end of one look to the next that no person asked for; a look that takes long is followed by a rest of so many times that.
	consoleRest, consoleShare = 3 * time.Second, 4
	// consoleAsleep is after how long without a reader nothing is looked at.
	consoleAsleep = 2 * time.Minute
)

// take waits for the turn.
func (w *consoleWorld) take(ctx context.Context) (done func(), err error) {
	select {
	case w.turn <- struct{}{}:
		return func() { <-w.turn }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%w; nothing was done", context.Cause(ctx))
	}
}

// now gives the program as it is configured now.
func (w *consoleWorld) now() *app {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.app
}

func (w *consoleWorld) close() {
	if err := w.engine.Close(); err != nil {
		w.now().Log.Warn("end what evaluates the policies", "error", err)
	}
}

// load takes a configuration and its policies in the place of those before. After an error these go on.
func (w *consoleWorld) load(ctx context.Context, cfg *config.Config) error {
	with := *w.now()
	with.Cfg, with.Workers = cfg, nil
	e, _, err := with.Engine(ctx)
	if err != nil {
		return err
	}
	if w.engine != nil {
		w.close()
	}
	w.engine = e
	w.mu.Lock()
	defer w.mu.Unlock()
	w.app = &with
	return nil
}

// reload reads the configuration and the policies again.
func (w *consoleWorld) reload(ctx context.Context) error {
	a := w.now()
	cfg, err := config.Load(a.flags.config, os.Environ())
	if err == nil {
		err = a.override(cfg)
	}
	if err == nil && cfg.State != a.Cfg.State {
		err = fmt.Errorf("state has become %s: start winnow console again for another state folder", cfg.State)
	}
	if err == nil {
		err = w.load(ctx, cfg)
	}
	return err
}

// quiet is the program with what it says to a person kept in said.
func (w *consoleWorld) quiet(said *bytes.Buffer) *app {
	a := *w.now()
	a.out, a.errOut, a.paint = said, said, render.Paint{}
	a.flags.format, a.drawing = "text", true
	return a.watched()
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
func (w *consoleWorld) watch(ctx context.Context) {
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

// consoleDaemon is how often winnow run is asked how it stands, while somebody reads.
const consoleDaemon = 5 * time.Second

// askDaemon asks winnow run how it stands, where that is due.
func (w *consoleWorld) askDaemon(ctx context.Context) {
	w.mu.Lock()
	due := time.Since(w.asked) < consoleAsleep && time.Since(w.daemonAsked) > consoleDaemon
	w.mu.Unlock()
	if !due {
		return
	}
	var stands *client.State
	if cfg := w.now().Cfg; cfg.Run.API.Enabled {
		short, cancel := context.WithTimeout(ctx, dialTimeout)
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
func (w *consoleWorld) Daemon() (stands *client.State, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.daemon, !w.daemonAsked.IsZero()
}

// due reports whether to look now.
func (w *consoleWorld) due(ledger string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := time.Since(w.ended)
	switch {
	case w.dirty:
		return w.problem == "" || rest > consoleRest
	case time.Since(w.asked) > consoleAsleep:
		return false
	case w.last == nil || ledger != w.ledger || rest > w.app.Cfg.Console.Every:
		return rest > max(consoleRest, consoleShare*w.took)
	}
	return false
}

// look looks and decides, and remembers nothing of it.
func (w *consoleWorld) look(ctx context.Context) {
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
	r, snap, err := w.quiet(&said).onlyLook(ctx, w.engine, w.now().Policy)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		w.now().Log.Warn("look for the console", "error", err)
	}
	w.looked(r, snap, err, stamp, time.Since(began))
}

// looked takes note of a look that ended. The brakes that hold are alarms too: they are the daemon's, and no look finds them.
func (w *consoleWorld) looked(r *report.Report, snap *snapshot.Snapshot, err error, stamp string, took time.Duration) {
	if err == nil {
		w.seen = snap
		tripped, err := w.now().Brakes(context.Background())
		if err != nil {
			w.now().Log.Warn("read the brakes", "error", err)
		}
		for _, b := range tripped {
			r.Alarms = append(r.Alarms, report.Alarm{Rule: "brake_" + b.Rule, Message: text.Time(b.At) + ": " + b.Message + "; the daemon only observes until winnow brakes release"})
		}
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

// onlyLook is a sweep that writes nothing down, not even what it saw: as a dry run, with what the ledger remembers.
func (a *app) onlyLook(ctx context.Context, e *eval.Engine, p *policy.Policy) (*report.Report, *snapshot.Snapshot, error) {
	s := &sweep.Sweeper{Machine: &a.Machine, Engine: e, Policy: p}
	mem := a.LoadPriorReadOnly(ctx)
	snap, err := a.LookFor(ctx, sources.Scope{}, mem, e)
	if err != nil {
		return nil, nil, err
	}
	res, err := e.Decide(ctx, snap, &a.Cfg.Rules.Config)
	if err != nil {
		return nil, nil, fmt.Errorf("decide: %w", err)
	}
	r := report.New(report.DryRun, "", snap, p, a.Ruled(snap), res, &a.Cfg.Rules.Config, snapshot.KindNames())
	a.SayBundles(r)
	a.AddSizes(ctx, snap, r.Decisions, sweep.MayGo)
	s.Foresee(ctx, r, snap, mem, res)
	var m alarm.Memory
	past, err := s.Past(ctx, snap) // without a ledger
	if err != nil {
		return nil, nil, err
	}
	err = a.ReadLedger(func(l *ledger.Ledger) (err error) {
		s.Ledger = l
		defer func() { s.Ledger = nil }()
		if past, err = s.Past(ctx, snap); err != nil {
			return err
		}
		s.Weigh(ctx, r)
		m, err = l.AlarmMemory(ctx)
		return err
	})
	if err != nil {
		a.Log.Warn("read what the ledger remembers", "error", err) // the look says so too, and keeps everything
	}
	r.Held((&sweep.CapOptions{}).Caps(a.Cfg).Plan(a.Touched(snapshot.KindNames()), res.Decisions, past))
	_, alarms := alarm.Look(m, snap, res.Decisions, s.RulesName(os.Environ()), a.Cfg.Alarms.Limits())
	for _, al := range alarms {
		r.Alarms = append(r.Alarms, report.Alarm{Rule: al.Rule, Message: al.Message + sweep.Next(al)})
	}
	return r, snap, nil
}

// ledgerStamp changes when the ledger or the pause does.
func (w *consoleWorld) ledgerStamp() string {
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
func (w *consoleWorld) Look() (*report.Report, string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = time.Now()
	return w.last, w.problem
}

// Stamp implements console.World.
func (w *consoleWorld) Stamp() string {
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
func (w *consoleWorld) alone(ctx context.Context, do func(*app) (string, error)) (string, error) {
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
func (w *consoleWorld) Sweep(ctx context.Context) (string, error) {
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
	r, snap, err := a.lookOnce(ctx, w.engine, a.Policy, sweep.Listing{Kinds: snapshot.KindNames()})
	if err != nil {
		return "", err
	}
	w.looked(r, snap, nil, w.ledgerStamp(), time.Since(began))
	return report.Headline(r) + "; nothing was changed", nil
}

// errNotThere says that a candidate has gone since a page was made.
var errNotThere = errors.New("it is not there any more; nothing was done. Sweep now shows what is")

// Explain implements console.World.
func (w *consoleWorld) Explain(ctx context.Context, id string) (*console.Explanation, error) {
	done, err := w.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if w.seen == nil {
		return nil, errors.New("the first look is under way; load the page again in a moment")
	}
	var said bytes.Buffer
	a, s := w.quiet(&said), *w.seen
	s.Dirs = maps.Clone(s.Dirs) // all about one folder is read into a copy
	if s.Dirs == nil {
		s.Dirs = map[string]snapshot.Dir{}
	}
	if err := errors.Join(a.PartInFull(ctx, &s, id), a.InFull(ctx, &s, id)); err != nil {
		return nil, fmt.Errorf("look into it: %w", err)
	}
	if _, there := s.Find(id); !there {
		return nil, console.ErrNotFound
	}
	x, err := a.ExplainBy(ctx, w.engine, a.Policy, &s, id)
	if err != nil {
		return nil, err
	}
	out := &console.Explanation{Explanation: x.Explanation, Main: x.Main, WouldChange: x.WouldChange, TakenAt: x.TakenAt, Sources: x.Sources}
	d := ops.Decided(x)
	out.Owner, out.About = d.Owner, d.About
	if x.Subject != nil {
		out.Users = usersOf(x.Subject.Dir)
	}
	if out.Refusal, err = a.Refusal(ctx, id); err != nil {
		return nil, err
	}
	trail, err := a.CheckTerminal(ctx, &s, id)
	for _, t := range trail {
		out.Trail = append(out.Trail, console.Question(t))
	}
	return out, err
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
func (w *consoleWorld) Holds(ctx context.Context) (holds []snapshot.Hold, err error) {
	return w.now().ReadHolds(ctx)
}

// Acts implements console.World.
func (w *consoleWorld) Acts(ctx context.Context, since time.Time) (sweeps []ledger.Sweep, acts []ledger.Act, err error) {
	h, err := w.now().History(ctx, since)
	return h.Sweeps, h.Acts, err
}

// Trash implements console.World.
func (w *consoleWorld) Trash(ctx context.Context) ([]console.Kept, error) {
	all, err := w.quiet(&bytes.Buffer{}).Trash(ctx)
	if err != nil {
		return nil, err
	}
	out := []console.Kept{}
	for _, x := range all {
		out = append(out, console.Kept{Act: x.Act, Bytes: x.Bytes})
	}
	return out, nil
}

// Policies implements console.World.
func (w *consoleWorld) Policies(ctx context.Context) (*console.Policies, error) {
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
func (w *consoleWorld) Paused() *ledger.Pause { return w.now().Paused() }

// Hold implements console.World. It looks first: what may not be held, and whose session it is, is known only then.
func (w *consoleWorld) Hold(ctx context.Context, id, reason string, long time.Duration) (string, error) {
	return w.alone(ctx, func(a *app) (string, error) {
		s, err := a.Look(ctx, sources.Scope{}, a.LoadPriorReadOnly(ctx))
		if err != nil {
			return "", err
		}
		if _, there := s.Find(id); !there { // a part of an id is not completed here
			return "", errNotThere
		}
		h, err := a.RetainIn(ctx, s, id, reason, long)
		return render.Held(h), err
	})
}

// Release implements console.World.
func (w *consoleWorld) Release(ctx context.Context, id string) (string, error) {
	return w.alone(ctx, func(a *app) (string, error) {
		out, err := a.ReleaseHold(ctx, id)
		return render.Released(out), err
	})
}

// Restore implements console.World.
func (w *consoleWorld) Restore(ctx context.Context, act string) (string, error) {
	return w.alone(ctx, func(a *app) (string, error) {
		back, err := a.RestoreWhole(ctx, act)
		var said strings.Builder
		render.Restored(&said, back)
		return said.String(), err
	})
}

// Purge implements console.World.
func (w *consoleWorld) Purge(ctx context.Context, acts []string) (string, error) {
	return w.alone(ctx, func(a *app) (string, error) {
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
func (w *consoleWorld) Pause(ctx context.Context, long time.Duration, reason string) (string, error) {
	return w.alone(ctx, func(a *app) (string, error) {
		p, err := a.Pause(ctx, long, reason)
		return render.Paused(p, a.PausePath()), err
	})
}

// Resume implements console.World.
func (w *consoleWorld) Resume(ctx context.Context) (string, error) {
	return w.alone(ctx, func(a *app) (string, error) {
		out, err := a.EndPause()
		if err == nil && !out.Resumed {
			err = errors.New("nothing was paused")
		}
		return render.Resumed(out), err
	})
}
