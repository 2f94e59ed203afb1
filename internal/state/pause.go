package state

import (
	"context"
	"time"

	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// LastsLonger is the pause that holds, where a program asks by the API for one that would end before it: none ends what a person or another program paused for longer.
func (f *Folder) LastsLonger(long time.Duration) *lock.Pause {
	if f.Asker.Conn == nil || f.CommandLine || long == 0 {
		return nil
	}
	p := f.Paused()
	if p == nil || p.Until != nil && !p.Until.After(time.Now().Add(long)) {
		return nil
	}
	return p
}

// PlacePause writes a pause down, and gives it.
func (f *Folder) PlacePause(ctx context.Context, long time.Duration, reason string) (lock.Pause, error) {
	now := host.Now()
	p := lock.Pause{Since: now.At, Reason: reason}
	if long > 0 {
		until := now.At.Add(long)
		p.Until = &until
		if boot, err := proc.BootID(f.Cfg.Collect.Processes.Root); err == nil && now.Up != nil {
			p.BootID, p.UntilUp = boot, *now.Up+long.Seconds()
		}
	}
	_, err := f.Acting.Pause(ctx, f.Cfg.State, p)
	return p, err
}

// Resume ends a pause, and reports whether one held.
func (f *Folder) Resume() (bool, error) { return f.Acting.Resume(f.Cfg.State) }

// Paused gives the pause that holds now, nil when it is missing.
func (f *Folder) Paused() *lock.Pause {
	return f.Acting.Paused(f.Cfg.State, func() (string, float64) {
		boot, err := proc.BootID(f.Cfg.Collect.Processes.Root)
		up := host.Now().Up
		if err != nil || up == nil {
			return "", 0
		}
		return boot, *up
	})
}

// Halted says why nothing may be done now, nil where something may.
func (f *Folder) Halted() error {
	if p := f.Paused(); p != nil {
		return p
	}
	return nil
}
