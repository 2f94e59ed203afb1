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

// Near gives the name that s was most likely meant to be: at most a third of s is another character, and one at least may be. "" where all
// are further away. A name that begins with s, or the other way round, is near.
func Near(s string, names []string) string {
	n := Nearest(s, names)
	switch {
	case n == "" || s == "":
		return ""
	case levenshtein.ComputeDistance(s, n) <= max(1, len([]rune(s))/3):
		return n
	}
	sorted := slices.Sorted(slices.Values(names))
	for _, name := range sorted {
		if len(s) >= 3 && (strings.HasPrefix(name, s) || strings.HasPrefix(s, name)) {
			return name
		}
	}
	return ""
}

// Meant is the end of a message about a name that does not exist: which one was meant, where one is near, else all that there are.
func Meant(s string, names []string) string {
	if n := Near(s, names); n != "" {
		return "did you mean " + n + "?"
	}
	return "it is one of " + strings.Join(names, ", ")
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
