// Package text is how reports and messages look to a person: columns, colours on a terminal, durations and sizes in words.
package text

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"

	"github.com/charmbracelet/x/ansi"

	"winnow/internal/plain"
)

// Paint colours text on a terminal, and only there.
type Paint struct {
	// On is true on a terminal that wants colours, Width its columns.
	On    bool
	Width int
}

func New(w io.Writer, off bool) Paint {
	tty, width := Terminal(w)
	on := tty && !off && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return Paint{On: on, Width: width}
}

func (p Paint) Style(st plain.Style, s string) string {
	if !p.On || s == "" {
		return s
	}
	return st.On(s)
}

func (p Paint) Bold(s string) string   { return p.Style(plain.Bold, s) }
func (p Paint) Dim(s string) string    { return p.Style(plain.Dim, s) }
func (p Paint) Red(s string) string    { return p.Style(plain.Red, s) }
func (p Paint) Green(s string) string  { return p.Style(plain.Green, s) }
func (p Paint) Yellow(s string) string { return p.Style(plain.Yellow, s) }

// Clean makes visible what a name from the world could do to a terminal, and keeps it on one line.
func Clean(s string) string { return plain.Line(s) }

// Pad fills s with spaces up to n columns.
func Pad(s string, n int) string {
	if w := ansi.StringWidth(s); w < n {
		return s + strings.Repeat(" ", n-w)
	}
	return s
}

// Wrap breaks s into lines of at most n columns; a word that is longer stands alone and whole, so that a path can be copied.
func Wrap(s string, n int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case ansi.StringWidth(line)+1+ansi.StringWidth(word) <= n:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// row prints "  lead  label  text", the text beside the label where it fits and below it where it does not.
func (p Paint) Row(w io.Writer, lead string, color func(string) string, label, text string, labelWidth int) {
	const leadWidth = 7
	indent := 2 + leadWidth
	head := "  " + color(Pad(Clean(lead), leadWidth)) + Pad(Clean(label), labelWidth)
	used := indent + max(labelWidth, ansi.StringWidth(Clean(label)))
	text = Clean(text)
	if text == "" {
		fmt.Fprintln(w, strings.TrimRight(head, " "))
		return
	}
	if room := p.Width - used - 2; ansi.StringWidth(text) <= room {
		fmt.Fprintln(w, head+"  "+text)
		return
	}
	fmt.Fprintln(w, strings.TrimRight(head, " "))
	for _, l := range Wrap(text, p.Width-indent-2) {
		fmt.Fprintln(w, strings.Repeat(" ", indent+2)+p.Dim(l))
	}
}

// Home writes a path below the Home folder with ~.
func Home(path string) string {
	h, err := os.UserHomeDir()
	if err != nil || h == "/" || h == "" {
		return path
	}
	if rest, ok := strings.CutPrefix(path, h+"/"); ok {
		return "~/" + rest
	}
	return path
}

// Span writes a duration the way people say it.
func Span(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// Size writes bytes the way people say them.
func Size(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, i := float64(n), 0
	for f >= 1024 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}

// Plural writes "1 session" and "2 sessions".
func Plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	many := one + "s"
	if strings.HasSuffix(one, "s") {
		many = one + "es"
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Beneath is what w writes to in the end.
func Beneath(w io.Writer) io.Writer {
	if p, ok := w.(*plain.Writer); ok {
		return p.To()
	}
	return w
}

// Terminal reports whether w is a terminal, and its width in columns, 80 where there is none.
func Terminal(w io.Writer) (bool, int) {
	f, ok := Beneath(w).(*os.File)
	if !ok || !term.IsTerminal(f.Fd()) {
		return false, 80
	}
	width, _, err := term.GetSize(f.Fd())
	if err != nil || width <= 0 {
		return true, 80
	}
	return true, width
}

// Indented wraps a paragraph below an indent. It may be coloured, so what it is made of is clean already.
func (p Paint) Indented(w io.Writer, n int, text string) {
	for i, l := range Wrap(text, p.Width-n-2) {
		extra := 0
		if i > 0 {
			extra = 2
		}
		fmt.Fprintln(w, strings.Repeat(" ", n+extra)+l)
	}
}
