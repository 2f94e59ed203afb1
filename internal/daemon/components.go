package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/metrics"
	"github.com/winnow-reaper/winnow/internal/notify"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/version"
)

// Component runs beside the loop of the daemon: it tells others of its sweeps, or answers them.
type Component struct {
	Name string
	// Once is true for a component that is begun for winnow run --once too.
	Once bool
	// InState is true for a component that others find by the state folder.
	InState bool
	// By gives what the component was configured with. It is begun again when a reload changed that.
	By func(*config.Config) any
	// Begin starts the component and gives what ends it, nil where the configuration asks for none. An error says what was not started and what to do.
	Begin func(context.Context, *Daemon) (end func(), err error)
}

// running is a component that was begun.
type running struct {
	by  any
	end func()
}

// StartAll starts every component, or those alone that one sweep has. After an error those that were begun are ended.
func (d *Daemon) StartAll(ctx context.Context, once bool) (end func(), err error) {
	d.running = make([]running, len(d.Options.Components))
	end = func() {
		for i := range slices.Backward(d.running) {
			d.end(i)
		}
	}
	for i, p := range d.Options.Components {
		if once && !p.Once {
			continue
		}
		if err := d.start(ctx, i); err != nil {
			end()
			return nil, err
		}
	}
	return end, nil
}

func (d *Daemon) start(ctx context.Context, i int) error {
	p := d.Options.Components[i]
	d.running[i].by = p.By(d.Cfg)
	end, err := p.Begin(ctx, d)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	d.running[i].end = end
	return nil
}

func (d *Daemon) end(i int) {
	if end := d.running[i].end; end != nil {
		d.running[i].end = nil
		end()
	}
}

// RestartChanged starts those components again that a reload configured otherwise, or that lost what they had. One that does not begin is left out, and a line says so; the next reload tries again.
func (d *Daemon) RestartChanged(ctx context.Context) {
	for i, p := range d.Options.Components {
		if reflect.DeepEqual(p.By(d.Cfg), d.running[i].by) {
			continue
		}
		d.end(i)
		if err := d.start(ctx, i); err != nil {
			d.running[i].by = nil
			d.Say("%v; sweeps go on without it", err)
		}
	}
}

// Ended is a sweep of the daemon that came to its end, for those who tell of it.
type Ended struct {
	Why       string
	Began, At time.Time
	// Report is nil where the sweep failed before it looked; where it failed later it says what was done before. Err is why it failed.
	Report *report.Report
	Err    error
	Status document.Status
}

// Listen has f hear of every sweep that ended, in the loop: it must not wait. The function that Listen gives ends that.
func (d *Daemon) Listen(f func(Ended)) (end func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listening++
	n := d.listening
	if d.listeners == nil {
		d.listeners = map[int]func(Ended){}
	}
	d.listeners[n] = f
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.listeners, n)
	}
}

// TellAll has all who listen hear of a sweep.
func (d *Daemon) TellAll(e Ended) {
	e.Status = d.Status()
	d.mu.Lock()
	all := slices.Collect(maps.Values(d.listeners))
	d.mu.Unlock()
	for _, f := range all {
		f(e)
	}
}

// Now gives the operations as they are configured now, for others than the loop. It is never written to.
func (d *Daemon) Now() *ops.Ops {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Ops
}

// Metrics counts the daemon's sweeps and answers Prometheus, where run.metrics has an address.
var Metrics = Component{
	Name: "run.metrics",
	By:   func(c *config.Config) any { return c.Run.Metrics },
	Begin: func(ctx context.Context, d *Daemon) (func(), error) {
		c := d.Cfg.Run.Metrics
		if c.Listen == "" {
			return nil, nil
		}
		where := metrics.Where{Listen: c.Listen, CertFile: c.CertFile, KeyFile: c.KeyFile}
		if c.TokenFile != "" {
			where.Token = func(ctx context.Context) (string, error) { return notify.Secret(ctx, c.TokenFile) }
			if _, err := where.Token(ctx); err != nil {
				return nil, fmt.Errorf("token_file: %w", err)
			}
		}
		m := d.metrics
		if m == nil { // counts outlive a reload
			m = metrics.New(version.Read().Version, d.Status)
		}
		address, stop, err := m.Serve(ctx, where, d.Log.Named("metrics"))
		if err != nil {
			return nil, err
		}
		if d.metrics == nil {
			d.metrics = m
			d.Listen(func(e Ended) {
				if errors.As(e.Err, new(*lock.Held)) {
					return // another sweep had the lock, and nothing failed
				}
				m.Swept(metrics.Sweep{Why: e.Why, Took: e.At.Sub(e.Began), At: e.At, Report: e.Report, Failed: e.Err != nil})
			})
		}
		d.Log.Info("metrics are served", "address", address)
		return stop, nil
	},
}
