package herdr

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/herdr/internal/rpc"
)

// telling are the kinds of events that may change what goes: what comes, goes or moves, a name, an agent. Every version that winnow reads knows them; one that a server does not
// know would fail the whole request. What panes print, their titles and who looks where are not among them.
var telling = []string{"workspace.created", "workspace.closed", "tab.created", "tab.closed", "tab.renamed", "pane.created", "pane.closed", "pane.exited", "pane.moved", "pane.agent_detected"}

// quiet and held are longer in tests, which wait for no machine.
var (
	// quiet is how long nothing must come until the past counts as told: a server tells one event of a kind every 100 ms.
	quiet = 500 * time.Millisecond
	// held is how long an event may wait at most for the past to be told: it may be a new one.
	held = 5 * time.Second
)

const (
	// past is how long the past may take at most, and remembered how many events it has at most: they are of one kind if it takes the longest.
	past       = 55 * time.Second
	remembered = 512
)

// Watch has the server tell what happens, and calls happened for each event that may change what goes, until ctx or the server ends. listening is called
// once the server has agreed. Up to 0.8 a server first tells what it remembers, without a word that it is past; from 0.9 on it tells nothing of what was before. So the time until then
// counts as one event, which is told at its end, or once in five seconds where it takes longer: a look after it sees what happened between the look before and the agreement.
// Neither function must wait.
//
// The error is never nil. It is that of ctx if that has ended.
func (c *Client) Watch(ctx context.Context, listening, happened func()) error {
	var list []map[string]string
	kinds := map[string]bool{}
	for _, k := range telling {
		list = append(list, map[string]string{"type": k})
		kinds[strings.ReplaceAll(k, ".", "_")] = true
	}
	m := &memory{happened: happened}
	defer m.end()
	var out struct{ rpc.Type }
	return (*rpc.Conn)(c).Stream(ctx, "events.subscribe", map[string]any{"subscriptions": list}, "subscription_started", &out, func() {
		m.begin()
		listening()
	}, func(line []byte) {
		var e struct {
			Event string `json:"event"`
		}
		if json.Unmarshal(line, &e) == nil && kinds[e.Event] {
			m.event(time.Now())
		}
	})
}

// memory is what makes one event of those that a server tells of its past.
type memory struct {
	happened func()

	mu    sync.Mutex
	timer *time.Timer
	last  time.Time
	n     int
	// since is when the first event came that was not told, zero when it is missing, and over whether all of the past was told.
	since time.Time
	over  bool
}

func (m *memory) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.since = time.Now() // what happened before the server agreed is not known
	m.last = m.since.Add(past)
	m.timer = time.AfterFunc(quiet, m.settled)
}

func (m *memory) event(now time.Time) {
	m.mu.Lock()
	tell := m.over
	m.n++
	switch {
	case m.over:
	case m.n > remembered:
		tell, m.over = true, true
		m.timer.Stop()
	default:
		if m.since.IsZero() {
			m.since = now
		}
		if now.Sub(m.since) >= held {
			tell, m.since = true, time.Time{}
		}
		if now.Before(m.last) {
			m.timer.Reset(quiet)
		}
	}
	m.mu.Unlock()
	if tell {
		m.happened()
	}
}

// settled ends the past.
func (m *memory) settled() {
	m.mu.Lock()
	tell := !m.since.IsZero() && !m.over
	m.over = true
	m.mu.Unlock()
	if tell {
		m.happened()
	}
}

func (m *memory) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = true // what the timer still does tells nothing
	if m.timer != nil {
		m.timer.Stop()
	}
}
