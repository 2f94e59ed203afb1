package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/metrics"
	"github.com/winnow-reaper/winnow/internal/notify"
	"github.com/winnow-reaper/winnow/internal/version"
)

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
			m = metrics.New(version.Read().Version, d.measured)
		}
		address, stop, err := m.Serve(ctx, where, d.Log.Named("metrics"))
		if err != nil {
			return nil, err
		}
		if d.metrics == nil {
			d.metrics = m
			d.Listen(func(e Ended) {
				if errors.As(e.Err, new(*ledger.Held)) {
					return // another sweep had the lock, and nothing failed
				}
				m.Swept(metrics.Sweep{Why: e.Why, Took: e.At.Sub(e.Began), At: e.At, Report: e.Report, Failed: e.Err != nil})
			})
		}
		d.Log.Info("metrics are served", "address", address)
		return stop, nil
	},
}

// measured is how the daemon stands, for a scrape.
func (d *Daemon) measured() metrics.State {
	s := d.Status()
	out := metrics.State{Mode: s.Mode, Pressed: s.Pressure != "", Wakes: s.Wakes, Reloads: s.Reloads - s.ReloadsFailed, ReloadsFailed: s.ReloadsFailed, Next: s.Next, Policies: s.Policies,
		Disagreed: s.Disagreed, Listening: map[string]int{}, Deaf: map[string]int{}}
	for name, state := range s.Events {
		kind, _, _ := strings.Cut(name, "/")
		out.Listening[kind] += 0 // both lines are there from the start
		out.Deaf[kind] += 0
		if state.Listening {
			out.Listening[kind]++
		} else {
			out.Deaf[kind]++
		}
	}
	for _, b := range s.Brakes {
		out.Brakes = append(out.Brakes, b.Rule)
	}
	return out
}
