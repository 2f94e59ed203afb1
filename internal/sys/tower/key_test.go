package tower

import (
	"regexp"
	"strings"
	"testing"
)

// TestWhatAKeyLooksLike holds the loops against the regular expressions that they stand for.
func TestWhatAKeyLooksLike(t *testing.T) {
	t.Parallel()
	forms := map[string]func(string) bool{`^[0-9a-fA-F]{64}$`: inFile, `^[!-~]{1,512}$`: inEnv}
	hex := strings.Repeat("0123456789abcDEF", 4)
	texts := []string{"", "\n", hex, hex + "\n", hex + "0", hex[1:], "g" + hex[1:], hex[1:] + "g", hex[:30] + "-" + hex[31:], strings.Repeat("a", 512), strings.Repeat("a", 513),
		"a b", "a\x00", "ä", "a\xff", "\u2028", "~!", "\x7f", " "}
	for c := range 256 {
		texts = append(texts, string(rune(c)), string([]byte{byte(c)}), "a"+string([]byte{byte(c)})+"b", hex[:63]+string([]byte{byte(c)}))
	}
	for form, is := range forms {
		re := regexp.MustCompile(form)
		for _, text := range texts {
			if want := re.MatchString(text); is(text) != want {
				t.Errorf("%s of %q: %v, want %v", form, text, !want, want)
			}
		}
	}
}
