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

	mu      sync.Mutex
	streams map[chan string]bool
}

func newLive(stamp func(context.Context) string) *live {
	return &live{stamp: stamp, streams: map[chan string]bool{}}
}

// join gives a channel of stamps, nil where too many wait already.
func (l *live) join() chan string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.streams) >= maxStreams {
		return nil
	}
	c := make(chan string, 1)
	l.streams[c] = true
	return c
}

func (l *live) leave(c chan string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.streams, c)
}

// waiting counts the pages that wait.
func (l *live) waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.streams)
}

// watch tells of changes until ctx ends.
func (l *live) watch(ctx context.Context) {
	tick := time.NewTicker(looksEvery)
	defer tick.Stop()
	last := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if l.waiting() == 0 {
			continue
		}
		if now := l.stamp(ctx); now != last {
			last = now
			l.tell(now)
		}
	}
}

// tell gives every stream the latest stamp. One that has not taken the stamp before gets this one in its place.
func (l *live) tell(stamp string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.streams {
		select {
		case <-c:
		default:
		}
		c <- stamp // it has one place, and only this goroutine writes
	}
}

// serve is one stream of server-sent events. Each event is the stamp of what a page would show now; the first one comes at once.
func (l *live) serve(w http.ResponseWriter, r *http.Request) {
	c := l.join()
	if c == nil {
		w.Header().Set("Retry-After", "30")
		http.Error(w, "too many pages wait for changes", http.StatusServiceUnavailable)
		return
	}
	defer l.leave(c)
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	write := func(text string) bool {
		if out.SetWriteDeadline(time.Now().Add(writeWithin)) != nil {
			return false
		}
		_, err := fmt.Fprint(w, text)
		return err == nil && out.Flush() == nil
	}
	event := func(stamp string) bool { return write("event: stamp\ndata: " + stamp + "\n\n") }
	if !write("retry: 3000\n") || !event(l.stamp(r.Context())) || r.Method == http.MethodHead {
		return
	}
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		going := true
		select {
		case <-r.Context().Done():
			return
		case stamp := <-c:
			going = event(stamp)
		case <-beat.C:
			going = write(": lives\n\n")
		}
		if !going {
			return
		}
	}
}
