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
