package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/screen"
	"github.com/winnow-reaper/winnow/internal/text"
)

// progress is a line on a terminal's stderr while a slow source is read.
type progress struct {
	mu      sync.Mutex
	w       io.Writer
	start   time.Time
	running []collectors.Running
	drawn   bool
	ticker  *time.Ticker
	ended   chan struct{}
}

// progressAfter is how long a look may take before a person sees what it waits for, and how often the line is drawn again.
const progressAfter = 300 * time.Millisecond

// progress starts the line; clear ends it. Without a terminal on stderr it writes nothing.
func (a *app) progress() *progress {
	p := &progress{w: text.Beneath(a.errOut), start: time.Now()} // it moves the cursor, which a termsafe.Writer does not let through
	if tty, _ := text.Terminal(a.errOut); !tty || os.Getenv("TERM") == "dumb" {
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
func (p *progress) show(running []collectors.Running) {
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
	line := fmt.Sprintf("reading %s (%s)", text.Clean(strings.Join(counts(p.running), ", ")), text.Took(time.Since(p.start)))
	_, width := text.Terminal(p.w)
	fmt.Fprintf(p.w, "\r\x1b[K%s", ansi.Truncate(line, width-1, "…"))
	p.drawn = true
}

// counts are the names of sources, each with how far its reading has come where it has many items.
func counts(running []collectors.Running) (out []string) {
	for _, r := range running {
		name := r.Name
		if done, all := r.Count(); all > 0 {
			name += fmt.Sprintf(": %d of %d", done, all)
		}
		out = append(out, name)
	}
	return out
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

// wait pauses for d, saying so to a person.
func (a *app) wait(ctx context.Context, d time.Duration) error {
	if a.flags.format == "text" {
		a.Note("waiting %s for the second look", d)
	}
	select {
	case <-ctx.Done():
		return exit.Error{Code: exit.Part, Err: errors.New("interrupted between two looks; what the first one saw is remembered, nothing more was done")}
	case <-time.After(d):
		return nil
	}
}

// terminal gives the terminal that a command draws on. It is nil where the command has no terminal, and for --format json.
func (a *app) terminal(command string) (in, out *os.File, err error) {
	if a.json() {
		return nil, nil, nil
	}
	if a.flags.format != "text" {
		return nil, nil, config.Usagef("winnow %s has no form %q; text (on a terminal), json or ndjson", command, a.flags.format)
	}
	out, _ = text.Beneath(a.out).(*os.File)
	reads, _ := text.Terminal(os.Stdin)
	writes, _ := text.Terminal(a.out)
	if !reads || !writes || os.Getenv("TERM") == "dumb" {
		return nil, nil, config.Usagef("winnow %s needs a terminal for its input and its output; winnow %s --format json prints the same once. Nothing was done", command, command)
	}
	return os.Stdin, out, nil
}

// quiet gives operations that print nothing into a picture. Their configuration is their own: loading rules writes into it.
func (a *app) quiet() *ops.Ops {
	o, cfg := a.Ops, *a.Cfg
	o.Cfg, o.Log, o.Tell, o.Watch = &cfg, hclog.NewNullLogger(), nil, nil
	return &o
}

// explanation is what winnow explain says of a candidate of a look, or of a fresh one where seen is nil: in short, and with its rules.
func (a *app) explanation(ctx context.Context, seen *snapshot.Snapshot, id string) (short, rules screen.Text) {
	out, err := a.quiet().ExplainLatest(ctx, seen, id)
	write := func(rules bool) screen.Text {
		return func(width int) string {
			if err != nil {
				return strings.Join(text.Wrap(text.Clean(err.Error()), width), "\n")
			}
			var b strings.Builder
			p := a.paint
			p.Width = width
			p.Explanation(&b, out, rules)
			return b.String()
		}
	}
	return write(false), write(true)
}
