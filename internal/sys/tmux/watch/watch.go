// Package watch has a tmux server tell when something happened on it. It attaches to no session, so that none looks attended: the server's own hooks wake a client that waits
// (tmux(1), HOOKS and wait-for). The hooks are a change of the server's options, so they are made only on request.
package watch

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/tmux/internal/client"
)

// The places of our entries in each hook, which is a list: those of people are near 0. Where one of theirs fails, the server does not come to ours: then the schedule finds what happened.
const firstPlace, places = 7479, 1000

// entry is what one daemon has in the hooks of a server: two daemons have two, so that neither takes the other's away.
type entry struct {
	place int
	// channel is what the hooks signal.
	channel string
}

func entryOf(owner string) entry {
	sum := sha256.Sum256([]byte(owner))
	return entry{firstPlace + int(binary.BigEndian.Uint16(sum[4:]))%places, "winnow-events-" + hex.EncodeToString(sum[:4])}
}

func (e entry) command() string { return "wait-for -S " + e.channel }

// Hooks are those in which something happens that may change a decision: what a pane prints does not.
var Hooks = []string{"session-created", "session-closed", "session-renamed", "window-linked", "window-unlinked", "pane-exited", "pane-died", "client-attached", "client-detached"}

// lasts is how long the server has for taking the hooks away at the end.
const lasts = time.Second

// Watch has the server on a socket tell until ctx ends, calls listening once it will, and happened each time that something did: many things together may be one time. within is
// how long the server may take for an answer. owner tells those apart that watch one server at the same time, and is the same each time that one of them begins. At the end our entries are
// taken out of its hooks again; what is left by a program that was killed wakes no daemon, and the next Watch of that owner takes it over. An entry of somebody else's in our place is an error,
// and stays.
func Watch(ctx context.Context, socket, owner string, within time.Duration, listening, happened func()) error {
	ours := entryOf(owner)
	s := client.Server{Program: "tmux", Socket: socket, Within: within}
	set, err := s.Run(ctx, client.Quiet, "show-hooks", "-g", ";", "show-hooks", "-gw") // of sessions, and of windows and panes
	if err != nil {
		return err
	}
	for line := range strings.Lines(set) {
		hook, is, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name, here := strings.CutSuffix(hook, fmt.Sprintf("[%d]", ours.place)); here && is != ours.command() {
			return fmt.Errorf("the hook %s of the tmux server on %s has an entry of somebody else's at %d, and was left", name, socket, ours.place)
		}
	}
	if _, err := s.Run(ctx, client.Quiet, ours.chain("-g", ours.command())...); err != nil {
		return err
	}
	defer func() {
		after, end := context.WithTimeout(context.WithoutCancel(ctx), lasts)
		defer end()
		_, _ = s.Run(after, client.Quiet, ours.chain("-gu")...) // a server that has ended has none
	}()
	listening()
	waits := s
	waits.Within = 0
	for {
		if _, err := waits.Run(ctx, client.Quiet, "wait-for", ours.channel); err != nil {
			return err
		}
		happened()
		select { // many in a moment are one
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(rest):
		}
	}
}

// rest is the least time from one answer to the next question. What happens in between may not be told (of two signals without a waiter the second takes back the first), and
// is nothing to wait for: whoever was told of the first looks after that.
const rest = 100 * time.Millisecond

// chain is a set-hook with these arguments for each of our entries.
func (e entry) chain(flag string, rest ...string) []string {
	var out []string
	for i, hook := range Hooks {
		if i > 0 {
			out = append(out, ";")
		}
		out = append(append(out, "set-hook", flag, fmt.Sprintf("%s[%d]", hook, e.place)), rest...)
	}
	return out
}
