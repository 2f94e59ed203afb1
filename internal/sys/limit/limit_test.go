package limit

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 40) // more than a reader's least buffer
	for _, c := range []struct {
		in, line string
		most     int
		err      error
	}{
		{"abc\n", "abc", 8, nil}, {"abc\nrest", "abc", 8, nil}, {"", "", 8, io.EOF}, {"ab", "ab", 8, io.EOF},
		{"1234567\n", "1234567", 8, nil}, {"12345678\n", "", 8, ErrLong}, {"123456789", "", 8, ErrLong},
		{long + "\n", long, 41, nil}, {long + "\n", "", 40, ErrLong}, {long, long, 41, io.EOF},
	} {
		line, err := Line(bufio.NewReaderSize(strings.NewReader(c.in), 16), c.most)
		if string(line) != c.line || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%q gave %q and %v, want %q and %v", c.in, line, err, c.line, c.err)
		}
	}
}

func TestWriterKeepsTheFirst(t *testing.T) {
	t.Parallel()
	full := 0
	w := &Writer{Most: 5, Full: func() { full++ }}
	for _, s := range []string{"abc", "de"} {
		if n, err := io.WriteString(w, s); n != len(s) || err != nil || w.Truncated() {
			t.Errorf("%q gave %d, %v", s, n, err)
		}
	}
	for range 2 {
		if n, err := io.WriteString(w, "fgh"); n != 3 || err != nil {
			t.Errorf("too much gave %d, %v", n, err)
		}
	}
	if w.String() != "abcde" || !w.Truncated() || full != 1 {
		t.Errorf("kept %q, truncated %v, full %d times", w.String(), w.Truncated(), full)
	}
}
