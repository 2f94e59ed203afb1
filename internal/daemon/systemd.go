package daemon

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

// Systemd tells the service manager how the daemon stands (sd_notify(3)), where one asks: NOTIFY_SOCKET is set.
var Systemd = Component{
	Name: "systemd",
	By:   func(*config.Config) any { return nil },
	Begin: func(_ context.Context, d *Daemon) (func(), error) {
		if os.Getenv("NOTIFY_SOCKET") == "" {
			return nil, nil
		}
		d.manager = &Manager{D: d}
		forget := d.Listen(func(e Ended) { d.manager.says(statusLine(e)) })
		unwatch := d.manager.watched()
		return func() { unwatch(); forget() }, nil
	},
}

// Manager is the service manager that started the daemon. A nil one is told nothing.
type Manager struct {
	D *Daemon
	// Moved is when the loop last did something, in nanoseconds of the steady clock since the program started.
	Moved atomic.Int64
}

// says sends lines of sd_notify(3). What cannot be told is a line of the log.
func (m *Manager) says(state string) {
	if m == nil {
		return
	}
	if _, err := systemd.SdNotify(false, state); err != nil {
		m.D.Now().Log.Debug("tell the service manager", "error", err)
	}
}

func (m *Manager) ready(doing string) {
	m.says(systemd.SdNotifyReady + "\nSTATUS=" + doing + ", before the first sweep")
}

func (m *Manager) stopping() { m.says(systemd.SdNotifyStopping) }

// reloading says that SIGHUP is being followed, and gives what says that it was.
func (m *Manager) reloading() (done func()) {
	m.says(systemd.SdNotifyReloading + "\n" + systemd.SdNotifyMonotonicUsec())
	return func() { m.says(systemd.SdNotifyReady) }
}

// statusLine is the line that systemctl status shows.
func statusLine(e Ended) string {
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

// Moves notes that the loop lives.
func (m *Manager) Moves() {
	if m != nil {
		m.Moved.Store(int64(time.Since(started)))
	}
}

// Longest is for how long a sweep may last before the manager hears nothing more: its looks and acts are bounded each, and the removal of a large folder is what takes longest.
const Longest = time.Hour

// Lives reports whether the loop moved lately.
func (m *Manager) Lives(within time.Duration) bool {
	if m.D.Status().Sweeping {
		within = Longest
	}
	return time.Since(started)-time.Duration(m.Moved.Load()) < within
}

// watched shows the manager that the daemon lives, twice in each time that it gave for that (WatchdogSec), until the function that it gives is called. A loop that hangs shows
// nothing, and the manager starts the daemon again.
func (m *Manager) watched() (stop func()) {
	m.Moves()
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
				if m.Lives(max(within, 3*pressureEvery)) { // the loop wakes as often as it asks for the pressure
					m.says(systemd.SdNotifyWatchdog)
				}
			}
		}
	}()
	return func() { close(over); <-done }
}
