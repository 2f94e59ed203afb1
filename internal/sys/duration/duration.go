// Package duration reads durations as people write them in Winnow's files: Go's, and days of 24 hours in front of them.
package duration

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
)

var days = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)d(.*)$`)

// Parse is time.ParseDuration with days of 24 hours in front: 2d, 1d12h.
func Parse(s string) (time.Duration, error) {
	m := days.FindStringSubmatch(s)
	if m == nil {
		return time.ParseDuration(s)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, err
	}
	var rest time.Duration
	if m[2] != "" {
		if rest, err = time.ParseDuration(m[2]); err != nil {
			return 0, err
		}
	}
	sum := n*24*float64(time.Hour) + float64(rest)
	if rest < 0 || sum >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is out of range", s)
	}
	return time.Duration(n*24*float64(time.Hour)) + rest, nil
}

// Value reads a value of a file that stands for a time. A bare number other than 0 has no unit, and an empty text is not a zero.
func Value(data any) (time.Duration, error) {
	switch x := data.(type) {
	case string:
		if x == "0" {
			return 0, nil
		}
		d, err := Parse(x)
		if err != nil {
			return 0, fmt.Errorf("%q is no duration: write 90s, 15m, 48h or 2d", x)
		}
		if d < 0 {
			return 0, fmt.Errorf("%s is negative", x)
		}
		return d, nil
	case int:
		if x == 0 {
			return 0, nil
		}
		return 0, fmt.Errorf("%d has no unit: write %ds, %dm or %dh", x, x, x, x)
	}
	return 0, fmt.Errorf("%v is no duration: write 90s, 15m, 48h or 2d", data)
}
