// Package pictures draws what the program shows as SVG: the cells of a terminal, and a page of a browser.
package pictures

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// The size of a cell, and what lies around all of them. A font of 14 pixels has cells of this width in nearly every font with one width.
const (
	cell   = 8.43
	row    = 20
	margin = 18
)

// Scheme says in which colours a picture is drawn.
type Scheme string

const (
	Light Scheme = "light"
	Dark  Scheme = "dark"
	// Both has the reader's own choice decide.
	Both Scheme = "both"
)

// The colours: ground, line, ink, dim ink, and the eight of a terminal.
var (
	lightInk = []string{"#fbfbf9", "#d0d5d1", "#1c211f", "#626b67", "#1c211f", "#a3201f", "#176b3a", "#835400", "#1a56b0", "#7d3397", "#0d6470", "#626b67"}
	darkInk  = []string{"#141715", "#343b37", "#e3e8e5", "#98a29d", "#5d6762", "#ff9d94", "#7fd1a0", "#eac06c", "#8ab4f8", "#d7a3ea", "#74cfd9", "#e3e8e5"}
)

func variables(colours []string) string {
	var b strings.Builder
	for i, c := range colours {
		fmt.Fprintf(&b, "--c%d:%s;", i, c)
	}
	return b.String()
}

func (s Scheme) style() string {
	switch s {
	case Light:
		return "svg{" + variables(lightInk) + "}"
	case Dark:
		return "svg{" + variables(darkInk) + "}"
	}
	return "svg{" + variables(lightInk) + "}\n@media(prefers-color-scheme:dark){svg{" + variables(darkInk) + "}}"
}

// pen is how cells are written. Colours are of CSS; "" is the terminal's own.
type pen struct {
	ink, ground        string
	bold, dim, reverse bool
	italic, underline  bool
}

// span is a piece of a line in one pen.
type span struct {
	at, width int
	text      string
	pen       pen
}

func indexed(n int) string {
	switch {
	case n < 16:
		return fmt.Sprintf("var(--c%d)", 4+n%8)
	case n < 232:
		level := func(v int) int {
			if v == 0 {
				return 0
			}
			return 55 + 40*v
		}
		n -= 16
		return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6))
	}
	grey := 8 + 10*(n-232)
	return fmt.Sprintf("#%02x%02x%02x", grey, grey, grey)
}

// change applies the numbers of one escape to the pen.
func (p *pen) change(codes string) {
	var n []int
	for code := range strings.FieldsFuncSeq(codes, func(r rune) bool { return r == ';' || r == ':' }) {
		v, _ := strconv.Atoi(code)
		n = append(n, v)
	}
	if len(n) == 0 {
		n = []int{0}
	}
	for i := 0; i < len(n); i++ {
		colour := &p.ink
		if n[i] == 48 {
			colour = &p.ground
		}
		switch c := n[i]; {
		case c == 0:
			*p = pen{}
		case c == 1:
			p.bold = true
		case c == 2:
			p.dim = true
		case c == 3:
			p.italic = true
		case c == 4:
			p.underline = true
		case c == 7:
			p.reverse = true
		case c == 22:
			p.bold, p.dim = false, false
		case c == 23:
			p.italic = false
		case c == 24:
			p.underline = false
		case c == 27:
			p.reverse = false
		case c >= 30 && c <= 37:
			p.ink = indexed(c - 30)
		case c >= 90 && c <= 97:
			p.ink = indexed(c - 90)
		case c >= 40 && c <= 47:
			p.ground = indexed(c - 40)
		case c >= 100 && c <= 107:
			p.ground = indexed(c - 100)
		case c == 39:
			p.ink = ""
		case c == 49:
			p.ground = ""
		case (c == 38 || c == 48) && i+2 < len(n) && n[i+1] == 5:
			*colour = indexed(n[i+2])
			i += 2
		case (c == 38 || c == 48) && i+4 < len(n) && n[i+1] == 2:
			*colour = fmt.Sprintf("#%02x%02x%02x", n[i+2], n[i+3], n[i+4])
			i += 4
		}
	}
}

