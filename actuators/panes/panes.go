// Package panes holds what the actuators below it share, whichever program the panes are of: the end of processes that outlive their
// panes, and what an act keeps in the trash. Processes are held by internal/proc/act, under whose names they are known here too.
package panes

import (
	"context"
	"time"

	"winnow/internal/proc"
	"winnow/internal/proc/act"
)

type (
	// Held is a process that is held.
	Held = act.Held
	// Stat is what a process's stat file says.
	Stat = proc.Stat
)

// ErrEnded says that a process has ended.
var ErrEnded = proc.ErrEnded

// Hold is act.Hold.
func Hold(procRoot string, pid int) (*Held, error) { return act.Hold(procRoot, pid) }

// Ended is proc.Ended.
func Ended(err error) bool { return proc.Ended(err) }

// ParseStat is proc.ParseStat.
func ParseStat(text []byte) (Stat, error) { return proc.ParseStat(text) }

// Scan is proc.Scan.
func Scan(procRoot string) (map[int]Stat, error) { return proc.Scan(procRoot) }

// Hidden is proc.Hidden.
func Hidden(all map[int]Stat) error { return proc.Hidden(all) }

// Alive is proc.Alive.
func Alive(procRoot string, pid int, ticks uint64) (bool, error) {
	return proc.Alive(procRoot, pid, ticks)
}

// Await is act.Await.
func Await(ctx context.Context, hs []*Held, d time.Duration) []*Held { return act.Await(ctx, hs, d) }

// Turns is Held.Turns.
func Turns(h *Held) (uint64, error) { return h.Turns() }

// Typed is Held.Typed.
func Typed(h *Held) (int, error) { return h.Typed() }
