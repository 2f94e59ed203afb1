package eval

import (
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/topdown"
	"golang.org/x/sys/unix"
)

const (
	// tick is how often the watchdog looks at the heap.
	tick = 2 * time.Millisecond
	// heapMetric counts the bytes of objects that are alive or not swept yet.
	heapMetric = "/memory/classes/heap/objects:bytes"
)

// watchdog cancels evaluations that take too long or make the heap grow too far. What grows is the heap of the whole program, so an
// evaluation is only held to what came since the watchdog first saw it: an ordinary one has ended long before the second look, and costs no
// clock and no timer of its own.
type watchdog struct {
	limits Limits
	mu     sync.Mutex
	slots  []*slot
	over   chan struct{}
	gone   sync.WaitGroup
	// passed counts the evaluations that passed a limit.
	passed atomic.Int64
}

// maxPassed is how many evaluations may pass a limit before the rest is spared without one: a rule that never ends would else take
// its deadline of every candidate.
const maxPassed = 8

// slot is where one evaluation at a time runs.
type slot struct {
	watchdog *watchdog
	limits   Limits
	mu       sync.Mutex
	cancel   topdown.Cancel // nil while nothing runs
	seen     bool           // the watchdog saw this evaluation
	since    moment         // when that was
	low      uint64         // the smallest heap since then
	why      error
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

func (w *watchdog) slot() *slot {
	s := &slot{watchdog: w, limits: w.limits}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slots = append(w.slots, s)
	return s
}

// pause does something that no evaluation is to blame for: what runs meanwhile is held to its limits from afterwards on.
func (w *watchdog) pause(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
	for _, s := range w.slots {
		s.mu.Lock()
		s.seen = false
		s.mu.Unlock()
	}
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
		now := moment{at: time.Now()}
		now.worked, now.counts = processorTime()
		w.mu.Lock()
		for _, s := range w.slots {
			s.look(now, sample[0].Value.Uint64())
		}
		w.mu.Unlock()
	}
}

// moment is a time, by the clock and by how long the processors have worked for this program, where that counts.
type moment struct {
	at     time.Time
	worked time.Duration
	counts bool
}

// past reports whether more than d has gone by since then. A machine that is busy with other things is no fault of the rule: its time counts
// only as far as this program ran.
func (m moment) past(then moment, d time.Duration) bool {
	return m.at.Sub(then.at) >= d && (!m.counts || !then.counts || m.worked-then.worked >= d)
}

// look cancels the evaluation when it takes too long, or the heap grew too far, since it was first seen. A collection in between lowers the mark.
func (s *slot) look(now moment, heap uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.cancel == nil || s.why != nil:
		return
	case !s.seen:
		s.seen, s.since, s.low = true, now, heap
	case now.past(s.since, s.limits.Timeout):
		s.why = errDeadline
	case heap < s.low:
		s.low = heap
	case heap-s.low > s.limits.HeapBytes:
		s.why = errMemory
	}
	if s.why != nil {
		s.cancel.Cancel()
	}
}

// take begins an evaluation. What it returns ends it, and gives the limit that was passed, if one was.
func (s *slot) take(c topdown.Cancel) func() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel, s.seen, s.why = c, false, nil
	return func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cancel = nil
		return s.why
	}
}

// processorTime is how long the processors have worked for this program, on all its threads: never less than for one evaluation.
func processorTime() (time.Duration, bool) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t)
	return time.Duration(t.Nano()), err == nil
}
