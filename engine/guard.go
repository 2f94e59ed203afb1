package engine

import (
	"runtime/metrics"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/topdown"
)

const (
	// tick is how often the watchdog looks at the heap.
	tick = 2 * time.Millisecond
	// heapMetric counts the bytes of objects that are alive or not swept yet.
	heapMetric = "/memory/classes/heap/objects:bytes"
)

// watchdog cancels evaluations that make the heap grow too far. What grows is the heap of the whole program, so an evaluation
// is only held to what came since the watchdog first saw it: an ordinary one is over long before the second look.
type watchdog struct {
	limits Limits
	mu     sync.Mutex
	seats  []*seat
	over   chan struct{}
	gone   sync.WaitGroup
}

// seat is where one evaluation at a time runs.
type seat struct {
	limits Limits
	mu     sync.Mutex
	cancel topdown.Cancel // nil while nothing runs
	seen   bool           // the watchdog saw this evaluation
	low    uint64         // the smallest heap since then
	why    error
}

// watch starts the watchdog; stop ends it.
func watch(l Limits) *watchdog {
	w := &watchdog{limits: l, over: make(chan struct{})}
	w.gone.Go(w.run)
	return w
}

func (w *watchdog) stop() {
	close(w.over)
	w.gone.Wait()
}

func (w *watchdog) seat() *seat {
	s := &seat{limits: w.limits}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seats = append(w.seats, s)
	return s
}

func (w *watchdog) run() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	sample := []metrics.Sample{{Name: heapMetric}}
	for {
		select {
		case <-w.over:
			return
		case <-ticker.C:
		}
		metrics.Read(sample)
		w.mu.Lock()
		for _, s := range w.seats {
			s.look(sample[0].Value.Uint64())
		}
		w.mu.Unlock()
	}
}

// look cancels the evaluation when the heap grew too far since it was first seen. A collection in between lowers the mark.
func (s *seat) look(heap uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.cancel == nil:
	case !s.seen:
		s.seen, s.low = true, heap
	case heap < s.low:
		s.low = heap
	case heap-s.low > s.limits.HeapBytes && s.why == nil:
		s.why = errMemory
		s.cancel.Cancel()
	}
}

// take begins an evaluation. What it returns ends it, and gives the limit that was passed, if one was.
func (s *seat) take(c topdown.Cancel) func() error {
	s.mu.Lock()
	s.cancel, s.seen, s.why = c, false, nil
	s.mu.Unlock()
	timer := time.AfterFunc(s.limits.Timeout, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.cancel == c && s.why == nil { // and not that of the next one
			s.why = errDeadline
		}
		c.Cancel()
	})
	return func() error {
		timer.Stop()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cancel = nil
		return s.why
	}
}
