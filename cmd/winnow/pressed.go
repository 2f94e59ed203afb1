package main

import (
	"time"

	"github.com/winnow-reaper/winnow/internal/ops"
)

// pressureEvery is how often the daemon asks between sweeps: three small files and a statfs each.
const pressureEvery = 15 * time.Second

// hurries has sweeps come sooner while the machine is short of something, and says when that begins and ends.
func (d *daemon) hurries(now time.Time) {
	by := d.Cfg.Run.Pressure
	short := ops.Shortage(d.Pressure(), by)
	factor := 1.0
	if short != "" {
		factor = float64(by.Hurry)
	}
	d.pace.Hurry(now, factor)
	d.mu.Lock()
	before := d.status.Pressure
	d.status.Pressure = short
	d.mu.Unlock()
	switch {
	case before == "" && short != "":
		d.base = nil // rules of one's own may ask for it
		d.tell("this machine is short of something (%s): sweeps come %g times as often", short, factor)
	case before != "" && short == "":
		d.base = nil
		d.tell("this machine is short of nothing any more: sweeps come as often as configured")
	}
}
