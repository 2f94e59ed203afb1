package main

import (
	"testing"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ops"
)

func TestPressed(t *testing.T) {
	t.Parallel()
	by := config.Pressure{Memory: 0.1, IO: 0.3, DiskFree: 0.05, InodesFree: 0.02}
	for name, c := range map[string]struct {
		p    *snapshot.Pressure
		by   config.Pressure
		want string
	}{
		"nothing is known":  {nil, by, ""},
		"no fact":           {&snapshot.Pressure{}, by, ""},
		"calm":              {&snapshot.Pressure{MemorySome: new(0.09), IOSome: new(0.2), DiskFree: new(0.05), InodesFree: new(0.02)}, by, ""},
		"memory":            {&snapshot.Pressure{MemorySome: new(0.1)}, by, "memory stalled 10 % of the last minute"},
		"a disk":            {&snapshot.Pressure{DiskFree: new(0.01)}, by, "1.0 % of a disk left"},
		"inodes and disks":  {&snapshot.Pressure{IOSome: new(0.5), InodesFree: new(0.0)}, by, "disks stalled 50 % of the last minute, 0.0 % of a disk's inodes left"},
		"limits of nothing": {&snapshot.Pressure{MemorySome: new(1.0), IOSome: new(1.0), DiskFree: new(0.0), InodesFree: new(0.0)}, config.Pressure{}, ""},
	} {
		if got := ops.Shortage(c.p, c.by); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
