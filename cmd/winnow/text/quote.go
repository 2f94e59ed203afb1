package text

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Quote makes s safe to paste into a shell. What a terminal should not get is written in the way that bash, zsh and ksh read back, so
// that the command still means s.
func Quote(s string) string {
	if Clean(s) != s {
		return quoteHidden(s)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@%+=:,./-_~", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func quoteHidden(s string) string {
	var b strings.Builder
	b.WriteString("$'")
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\'' || c == '\\':
			b.WriteString(`\` + string(c))
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// Nearest gives the closest of names by edit distance; ties go to the first in order.
func Nearest(s string, names []string) string {
	best, dist := "", 1<<30
	sorted := slices.Sorted(slices.Values(names))
	for _, n := range sorted {
		if d := levenshtein.ComputeDistance(s, n); d < dist {
			best, dist = n, d
		}
	}
	return best
}
