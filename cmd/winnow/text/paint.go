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

// pad fills s with spaces up to n columns.
func pad(s string, n int) string {
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

// Row is a line of a table: a word in its colour, the name of a thing, and what is to say about it.
type Row struct {
	Lead        string
	Color       func(string) string
	Label, Text string
}

// maxLabel is how wide the column of names may become before a name stands on a line of its own.
const maxLabel = 34

// Rows prints a table. Its columns are as wide as they must be, with two spaces between them; the text stands beside the label where it
// fits and below it where it does not.
func (p Paint) Rows(w io.Writer, rows ...Row) {
	const gap = 2
	lead, label := 0, 0
	for _, r := range rows {
		lead = max(lead, ansi.StringWidth(Clean(r.Lead)))
		label = max(label, ansi.StringWidth(Clean(r.Label)))
	}
	indent := gap + lead + gap
	label = min(label, maxLabel)
	for _, r := range rows {
		head := strings.Repeat(" ", gap) + r.Color(pad(Clean(r.Lead), lead+gap)) + pad(Clean(r.Label), label)
		used := indent + max(label, ansi.StringWidth(Clean(r.Label))) + gap
		if r.Label == "" { // the text takes the place of the label
			head, used = strings.Repeat(" ", gap)+r.Color(pad(Clean(r.Lead), lead)), indent
		}
		line := Clean(r.Text)
		switch {
		case line == "":
			fmt.Fprintln(w, strings.TrimRight(head, " "))
		case ansi.StringWidth(line) <= p.Width-used:
			fmt.Fprintln(w, head+strings.Repeat(" ", gap)+line)
		default:
			fmt.Fprintln(w, strings.TrimRight(head, " "))
			for _, l := range Wrap(line, p.Width-indent-gap) {
				fmt.Fprintln(w, strings.Repeat(" ", indent+gap)+p.Dim(l))
			}
		}
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

// Time writes a time on the clock of the person who reads it.
func Time(t time.Time) string { return t.Local().Format(time.DateTime) }

// Day writes the day of a time as the person who reads it counts it: Nov 29.
func Day(t time.Time) string { return t.Local().Format("Jan 2") }

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

// Terminal reports whether w is a terminal, and its width in columns, 80 for anything else.
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
