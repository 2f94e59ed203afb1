package termsafe

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"
)

// Writer is the last thing before a terminal or a file: what got past Line is escaped here. Line breaks and tabs pass, and the
// colours of Style where they are wanted; everything else that Line escapes wherever it stands is escaped. It may be used from several
// goroutines.
type Writer struct {
	mu    sync.Mutex
	to    io.Writer
	style bool
	json  bool
	rest  []byte // the beginning of a code point or a colour whose end was not written yet
	err   error
}

// NewWriter gives a Writer to w for text.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w} }

// JSONWriter gives a Writer to w for JSON text: what is escaped stays JSON. Where w is a Writer too, it finds nothing left to escape.
func JSONWriter(w io.Writer) *Writer { return &Writer{to: w, json: true} }

// To is where w writes to.
func (w *Writer) To() io.Writer { return w.to }

// Styled lets the colours of Style pass from now on, or not.
func (w *Writer) Styled(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.style = on
}

// Err is the first error of a write.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Write implements io.Writer. It answers for p alone, also where the end of p is kept for the next call.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	data := p
	if len(w.rest) > 0 {
		data = append(w.rest, p...)
	}
	out, rest := w.escape(data)
	w.rest = bytes.Clone(rest)
	if err := w.put(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what was kept: it is the beginning of something that never came to its end.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []byte
	for _, c := range w.rest {
		out = w.append(out, utf8.RuneError, c)
	}
	w.rest = nil
	return w.put(out)
}

func (w *Writer) put(out []byte) error {
	if len(out) == 0 {
		return nil
	}
	_, err := w.to.Write(out)
	if err != nil && w.err == nil {
		w.err = err
	}
	return err
}

// escape gives what can be written of data, and what has to wait for more.
func (w *Writer) escape(data []byte) (out, rest []byte) {
	from := 0
	for i := 0; i < len(data); {
		c := data[i]
		if c == '\n' || c == '\t' || c >= ' ' && c < 0x7f {
			i++
			continue
		}
		if c == esc && w.style {
			n, more := styled(data[i:])
			if more {
				return append(out, data[from:i]...), data[i:]
			}
			if n > 0 {
				i += n
				continue
			}
		}
		if !utf8.FullRune(data[i:]) {
			return append(out, data[from:i]...), data[i:]
		}
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 || hidden(r) {
			out = w.append(append(out, data[from:i]...), r, c)
			from = i + n
		}
		i += n
	}
	if from == 0 {
		return data, nil
	}
	return append(out, data[from:]...), nil
}

// append writes an escape for a code point, or for the byte c that is not UTF-8.
func (w *Writer) append(out []byte, r rune, c byte) []byte {
	switch {
	case w.json:
		return appendJSON(out, r)
	case r == utf8.RuneError:
		return fmt.Appendf(out, `\x{%02x}`, c)
	}
	return fmt.Appendf(out, `\u{%x}`, r)
}

// Style is how a piece of text looks on a terminal that shows colours.
type Style string

// The styles; no other sequence passes a Writer.
const (
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"

	plainAgain Style = "0"
)

var styles = []Style{Bold, Dim, Red, Green, Yellow, plainAgain}

const esc = 0x1b

func (s Style) sequence() string { return "\x1b[" + string(s) + "m" }

// Apply gives text in the style.
func (s Style) Apply(text string) string { return s.sequence() + text + plainAgain.sequence() }

// styled says how long the style at the start of data is, 0 where data does not begin with one, and whether more of data could.
func styled(data []byte) (n int, more bool) {
	for _, s := range styles {
		seq := []byte(s.sequence())
		if bytes.HasPrefix(data, seq) {
			return len(seq), false
		}
		more = more || bytes.HasPrefix(seq, data)
	}
	return 0, more
}
