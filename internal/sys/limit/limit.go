// Package limit bounds what is read of programs and servers.
package limit

import (
	"bufio"
	"bytes"
	"errors"
)

// ErrLong says that a line is longer than is read.
var ErrLong = errors.New("the answer is longer than winnow reads")

// Line reads one line of at most that many bytes, gives it without its end, and leaves what follows in r. It needs no
// more memory than the line takes. Beside an error it gives what came of the line, but for ErrLong.
func Line(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > most:
			return nil, ErrLong
		case err == nil:
			return line[:len(line)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// Writer keeps the first Most bytes that are written to it and drops the rest, so that what a program prints without
// end costs no memory. It never fails. It is for one writer at a time.
type Writer struct {
	Most int
	// Full, when set, is called once when the first byte is dropped, to end the program.
	Full func()

	kept bytes.Buffer // not embedded: what copies to a buffer would go round Write
	over bool
}

// Write implements io.Writer.
func (h *Writer) Write(p []byte) (int, error) {
	keep := min(len(p), h.Most-h.kept.Len())
	_, _ = h.kept.Write(p[:keep])
	if keep < len(p) && !h.over {
		if h.over = true; h.Full != nil {
			h.Full()
		}
	}
	return len(p), nil
}

// String is what was kept.
func (h *Writer) String() string { return h.kept.String() }

// Truncated reports whether anything was dropped.
func (h *Writer) Truncated() bool { return h.over }
