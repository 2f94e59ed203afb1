package console

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	// maxStreams is how many pages may wait for changes at once.
	maxStreams = 16
	// looksEvery is how often the world is asked whether something changed while a page waits.
	looksEvery = time.Second
	// beatEvery is how often a stream says that it lives.
	beatEvery = 15 * time.Second
	// writeWithin is how long a browser may take to take one event.
	writeWithin = 10 * time.Second
)

// live tells pages that something changed.
type live struct {
	stamp func(context.Context) string
	// room has a place for each page that waits.
	room chan struct{}

	mu    sync.Mutex
	last  string
	asked time.Time
}

func newLive(stamp func(context.Context) string) *live {
	return &live{stamp: stamp, room: make(chan struct{}, maxStreams)}
}

// current is the stamp of now, which is asked for once for all pages that wait.
func (l *live) current(ctx context.Context) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.asked) >= looksEvery {
		l.last, l.asked = l.stamp(context.WithoutCancel(ctx)), time.Now()
	}
	return l.last
}

// serve is one stream of server-sent events. Each event is the stamp of what a page would show now; the first one comes at once.
func (l *live) serve(w http.ResponseWriter, r *http.Request) {
	select {
	case l.room <- struct{}{}:
		defer func() { <-l.room }()
	default:
		w.Header().Set("Retry-After", "30")
		http.Error(w, "too many pages wait for changes", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	write := func(text string) bool {
		if out.SetWriteDeadline(time.Now().Add(writeWithin)) != nil {
			return false
		}
		_, err := fmt.Fprint(w, text)
		return err == nil && out.Flush() == nil
	}
	last := l.current(r.Context())
	event := func() bool { return write("event: stamp\ndata: " + last + "\n\n") }
	if !write("retry: 3000\n") || !event() || r.Method == http.MethodHead {
		return
	}
	tick, beat := time.NewTicker(looksEvery), time.NewTicker(beatEvery)
	defer tick.Stop()
	defer beat.Stop()
	for going := true; going; {
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
			if now := l.current(r.Context()); now != last {
				last = now
				going = event()
			}
		case <-beat.C:
			going = write(": lives\n\n")
		}
	}
}
