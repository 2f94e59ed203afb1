package main

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/text"
)

// supervised tells the service manager how the daemon stands (sd_notify(3)), where one asks: NOTIFY_SOCKET is set.
var supervised = part{
	name: "systemd",
	by:   func(*config.Config) any { return nil },
	begin: func(_ context.Context, d *daemon) (func(), error) {
		if os.Getenv("NOTIFY_SOCKET") == "" {
			return nil, nil
		}
		d.manager = &manager{d: d}
		forget := d.listen(func(e ended) { d.manager.says(statusLine(e)) })
		unwatch := d.manager.watched()
		return func() { unwatch(); forget() }, nil
	},
}

// manager is the service manager that started the daemon. A nil one is told nothing.
type manager struct {
	d *daemon
	// moved is when the loop last did something, in nanoseconds of the steady clock since the program started.
	moved atomic.Int64
}

// says sends lines of sd_notify(3). What cannot be told is a line of the log.
func (m *manager) says(state string) {
	if m == nil {
		return
	}
	if _, err := systemd.SdNotify(false, state); err != nil {
		m.d.Log.Debug("tell the service manager", "error", err)
	}
}

func (m *manager) ready(doing string) {
	m.says(systemd.SdNotifyReady + "\nSTATUS=" + doing + ", before the first sweep")
}

func (m *manager) stopping() { m.says(systemd.SdNotifyStopping) }

// reloading says that SIGHUP is being followed, and gives what says that it was.
func (m *manager) reloading() (done func()) {
	m.says(systemd.SdNotifyReloading + "\n" + systemd.SdNotifyMonotonicUsec())
	return func() { m.says(systemd.SdNotifyReady) }
}

// statusLine is the line that systemctl status shows.
func statusLine(e ended) string {
	s := e.Status
	line := s.Mode
	switch {
	case e.Err != nil:
		line += ", and the latest sweep failed"
	case e.Report != nil:
		goes := 0
		for _, c := range e.Report.Census {
			goes += c.Reap
		}
		line += fmt.Sprintf(", %s to go at %s", text.Plural(goes, "candidate"), e.At.Format(time.TimeOnly))
	}
	return "STATUS=" + line
}

var started = time.Now()

// moves notes that the loop lives.
func (m *manager) moves() {
	if m != nil {
		m.moved.Store(int64(time.Since(started)))
	}
}

// longest is for how long a sweep may last before the manager hears nothing more: its looks and acts are bounded each, and the removal of a large folder is what takes longest.
const longest = time.Hour

// lives reports whether the loop moved lately.
func (m *manager) lives(within time.Duration) bool {
	if m.d.Status().Sweeping {
		within = longest
	}
	return time.Since(started)-time.Duration(m.moved.Load()) < within
}

// watched shows the manager that the daemon lives, twice in each time that it gave for that (WatchdogSec), until the function that it gives is called. A loop that hangs shows
// nothing, and the manager starts the daemon again.
func (m *manager) watched() (stop func()) {
	m.moves()
	within, err := systemd.SdWatchdogEnabled(false)
	if err != nil || within <= 0 {
		return func() {}
	}
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(within / 2)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				if m.lives(max(within, 3*pressureEvery)) { // the loop wakes as often as it asks for the pressure
					m.says(systemd.SdNotifyWatchdog)
				}
			}
		}
	}()
	return func() { close(over); <-done }
}
