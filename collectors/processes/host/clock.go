package host

import (
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// BootTime is when the machine booted, to the second; nil is unknown.
func (r *Root) BootTime() *time.Time {
	p, err := procfs.NewFS(r.Path)
	if err != nil {
		return nil
	}
	st, err := p.Stat()
	if err != nil || st.BootTime == 0 {
		return nil
	}
	return new(time.Unix(int64(st.BootTime), 0).UTC())
}

// clock reads one of the kernel's clocks, in seconds.
func clock(id int32) *float64 {
	var t unix.Timespec
	if unix.ClockGettime(id, &t) != nil {
		return nil
	}
	return new(float64(t.Sec) + float64(t.Nsec)/1e9)
}

// Moment is one moment by three clocks: the wall's, CLOCK_BOOTTIME as Up and CLOCK_MONOTONIC as Awake, both in seconds since boot and
// nil where the kernel does not have that clock.
type Moment struct {
	At        time.Time
	Up, Awake *float64
}

// closeBy is how far apart the readings of one moment may be, in seconds.
const closeBy = 0.001

// Now reads the clocks together, so that two moments can be compared, however late one is used. It reads again
// when it was held up between them, and takes the closest reading of a few. The time awake is never above the time up.
func Now() Moment {
	var best Moment
	var apart float64
	for i := range 3 {
		before := clock(unix.CLOCK_BOOTTIME)
		m := Moment{Awake: clock(unix.CLOCK_MONOTONIC), At: time.Now().Round(0).UTC()}
		if m.Up = clock(unix.CLOCK_BOOTTIME); before == nil || m.Up == nil {
			return m
		}
		if took := *m.Up - *before; i == 0 || took < apart {
			best, apart = m, took
		}
		if apart <= closeBy {
			break
		}
	}
	return best
}
