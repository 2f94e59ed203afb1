package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
)

// pressureEvery is how often the daemon asks between sweeps: three small files and a statfs each.
const pressureEvery = 15 * time.Second

// hurries has sweeps come sooner while the machine is short of something, and says when that begins and ends.
func (d *daemon) hurries(now time.Time) {
	by := d.Cfg.Run.Pressure
	short := pressed(d.Pressure(), by)
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

// pressed says in words what the machine is short of by the limits of run.pressure, "" where it is short of nothing that is known.
func pressed(p *snapshot.Pressure, by config.Pressure) string {
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
