package tmux

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"winnow/actuators/panes"
)

// maxScrollback is the most that is saved of one pane, in bytes. More is refused and not cut: what was cut would be lost.
const maxScrollback = 64 << 20

var errTooLong = fmt.Errorf("it is longer than %d MiB", maxScrollback>>20)

// save keeps the scrollback of every pane and the manifest.
func (g *grasp) save(ctx context.Context) error {
	return g.kept(&g.plan).Save(g.plan, func(write panes.Writer) error {
		for _, p := range g.plan.Panes {
			if err := write(p.File, func(f *os.File) error { return g.client.capture(ctx, p.ID, f) }); err != nil {
				return fmt.Errorf("save the scrollback of pane %s: %w", p.ID, err)
			}
		}
		return nil
	})
}

// capture writes a pane's history and screen as plain text to f, and after it the screen that a full-screen program hides.
// What tmux prints ends with a mark, since it can print nothing and still exit with 0.
func (c client) capture(ctx context.Context, pane string, f *os.File) error {
	// display-message takes a % for the beginning of a date.
	mark := "end of pane " + strings.TrimPrefix(pane, "%")
	out := &limited{f, maxScrollback}
	err := c.stream(ctx, out, quiet, "capture-pane", "-p", "-J", "-S", "-", "-t", pane, ";",
		"capture-pane", "-p", "-J", "-a", "-q", "-t", pane, ";", "display-message", "-p", mark)
	if out.left < 0 {
		return errTooLong
	}
	if err != nil {
		return err
	}
	tail := make([]byte, len(mark)+1)
	at := maxScrollback - out.left - int64(len(tail))
	if at < 0 {
		return errors.New("tmux printed nothing")
	}
	if _, err := f.ReadAt(tail, at); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if string(tail) != mark+"\n" {
		return errors.New("what tmux printed is cut short")
	}
	return f.Truncate(at)
}

// limited fails once more than left bytes are written to it.
type limited struct {
	to   io.Writer
	left int64
}

func (l *limited) Write(b []byte) (int, error) {
	if l.left -= int64(len(b)); l.left < 0 {
		return 0, errTooLong
	}
	return l.to.Write(b)
}
