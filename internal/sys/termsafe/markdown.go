package termsafe

import (
	"regexp"
	"strings"
	"sync"
)

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
