package main

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"winnow/testkit/wait"
)

// TestHowOftenGarbageIsCollected: a heap may grow up to roomy, then to twice what is left, and never by more than gcPercent.
func TestHowOftenGarbageIsCollected(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for live, want := range map[uint64]int{0: gcPercent, 1: gcPercent, 5 * mb: gcPercent, 12 * mb: 300, 16 * mb: 200, roomy / 2: 100, roomy: 100, 100 * mb: 100, 1 << 40: 100} {
		if got := percentFor(live); got != want {
			t.Errorf("%d bytes left: %d %%, want %d", live, got, want)
		}
	}
	for live := uint64(1); live < 4*roomy; live += 99_991 {
		goal := live + live*uint64(percentFor(live))/100
		if goal > max(roomy, 2*live) || goal > 5*live {
			t.Fatalf("%d bytes left, and it may grow to %d", live, goal)
		}
	}
}

// TestAfterEachCollection: it is called after one collection and after the next, until it says that it has enough.
func TestAfterEachCollection(t *testing.T) {
	var called atomic.Int64
	afterEach(func() bool { return called.Add(1) < 2 })
	for want := int64(1); want <= 2; want++ {
		wait.Eventually(t, "a call after a collection", func() bool { runtime.GC(); return called.Load() >= want })
	}
	runtime.GC()
	runtime.GC()
	time.Sleep(20 * time.Millisecond)
	if n := called.Load(); n != 2 {
		t.Errorf("called %d times", n)
	}
}
