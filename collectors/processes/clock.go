package processes

import (
	"bytes"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// bootTime is btime of the root's stat: when the machine booted, to the second.
func bootTime(r *root) (time.Time, bool) {
	text, err := read(r.fd, "stat", make([]byte, 16<<10), 64<<20)
	if err != nil {
		return time.Time{}, false
	}
	for line := range bytes.Lines(text) {
		value, ok := bytes.CutPrefix(line, []byte("btime "))
		if !ok {
			continue
		}
		seconds, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
		return time.Unix(seconds, 0).UTC(), err == nil
	}
	return time.Time{}, false
}

// bootID is sys/kernel/random/boot_id, "" where it cannot be read.
func bootID(r *root) string {
	return firstLine(r, "sys/kernel/random/boot_id")
}

func firstLine(r *root, name string) string {
	text, err := readOnce(r.fd, name, make([]byte, 4<<10))
	if err != nil {
		return ""
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return string(line)
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
// nil where the kernel has none.
type Moment struct {
	At        time.Time
	Up, Awake *float64
}

// closeBy is how far apart the readings of one moment may be, in seconds.
const closeBy = 0.001

// Now reads the clocks together, so that two moments can be compared whatever is done between reading one and using it. It reads again
// when it was held up between them, and takes the closest reading of a few. The time awake is never above the time up.
func Now() Moment {
	var best Moment
	var apart float64
	for i := range tries {
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
