package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// The program runs for a moment and then ends, so that it collects less often than by default while it is small: that halves the time to its first
// decision. A look that keeps little makes little garbage, and has little room. Where more is kept the rules are compiled and evaluated, which makes
// much of it, so that there is more room. In the end it collects more often than by default: of a look at very many processes it keeps most of
// what it makes, and room would be a great part of all memory.
const (
	gcPercent    = 400
	firstPercent = 1200 // until the first collection
	leastPercent = 40
	// roomy is up to how many bytes its heap may grow between two collections while no more than little is left, and roomiest is that where much is left. In
	// between it grows by slope times what is left above little.
	little, defaultRoomy, roomiest, slope = 10 << 20, 15 << 20, 48 << 20, 8
	// full is what may be left at most for the heap to have more room than by leastPercent.
	full = roomiest * 100 / (100 + leastPercent)
	// softMemory is from where on, in bytes, it collects as often as it must to stay below, since the input of some looks is great.
	softMemory = 512 << 20
)

// roomy is higher in a command that does the same many times and so makes much garbage.
var roomy atomic.Uint64

// percentFor is the garbage collector's percentage where the last collection left so many bytes: a heap that grows up to roomy or roomiest, or by
// leastPercent, and never by more than gcPercent.
func percentFor(live, roomy uint64) int {
	if live >= full {
		return leastPercent
	}
	room := min(roomiest, roomy+slope*(max(live, little)-little))
	return min(gcPercent, int(100*(room-live)/max(live, 1)))
}

// tuneGC sets the garbage collector up for the life of the program. GOGC and GOMEMLIMIT, where they are given, hold instead.
func tuneGC() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softMemory)
	}
	if os.Getenv("GOGC") != "" {
		return
	}
	roomy.Store(defaultRoomy)
	debug.SetGCPercent(firstPercent)
	afterEach(func() bool {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		left := live[0].Value.Uint64()
		debug.SetGCPercent(percentFor(left, roomy.Load()))
		return left < full // it hardly becomes small again
	})
}

// collected is something without a reference, so that the next collection finds it. It is too large for the allocator to put it beside others.
type collected struct{ _ [64]byte }

// afterEach calls do after each collection, as long as it says so. Nothing wakes up in between.
func afterEach(do func() bool) {
	runtime.SetFinalizer(&collected{}, func(*collected) {
		if do() {
			afterEach(do)
		}
	})
}
