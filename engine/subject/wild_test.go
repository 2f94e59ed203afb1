package subject

import "testing"

func TestWild(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"a", "", false}, {"a", "a", true}, {"a", "b", false}, {"ab", "a", false},
		{"*", "", true}, {"*", "abc", true}, {"*b", "ab", true}, {"*b", "ba", false}, {"a*", "a", true}, {"a*", "ba", false},
		{"a*c", "abc", true}, {"a*c", "ac", true}, {"a*b*c", "a1b2c", true}, {"a*b*c", "acb", false}, {"é*", "éa", true},
	} {
		if got := wild(c.pattern, c.text); got != c.want {
			t.Errorf("wild(%q, %q) is %v", c.pattern, c.text, got)
		}
	}
}
