package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"winnow/internal/plain"
)

// paint colours text on a terminal, and only there.
type paint struct {
	on    bool
	width int
}

func newPaint(w io.Writer, off bool) paint {
	tty, width := isTerminal(w)
	on := tty && !off && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return paint{on: on, width: width}
}

func (p paint) style(st plain.Style, s string) string {
	if !p.on || s == "" {
		return s
	}
	return st.On(s)
}

func (p paint) bold(s string) string   { return p.style(plain.Bold, s) }
func (p paint) dim(s string) string    { return p.style(plain.Dim, s) }
func (p paint) red(s string) string    { return p.style(plain.Red, s) }
func (p paint) green(s string) string  { return p.style(plain.Green, s) }
func (p paint) yellow(s string) string { return p.style(plain.Yellow, s) }

// clean makes visible what a name from the world could do to a terminal, and keeps it on one line.
func clean(s string) string { return plain.Line(s) }

// pad fills s with spaces up to n columns.
func pad(s string, n int) string {
	if w := ansi.StringWidth(s); w < n {
		return s + strings.Repeat(" ", n-w)
	}
	return s
}

// wrap breaks s into lines of at most n columns; a word that is longer stands alone and whole, so that a path can be copied.
func wrap(s string, n int) []string {
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
func (p paint) row(w io.Writer, lead string, color func(string) string, label, text string, labelWidth int) {
	const leadWidth = 7
	indent := 2 + leadWidth
	head := "  " + color(pad(clean(lead), leadWidth)) + pad(clean(label), labelWidth)
	used := indent + max(labelWidth, ansi.StringWidth(clean(label)))
	text = clean(text)
	if text == "" {
		fmt.Fprintln(w, strings.TrimRight(head, " "))
		return
	}
	if room := p.width - used - 2; ansi.StringWidth(text) <= room {
		fmt.Fprintln(w, head+"  "+text)
		return
	}
	fmt.Fprintln(w, strings.TrimRight(head, " "))
	for _, l := range wrap(text, p.width-indent-2) {
		fmt.Fprintln(w, strings.Repeat(" ", indent+2)+p.dim(l))
	}
}

// home writes a path below the home folder with ~.
func home(path string) string {
	h, err := os.UserHomeDir()
	if err != nil || h == "/" || h == "" {
		return path
	}
	if rest, ok := strings.CutPrefix(path, h+"/"); ok {
		return "~/" + rest
	}
	return path
}

// span writes a duration the way people say it.
func span(d time.Duration) string {
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

// size writes bytes the way people say them.
func size(n int64) string {
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

// plural writes "1 session" and "2 sessions".
func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	many := one + "s"
	if strings.HasSuffix(one, "s") {
		many = one + "es"
	}
	return fmt.Sprintf("%d %s", n, many)
}

// progress is a line on a terminal's stderr while a slow source is read.
type progress struct {
	mu      sync.Mutex
	w       io.Writer
	start   time.Time
	running []string
	drawn   bool
	ticker  *time.Ticker
	ended   chan struct{}
}

// progressAfter is how long a look may take before a person is told what it waits for, and how often the line is drawn anew.
const progressAfter = 300 * time.Millisecond

// progress starts the line; clear ends it. Where stderr is no terminal there is none.
func (a *app) progress() *progress {
	p := &progress{w: beneath(a.errOut), start: time.Now()} // it moves the cursor, which a plain.Writer does not let through
	if tty, _ := isTerminal(a.errOut); !tty || os.Getenv("TERM") == "dumb" {
		return p
	}
	p.ticker, p.ended = time.NewTicker(progressAfter), make(chan struct{})
	go func() {
		for {
			select {
			case <-p.ticker.C:
				p.draw()
			case <-p.ended:
				return
			}
		}
	}()
	return p
}

// show notes the sources that are being read.
func (p *progress) show(running []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = running
}

func (p *progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.running) == 0 {
		return
	}
	text := fmt.Sprintf("reading %s (%s)", clean(strings.Join(p.running, ", ")), span(time.Since(p.start)))
	_, width := isTerminal(p.w)
	fmt.Fprintf(p.w, "\r\x1b[K%s", ansi.Truncate(text, width-1, "…"))
	p.drawn = true
}

// clear takes the line away.
func (p *progress) clear() {
	if p.ticker == nil {
		return
	}
	p.ticker.Stop()
	close(p.ended)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = nil // a line that was about to be drawn is not
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
