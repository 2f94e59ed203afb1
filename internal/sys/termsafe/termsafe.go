// Package termsafe makes text from the world safe to print. A name can hold what moves a terminal's cursor, hides or reorders
// what stands around it, or is not text at all; here each of those becomes visible, and nothing else changes.
//
// A code point that is not printed as it is becomes \u{202e}, its number in hexadecimal; a byte that is not UTF-8 becomes \x{9b}.
// A backslash that stands before u{ or x{ becomes \u{5c}, so that two different texts never look the same.
package termsafe

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
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

// OrUnknown is what v points to in that format, "unknown" for nil: a part of a text that Differ compares.
func OrUnknown[T any](format string, v *T) string {
	if v == nil {
		return "unknown"
	}
	return fmt.Sprintf(format, *v)
}

// Quote makes s safe to paste into a shell. What a terminal should not get is written in the way that bash, zsh and ksh read back, so
// that the command still means s.
func Quote(s string) string {
	if Line(s) != s {
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

// Code is s as code in markdown, in a table too. Nothing in code is a link, a mention, a picture or HTML; what could end the code or the
// cell is escaped as Line does it.
func Code(s string) string {
	return code(Line(s))
}

// code is Code of what Line gave.
func code(line string) string {
	if strings.TrimSpace(line) == "" {
		return ""
	}
	return "`" + noCode.Replace(line) + "`"
}

// noCode are the two characters that end code and a table's cell; there is no other escape for them that every reader of markdown
// understands.
var noCode = strings.NewReplacer("`", `\u{60}`, "|", `\u{7c}`)

// Cell is a message in markdown. Plain words and numbers stay as they are, and what is anything else is code: names, paths,
// addresses, mentions of people, and all that looks like markup.
func Cell(s string) string {
	var out, other []string
	end := func() {
		if len(other) > 0 {
			name, mark := strings.Join(other, " "), ""
			if n := len(name) - 1; n > 0 && (name[n] == ',' || strings.IndexByte(name, ':') == n) { // of the sentence, not of the name
				name, mark = name[:n], name[n:]
			}
			out = append(out, code(name)+mark)
			other = nil
		}
	}
	for _, w := range strings.Split(Line(s), " ") {
		switch {
		case w == "":
		case word().MatchString(w):
			end()
			out = append(out, w)
		default:
			other = append(other, w)
		}
	}
	end()
	return strings.Join(out, " ")
}

// word matches what means nothing in markdown, wherever it stands, and to no program that makes links of numbers and addresses: letters
// with single marks of punctuation around them, or a number with a unit. It is compiled when markdown is first written.
var word = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[("']?([\p{L}\p{M}]+(['’_-][\p{L}\p{M}]+)*|[0-9]{1,6}([.,][0-9]{1,6})?(ms|s|m|h|d|%|[KMGT]?i?B)?)["')]?[,;:.!?]?$`)
})
