package peercred

import "bytes"

// LimitWriter keeps the first Most bytes that are written to it and drops the rest, so that what a program prints without end costs no
// memory. It never fails. It is for one writer at a time.
type LimitWriter struct {
	Most int
	// Full, when set, is called once when the first byte is dropped, to end the program.
	Full func()

	kept bytes.Buffer // not embedded: what copies to a buffer would go round Write
	over bool
}

// Write implements io.Writer.
func (h *LimitWriter) Write(p []byte) (int, error) {
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
func (h *LimitWriter) String() string { return h.kept.String() }

// Truncated reports whether anything was dropped.
func (h *LimitWriter) Truncated() bool { return h.over }
