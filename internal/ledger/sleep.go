package ledger

import (
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// maxOff is for how long a machine is taken to have been off between a look and the next boot: a long weekend. It may have been up for
// most of it, and without such a bound nothing would ever grow old where looks are rare and boots are not.
const maxOff = 72 * time.Hour

// maxStretches is how many stretches of sleep are kept. Older ones are joined to one, which makes ages shorter and never longer.
const maxStretches = 64

// Asleep says when the machine slept, from the last look and what host shows at the time at. It is a pure function.
//
// Between two looks of one boot that is by how much the time suspended grew, or the wall clock more than the time awake: a clock that
// was set ahead makes nothing older. Before a boot the machine was off since the last look, for at most maxOff. Where nothing is
// remembered it may have slept all that it slept since the boot just now, and of the time before the boot nothing is known and nothing
// left out. Where this look's own clocks are unknown, so is the answer.
func Asleep(prev *Look, host snapshot.Host, at time.Time) *[]snapshot.Asleep {
	if host.BootID == "" || host.BootedAt == nil || host.UpSeconds == nil || host.AwakeSeconds == nil {
		return nil
	}
	at = at.Round(0)
	out, suspended := []snapshot.Asleep{}, seconds(*host.UpSeconds-*host.AwakeSeconds)
	switch {
	case prev == nil || prev.Asleep == nil:
		out = stretch(out, *host.BootedAt, at, suspended)
	case prev.BootID != host.BootID:
		out = stretch(append(out, *prev.Asleep...), prev.At, *host.BootedAt, off(prev.At, *host.BootedAt))
		out = stretch(out, *host.BootedAt, at, suspended)
	case prev.UpSeconds == nil || prev.AwakeSeconds == nil:
		out = stretch(append(out, *prev.Asleep...), *host.BootedAt, at, suspended)
	default:
		before := seconds(*prev.UpSeconds - *prev.AwakeSeconds)
		awake := seconds(*host.AwakeSeconds - *prev.AwakeSeconds)
		out = stretch(append(out, *prev.Asleep...), prev.At, at, max(suspended-before, at.Sub(prev.At)-awake))
	}
	return new(fewer(out))
}

// off is for how long the machine may have been off between a look and a boot. A look that is later than the boot had another clock.
func off(last, booted time.Time) time.Duration {
	if gap := booted.Sub(last); gap > 0 {
		return min(gap, maxOff)
	}
	return maxOff
}

// stretch adds a stretch of sleep, if it is one. Where the wall clock was put back in it, it goes from the earlier time to the later.
func stretch(list []snapshot.Asleep, from, until time.Time, length time.Duration) []snapshot.Asleep {
	if length <= suspendedSlack {
		return list
	}
	if until.Before(from) {
		from, until = until, from
	}
	return append(list, snapshot.Asleep{From: from.UTC(), Until: until.UTC(), Seconds: length.Seconds()})
}

// fewer joins the oldest stretches to one where there are too many.
func fewer(list []snapshot.Asleep) []snapshot.Asleep {
	for len(list) > maxStretches {
		a, b := list[0], list[1]
		if b.From.Before(a.From) {
			a.From = b.From
		}
		if b.Until.After(a.Until) {
			a.Until = b.Until
		}
		a.Seconds += b.Seconds
		list = slices.Replace(list, 0, 2, a)
	}
	return list
}
