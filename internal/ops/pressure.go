package ops

import (
	"fmt"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
)

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
