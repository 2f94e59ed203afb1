package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
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
