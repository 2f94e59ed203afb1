// Package spelling finds the name that a person most likely meant.
package spelling

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Near gives the name that was most likely meant by s, "" where none is near.
func Near(s string, names []string) string {
	near, dist := "", 1<<30
	for _, n := range slices.Sorted(slices.Values(names)) {
		if d := levenshtein.ComputeDistance(strings.ToLower(s), strings.ToLower(n)); d < dist && IsNear(s, n) {
			near, dist = n, d
		}
	}
	return near
}

// Hint is what a message says of a name that is not known: the one that was meant where one is near, else what may be written where these are
// few. It begins with a semicolon, or is empty.
func Hint(s string, names []string) string {
	const few = 8
	switch near := Near(s, names); {
	case near != "":
		return fmt.Sprintf("; the nearest is %q", near)
	case len(names) > 0 && len(names) <= few:
		return "; it is one of " + strings.Join(slices.Sorted(slices.Values(names)), ", ")
	}
	return ""
}

// IsNear reports whether a name may have been meant by what was written: a third of its letters may differ, two at least, or it begins
// with it.
func IsNear(written, name string) bool {
	written, name = strings.ToLower(written), strings.ToLower(name)
	if name == "" || len(written) > 4*len(name) {
		return false
	}
	d := levenshtein.ComputeDistance(written, name)
	return d <= max(2, len(name)/3) && d < len(name) || len(written) >= 3 && strings.HasPrefix(name, written)
}
