package termsafe

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

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
