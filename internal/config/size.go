package config

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// Size is an amount of storage in bytes, written with a unit: 500MB, 20GB, 1.5GiB.
type Size int64

var sizes = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([kKMGT]i?B?|B)$`)

// units lead from the first letter of a unit to its power of 1000, or of 1024 with an i behind it.
var units = map[byte]float64{'B': 0, 'k': 1, 'K': 1, 'M': 2, 'G': 3, 'T': 4}

const sizeForm = "write 500MB, 20GB or 1.5GiB"

// ParseSize reads a size. A bare number other than 0 has no unit.
func ParseSize(s string) (Size, error) {
	if s == "0" {
		return 0, nil
	}
	m := sizes.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("%q is no size: %s", s, sizeForm)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no size: %s", s, sizeForm)
	}
	base := 1000.0
	if len(m[2]) > 1 && m[2][1] == 'i' {
		base = 1024
	}
	if n *= math.Pow(base, units[m[2][0]]); n >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is out of range", s)
	}
	return Size(n), nil
}

// size reads a value that stands for an amount of storage.
func size(data any) (Size, error) {
	switch x := data.(type) {
	case string:
		return ParseSize(x)
	case int:
		if x == 0 {
			return 0, nil
		}
		return 0, fmt.Errorf("%d has no unit: write %dMB or %dGB", x, x, x)
	}
	return 0, fmt.Errorf("%v is no size: %s", data, sizeForm)
}
