// Package termsafe makes text from the world safe to print. A name can hold what moves a terminal's cursor, hides or reorders
// what stands around it, or is not text at all; here each of those becomes visible, and nothing else changes.
//
// A code point that is not printed as it is becomes \u{202e}, its number in hexadecimal; a byte that is not UTF-8 becomes \x{9b}.
// A backslash that stands before u{ or x{ becomes \u{5c}, so that two different texts never look the same.
package termsafe

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line is s on one line: line breaks and tabs are escaped too. It is for names, and for messages that hold some.
//
// What stays is what Unicode calls letters, marks, numbers, punctuation and symbols of any script, the space, and the wide space
// of East Asian text. What goes is all else: controls (C0, DEL, C1), what reorders text, what has no width, other spaces, private
// and unassigned code points. The joiners U+200C and U+200D go everywhere: whether they can be seen depends on what stands around
// them, so a name with them is shown with their numbers. Of the variation selectors only U+FE0F stays, and only behind a
// symbol, where it makes the symbol an emoji. A mark stays behind what it can stand on, and not more than maxMarks of them.
func Line(s string) string { return escape(s, false) }

// Lines is Line for text whose line breaks are meant: they stay.
func Lines(s string) string { return escape(s, true) }

// maxMarks is how many combining marks may follow one another. Written languages need four; many more run over the lines above.
const maxMarks = 8

const emojiStyle = '\uFE0F'

func escape(s string, breaks bool) string {
	if untouched(s, breaks) {
		return s
	}
	var b strings.Builder
	var base rune // what a mark would stand on, 0 for nothing
	marks := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		mark := unicode.Is(unicode.M, r)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x{%02x}`, s[i])
			base = 0
		case r == '\n' && breaks:
			b.WriteByte('\n')
			base = 0
		case hidden(r), mark && (base == 0 || base == ' ' || marks >= maxMarks), r == emojiStyle && (marks > 0 || !unicode.Is(unicode.So, base)),
			r == '\\' && marked(s[i+1:]):
			fmt.Fprintf(&b, `\u{%x}`, r)
			base = 0
		default:
			b.WriteString(s[i : i+n])
			if mark {
				marks++
			} else {
				base, marks = r, 0
			}
		}
		i += n
	}
	return b.String()
}

// untouched is true for most text: ASCII without controls and escapes.
func untouched(s string, breaks bool) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\n' && breaks:
		case c < ' ' || c >= 0x7f || c == '\\' && marked(s[i+1:]):
			return false
		}
	}
	return true
}

// marked reports whether a backslash before s would look like an escape.
func marked(s string) bool { return strings.HasPrefix(s, "u{") || strings.HasPrefix(s, "x{") }

// wideSpace is the space between words of East Asian text, as wide as a letter there.
const wideSpace = '\u3000'

// hidden reports whether a code point is never printed as it is, wherever it stands.
func hidden(r rune) bool {
	if r < 0x7f {
		return r < ' '
	}
	return r != wideSpace && !unicode.IsPrint(r) || unicode.Is(blank, r)
}

// blank are letters, marks and symbols that show nothing: those of Unicode's Default_Ignorable_Code_Point that unicode.IsPrint takes
// for printed ones (but for U+FE0F), the empty Braille pattern, and the sign for an object that is not there.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034F, Hi: 0x034F, Stride: 1}, // combining grapheme joiner
		{Lo: 0x115F, Hi: 0x1160, Stride: 1}, // Hangul fillers
		{Lo: 0x17B4, Hi: 0x17B5, Stride: 1}, // Khmer inherent vowels
		{Lo: 0x180B, Hi: 0x180F, Stride: 1}, // Mongolian variation selectors
		{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // empty Braille pattern
		{Lo: 0x3164, Hi: 0x3164, Stride: 1}, // Hangul filler
		{Lo: 0xFE00, Hi: 0xFE0E, Stride: 1}, // variation selectors
		{Lo: 0xFFA0, Hi: 0xFFA0, Stride: 1}, // half-width Hangul filler
		{Lo: 0xFFFC, Hi: 0xFFFC, Stride: 1}, // object replacement
	},
	R32: []unicode.Range32{
		{Lo: 0xE0000, Hi: 0xE0FFF, Stride: 1}, // tags, variation selectors
	},
}

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
