package tmux

import (
	"errors"
	"strings"
	"testing"
)

func TestLimitedRefusesWhatIsTooLong(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	l := &limited{&b, 5}
	if n, err := l.Write([]byte("12345")); n != 5 || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
	if _, err := l.Write([]byte("6")); !errors.Is(err, ErrTooLong) || b.String() != "12345" {
		t.Errorf("wrote %q, %v", b.String(), err)
	}
}
