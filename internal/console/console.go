// Package console is a web page for one person on this machine: what is here, what would go and why, acts, holds, trash, alarms and policies.
//
// It is a client of the local API. Nothing here ends anything that lives: a page can hold, release, bring back, pause, resume, look, and remove for
// good what lies in the trash, after it asked.
package console

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/internal/document"
)

// API is the local API of the daemon that answers, or of an observing one in this process. Its methods are called from several goroutines.
type API interface {
	// Ask asks a route and reads its document into out, a pointer to it. POST /v1/look first reads the configuration again.
	Ask(ctx context.Context, method, path string, p client.Params, out any) error
	// Restore brings back what the act of a whole id set aside. What it gives is for a person, without markup. No route of the API does this.
	Restore(ctx context.Context, act string) (said string, err error)
	// Purge removes for good what the acts of whole ids set aside, by the rules of winnow trash empty.
	Purge(ctx context.Context, acts []string) (said string, err error)
}

// ask asks a route of the API for a document.
func ask[T any](ctx context.Context, s *Server, method, path string, p client.Params) (out T, err error) {
	err = s.api.Ask(ctx, method, path, p, &out)
	return out, err
}

// read asks a route that only reads.
func read[T any](ctx context.Context, s *Server, path string, p client.Params) (T, error) {
	return ask[T](ctx, s, http.MethodGet, path, p)
}

// latest gives the latest look, without a report before the first has ended. It never waits for a look.
func (s *Server) latest(ctx context.Context) document.Look {
	s.mu.Lock()
	before := s.look
	s.mu.Unlock()
	now, err := read[document.Look](ctx, s, "/v1/look", client.Params{Stamp: before.Stamp})
	if err != nil {
		before.Problem = err.Error()
		return before
	}
	if now.Report == nil { // nothing is new, or it is not kept any more
		now.Report = before.Report
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look = now
	return now
}

// running reports whether the state is that of winnow run, and not of the daemon in this process.
func running(s document.State) bool { return s.PID != 0 && s.PID != os.Getpid() }

// stampOf changes when a page may show something else.
func stampOf(l document.Look, s document.State) string {
	return fmt.Sprint(l.Stamp, len(l.Problem), s.Mode, len(s.Problem), len(s.Brakes), running(s))
}

// stamp is that of now.
func (s *Server) stamp(ctx context.Context) string {
	state, _ := read[document.State](ctx, s, "/v1/state", client.Params{}) // a page says what is wrong with it
	return stampOf(s.latest(ctx), state)
}