// spans parts a line where the pen changes, and after two or more spaces, so that columns stay columns in every font.
func spans(line string, p *pen) (out []span) {
	at := 0
	var text strings.Builder
	begun := 0
	flush := func() {
		if text.Len() > 0 {
			out = append(out, span{begun, at - begun, text.String(), *p})
		}
		text.Reset()
		begun = at
	}
	for line != "" {
		if strings.HasPrefix(line, "\x1b[") {
			end := strings.IndexFunc(line[2:], func(r rune) bool { return r >= '@' && r <= '~' })
			if end < 0 {
				break
			}
			if line[2+end] == 'm' {
				flush()
				p.change(line[2 : 2+end])
			}
			line = line[3+end:]
			continue
		}
		if strings.HasPrefix(line, "\x1b") || line[0] == '\x0f' || line[0] == '\x0e' { // the choice of a character set
			line = strings.TrimPrefix(line, "\x1b(B")
			line = strings.TrimLeft(line, "\x0e\x0f\x1b")
			continue
		}
		spaces := len(line) - len(strings.TrimLeft(line, " "))
		if spaces > 1 && p.ground == "" && !p.reverse && !p.underline {
			flush()
			at += spaces
			begun = at
			line = line[spaces:]
			continue
		}
		cluster, width := ansi.FirstGraphemeCluster(line, ansi.GraphemeWidth)
		text.WriteString(cluster)
		at += width
		line = line[len(cluster):]
	}
	flush()
	return out
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}

// Terminal draws the lines of a terminal with so many columns, as tmux captures them with their escapes.
func Terminal(title, captured string, columns int, scheme Scheme) []byte {
	lines := strings.Split(strings.TrimRight(captured, "\n "), "\n")
	width, height := float64(columns)*cell+2*margin, len(lines)*row+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d" role="img" aria-label="%s">`+"\n", width, height, width, height, escape(title))
	fmt.Fprintf(&b, "<title>%s</title>\n<style>\n%s\n", escape(title), scheme.style())
	b.WriteString("text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre;fill:var(--c2)}\n" +
		".b{font-weight:700}.d{fill:var(--c3)}.i{font-style:italic}.u{text-decoration:underline}\n</style>\n")
	fmt.Fprintf(&b, `<rect x=".5" y=".5" width="%.0f" height="%d" rx="8" fill="var(--c0)" stroke="var(--c1)"/>`+"\n", width-1, height-1)
	var p pen
	for i, line := range lines {
		y := margin + i*row
		var texts strings.Builder
		for _, s := range spans(line, &p) {
			x, wide := margin+float64(s.at)*cell, float64(s.width)*cell
			ink, ground := s.pen.ink, s.pen.ground
			if s.pen.reverse {
				ink, ground = firstOf(ground, "var(--c0)"), firstOf(ink, "var(--c2)")
			}
			if ground != "" {
				fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", x, y, wide, row, ground)
			}
			if strings.TrimSpace(s.text) != "" {
				fmt.Fprintf(&texts, `<tspan x="%.1f" textLength="%.1f"%s>%s</tspan>`, x, wide, s.pen.attributes(ink), escape(s.text))
			}
		}
		if texts.Len() > 0 {
			fmt.Fprintf(&b, "<text y=\"%d\">%s</text>\n", y+15, texts.String())
		}
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func (p pen) attributes(ink string) (out string) {
	class := ""
	for _, c := range []struct {
		is   bool
		name string
	}{{p.bold, "b"}, {p.dim && ink == "", "d"}, {p.italic, "i"}, {p.underline, "u"}} {
		if c.is {
			class += " " + c.name
		}
	}
	if class != "" {
		out += ` class="` + class[1:] + `"`
	}
	if ink != "" {
		out += ` style="fill:` + ink + `"`
	}
	return out
}
