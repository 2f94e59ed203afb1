package daemon

import (
	"time"

	"github.com/winnow-reaper/winnow/internal/ops"
)

// pressureEvery is how often the daemon asks between sweeps: three small files and a statfs each.
const pressureEvery = 15 * time.Second

// adjustSchedule has sweeps come sooner while the machine is short of something, and says when that begins and ends.
func (d *Daemon) adjustSchedule(now time.Time) {
	by := d.Cfg.Run.Pressure
	short := ops.Shortage(d.Pressure(), by)
	factor := 1.0
	if short != "" {
		factor = float64(by.Hurry)
	}
	d.Pace.Hurry(now, factor)
	d.mu.Lock()
	before := d.status.Pressure
	d.status.Pressure = short
	d.mu.Unlock()
	switch {
	case before == "" && short != "":
		d.Base = nil // rules of one's own may ask for it
		d.Say("this machine is short of something (%s): sweeps come %g times as often", short, factor)
	case before != "" && short == "":
		d.Base = nil
		d.Say("this machine is short of nothing any more: sweeps come as often as configured")
	}
}
