package termsafe

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON is the JSON text b with every code point that a terminal should not get written as \uXXXX. It means the same: in JSON such a
// code point can only stand in a string, where both are one. What is not UTF-8 becomes \ufffd, as encoding/json writes it.
func JSON(b []byte) []byte {
	var out []byte
	from := 0 // what lies before it is in out
	for i := 0; i < len(b); {
		if b[i] < 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 || hidden(r) {
			out = appendJSON(append(out, b[from:i]...), r)
			from = i + n
		}
		i += n
	}
	if from == 0 {
		return b
	}
	return append(out, b[from:]...)
}

func appendJSON(out []byte, r rune) []byte {
	if hi, lo := utf16.EncodeRune(r); hi != utf8.RuneError {
		return fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
	}
	return fmt.Appendf(out, `\u%04x`, r)
}
