package ops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/notify"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
)

// Brakes are the brakes that hold.
func (o *Ops) Brakes(ctx context.Context) ([]brakes.Brake, error) {
	m := brakes.Memory{}
	err := o.ReadLedger(func(l *ledger.Ledger) error { return l.Brakes(ctx, &m) })
	return m.Tripped, err
}

// ReleaseBrakes releases brakes, all of them where none is named, and gives those that held.
func (o *Ops) ReleaseBrakes(ctx context.Context, rules []string) ([]brakes.Brake, error) {
	for _, r := range rules {
		if !slices.Contains(brakes.Rules, r) {
			return nil, config.Usagef("unknown brake %q%s", r, spelling.Hint(r, brakes.Rules))
		}
	}
	l, err := o.openLedger("nothing was released")
	if err != nil {
		return nil, err
	}
	m := brakes.Memory{}
	err = l.Brakes(ctx, &m)
	next, released := m.Releases(rules...)
	if err == nil && len(released) > 0 {
		err = l.SaveBrakes(ctx, next)
	}
	return released, errors.Join(err, l.Close())
}

// Shortage says in words what the machine is short of by the limits of run.pressure, "" where it is short of nothing that is known.
func Shortage(p *snapshot.Pressure, by config.Pressure) string {
	if p == nil {
		return ""
	}
	var out []string
	over := func(share *float64, limit config.Ratio, what string) {
		if share != nil && limit > 0 && *share >= float64(limit) {
			out = append(out, fmt.Sprintf("%s stalled %.0f %% of the last minute", what, 100**share))
		}
	}
	under := func(share *float64, limit config.Ratio, what string) {
		if share != nil && limit > 0 && *share < float64(limit) {
			out = append(out, fmt.Sprintf("%.1f %% of %s left", 100**share, what))
		}
	}
	over(p.MemorySome, by.Memory, "memory")
	over(p.IOSome, by.IO, "disks")
	under(p.DiskFree, by.DiskFree, "a disk")
	under(p.InodesFree, by.InodesFree, "a disk's inodes")
	return strings.Join(out, ", ")
}

// The times of notifications that are not configured: before the second try, and for what is left to send at the end.
const (
	notifyWait = 2 * time.Second
	notifyLast = 3 * time.Second
)

// NotifyOptions are what the configuration says of notifications.
func (o *Ops) NotifyOptions() notify.Options {
	c := o.Cfg.Notify
	out := notify.Options{
		On: c.On, Names: c.Names, Rest: c.Rest, Forget: c.Forget, Tries: c.Tries, Wait: notifyWait, Timeout: c.Timeout, Last: notifyLast,
	}
	out.Host, _ = os.Hostname() // a message without it says all the rest
	if c.Desktop {
		out.Sinks = append(out.Sinks, notify.Desktop{Env: os.Getenv})
	}
	for _, w := range c.Webhooks {
		out.Sinks = append(out.Sinks, notify.Webhook{URL: w.URL, URLFile: w.URLFile, Format: w.Format, TokenFile: w.TokenFile, Header: w.Header, Within: c.Timeout})
	}
	return out
}

// Pause stops all acts of this user, for so long or, with 0, until Resume. It gives the pause that stands.
func (o *Ops) Pause(ctx context.Context, long time.Duration, reason string) (lock.Pause, error) {
	if stands := o.LastsLonger(long); stands != nil {
		return *stands, nil
	}
	p, err := o.PlacePause(ctx, long, reason)
	if err != nil {
		err = fmt.Errorf("%w; nothing is paused", err)
	}
	return p, err
}

// PausePath is the file of a pause of this user's.
func (o *Ops) PausePath() string { return o.Acting.PausePath(o.Cfg.State) }

// EndPause ends a pause.
func (o *Ops) EndPause() (document.Resumed, error) {
	was, err := o.Resume()
	return document.Resumed{Resumed: was}, err
}
