package keep_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gobwas/glob"

	"github.com/winnow-reaper/winnow/engine/keep"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// TestAGlobMeansWhatItMeansInPolicies compares with the matcher of policies. A path means itself, what lies below it, and for a folder what it lies above.
func TestAGlobMeansWhatItMeansInPolicies(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	text := func(letters ...string) string {
		var s string
		for range 1 + random.IntN(7) {
			s += letters[random.IntN(len(letters))]
		}
		return s
	}
	met := map[bool]int{}
	for range 20000 {
		pattern, name := text("a", "b", ".", "/", "*", "**", "?"), text("a", "b", "/", ".", "\n", "\xff")
		above := []string{}
		for at, c := range pattern {
			if c == '/' && at > 0 {
				above = append(above, pattern[:at])
			}
		}
		below := []string{pattern, pattern + "/**"}
		if rest, ok := strings.CutSuffix(pattern, "/**"); ok {
			below = append(below, rest)
		}
		matches := func(p string) bool { return glob.MustCompile(p, '/').Match(name) }
		label := keep.NewMatcher(snapshot.Match{Label: pattern}, "")
		path := keep.NewMatcher(snapshot.Match{Path: pattern}, "")
		_, got := label.Matches(keep.Names{Labels: []string{name}}, false)
		_, place := path.Matches(keep.Names{Paths: []string{name}}, false)
		_, folder := path.Matches(keep.Names{Paths: []string{name}}, true)
		wantPlace := slices.ContainsFunc(below, matches)
		wantFolder := wantPlace || slices.ContainsFunc(above, matches)
		if clean := !strings.Contains(pattern+"/", "//") && !strings.HasSuffix(name, "/"); got != matches(pattern) || clean && (place != wantPlace || folder != wantFolder) {
			t.Fatalf("%q and %q: want %t %t %t, got %t %t %t", pattern, name, matches(pattern), wantPlace, wantFolder, got, place, folder)
		}
		met[folder]++
	}
	if met[true] < 1000 || met[false] < 1000 {
		t.Errorf("too few of one kind were met: %v", met)
	}
}

// TestAttackGlobsThatTakeLong does not end where the time of a match grows as the number of ways in which it could match.
func TestAttackGlobsThatTakeLong(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"*?", "*a", "**a", "*/", "**a/", "?"} {
		pattern = strings.Repeat(pattern, 500/len(pattern)) + "c"
		m := keep.NewMatcher(snapshot.Match{Path: pattern}, "")
		for _, name := range []string{strings.Repeat("a", 255), strings.Repeat("a/", 2000), strings.Repeat(strings.Repeat("a", 255)+"/", 15)} {
			if _, matches := m.Matches(keep.Names{Paths: []string{name + "b"}}, false); matches {
				t.Errorf("%.20q matches %.20q", pattern, name)
			}
		}
	}
}
