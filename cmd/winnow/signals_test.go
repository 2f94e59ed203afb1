package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"winnow/internal/plain"
)

func TestAnActInHandIsNeverCutShort(t *testing.T) {
	t.Parallel()
	const grace = 100 * time.Millisecond
	h, got, over := &hands{}, make(chan os.Signal, 1), make(chan struct{})
	done := h.take()
	ended := make(chan syscall.Signal, 1)
	go func() { ended <- lastSignal(syscall.SIGTERM, got, h, over, grace) }()
	select {
	case s := <-ended:
		t.Fatalf("ended by %v with an act in hand", s)
	case <-time.After(5 * grace):
	}
	done()
	if s := <-ended; s != syscall.SIGTERM {
		t.Errorf("the act is over: want SIGTERM, got %v", s)
	}
	h.take()
	got <- syscall.SIGINT
	if s := lastSignal(syscall.SIGTERM, got, h, over, time.Minute); s != syscall.SIGINT {
		t.Errorf("a second signal: want SIGINT, got %v", s)
	}
	close(over)
	if s := lastSignal(syscall.SIGTERM, got, h, over, time.Minute); s != 0 {
		t.Errorf("the program is over: want none, got %v", s)
	}
}

func TestAnErrorsLines(t *testing.T) {
	t.Parallel()
	inner := errors.New("a\nb")
	for want, err := range map[string]error{
		`winnow: read x\u{a}winnow: all is well: a\u{a}b`:     fmt.Errorf("read x\nwinnow: all is well: %w", inner),
		"winnow: a\\u{a}b\n  c":                               errors.Join(inner, errors.New("c")),
		"winnow: demo: a\\u{a}b\n  c; left":                   fmt.Errorf("demo: %w; left", errors.Join(inner, errors.New("c"))),
		"winnow: refused:\n  a\\u{a}b":                        usagef("refused:\n%w", inner),
		"winnow: unknown command \"x\"\n  \n  Did you\n    y": errors.New("unknown command \"x\"\n\nDid you\n\ty\n"),
	} {
		var out strings.Builder
		complain(plain.NewWriter(&out), err)
		if out.String() != want+"\n" {
			t.Errorf("%q: want %q, got %q", err, want, out.String())
		}
	}
}

func TestQuoteForAShell(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"dir:/a/b": "dir:/a/b", "a b": "'a b'", "it's": `'it'\''s'`, "": "''",
		"a\x1b'\\\u202e\n1": `$'a\033\'\\\342\200\256\0121'`,
	} {
		if got := quote(s); got != want || clean(got) != got {
			t.Errorf("%q: want %s, got %s", s, want, got)
		}
	}
}
