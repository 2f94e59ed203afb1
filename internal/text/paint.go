// Package text is how reports and messages look to a person: columns, colours on a terminal, durations and sizes in words.
package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
)

// Paint colours text and fits it to the width of a terminal.
type Paint struct {
	// On is true where colours are wanted. Width is the terminal's columns, 0 for what is no terminal: nothing is wrapped there, so that a line
	// holds all that belongs together.
	On    bool
	Width int
}

// The words of --color.
const (
	Always = "always"
	Auto   = "auto"
	Never  = "never"
)

// Colors lists the words of --color.
var Colors = []string{Auto, Always, Never}

// New gives the paint for what w writes to. With Auto there are colours on a terminal only, unless the environment says otherwise: NO_COLOR
// (https://no-color.org) turns them off, CLICOLOR_FORCE and FORCE_COLOR (https://force-color.org) turn them on.
func New(w io.Writer, color string) Paint {
	tty, width := Terminal(w)
	if !tty {
		width = 0
	}
	on := tty && os.Getenv("TERM") != "dumb"
	switch {
	case color == Always || color == Never:
		on = color == Always
	case os.Getenv("NO_COLOR") != "":
		on = false
	case forced("CLICOLOR_FORCE") || forced("FORCE_COLOR"):
		on = true
	}
	return Paint{On: on, Width: width}
}

func forced(name string) bool {
	v := os.Getenv(name)
	return v != "" && v != "0" && v != "false"
}

func (p Paint) Style(st termsafe.Style, s string) string {
	if !p.On || s == "" {
		return s
	}
	return st.Apply(s)
}

func (p Paint) Bold(s string) string   { return p.Style(termsafe.Bold, s) }
func (p Paint) Dim(s string) string    { return p.Style(termsafe.Dim, s) }
func (p Paint) Red(s string) string    { return p.Style(termsafe.Red, s) }
func (p Paint) Green(s string) string  { return p.Style(termsafe.Green, s) }
func (p Paint) Yellow(s string) string { return p.Style(termsafe.Yellow, s) }

// Clean makes visible what a name from the world could do to a terminal, and keeps it on one line.
func Clean(s string) string { return termsafe.Line(s) }

// pad fills s with spaces up to n columns.
func pad(s string, n int) string {
	if w := ansi.StringWidth(s); w < n {
		return s + strings.Repeat(" ", n-w)
	}
	return s
}

// Wrap breaks s into lines of at most n columns; a word that is longer stands alone and whole, so that a path can be copied. With n <= 0
// there is one line.
func Wrap(s string, n int) []string {
	if n <= 0 {
		return []string{strings.Join(strings.Fields(s), " ")}
	}
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

// room is what is left of the width beside n columns: at least 20, and 0 where there is no width.
func (p Paint) room(n int) int {
	if p.Width <= 0 {
		return 0
	}
	return max(p.Width-n, 20)
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

// Span writes a duration the way people say it, in at most two units that follow each other: 4m12s, 2h5m, 6d. What is below the second
// one is left out. The same words as the rules' own (policies/lib/reasons).
func Span(d time.Duration) string {
	s := max(int64(d/time.Second), 0)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 60*60:
		return two(s/60, "m", s%60, "s")
	case s < 24*60*60:
		return two(s/(60*60), "h", s%(60*60)/60, "m")
	}
	return two(s/(24*60*60), "d", s%(24*60*60)/(60*60), "h")
}

func two(n int64, unit string, rest int64, below string) string {
	if rest == 0 {
		return fmt.Sprintf("%d%s", n, unit)
	}
	return fmt.Sprintf("%d%s%d%s", n, unit, rest, below)
}

// Took writes how long something took: as Span, and below ten seconds more exactly.
func Took(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return Span(d)
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
	if p, ok := w.(*termsafe.Writer); ok {
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
	for i, l := range Wrap(text, p.room(n+2)) {
		extra := 0
		if i > 0 {
			extra = 2
		}
		fmt.Fprintln(w, strings.Repeat(" ", n+extra)+l)
	}
}

// Sentence wraps a line that begins at the left edge. What it is made of is clean already.
func (p Paint) Sentence(w io.Writer, s string) {
	for _, l := range Wrap(s, p.Width) {
		fmt.Fprintln(w, l)
	}
}

// Quote makes s safe to paste into a shell, by termsafe.Quote.
func Quote(s string) string { return termsafe.Quote(s) }

// Map is what f makes of each of a list, in their order; nil of an empty list.
func Map[T, R any](list []T, f func(T) R) []R {
	var out []R
	for _, x := range list {
		out = append(out, f(x))
	}
	return out
}

// Join writes what f says of each of a list, with sep between.
func Join[T any](list []T, sep string, f func(T) string) string {
	return strings.Join(Map(list, f), sep)
}

// Value is a value as JSON that a terminal can be shown, cut to n characters.
func Value(v any, n int) string {
	data, err := json.Marshal(v)
	if err != nil {
		return Cut(Clean(fmt.Sprint(v)), n)
	}
	return Cut(string(termsafe.JSON(data)), n) // cut before it is cleaned: half of an escape would say something else
}

// Cut leaves of a text the first n characters.
func Cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

// JSON writes v as JSON, on one line where indent is empty, that a terminal can be shown: what termsafe.Line escapes is written as \uXXXX, which means the same.
func JSON(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(termsafe.JSON(b.Bytes()))
	return err
}
