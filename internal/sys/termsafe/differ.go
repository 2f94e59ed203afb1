package termsafe

import "strings"

// Differ gives the first line in which two texts differ, before and after, "nothing" for one that is missing; both are "" where the texts are equal.
func Differ(was, is string) (before, now string) {
	a, b := strings.Split(was, "\n"), strings.Split(is, "\n")
	for i := range max(len(a), len(b)) {
		before, now = "nothing", "nothing"
		if i < len(a) {
			before = a[i]
		}
		if i < len(b) {
			now = b[i]
		}
		if before != now {
			return before, now
		}
	}
	return "", ""
}
