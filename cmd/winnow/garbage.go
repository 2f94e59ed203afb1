package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The program runs for a moment and then ends, so that it collects less often than by default while it is small: that halves the time to its first
// decision. As what it holds grows, it collects more often, as by default in the end, since a look at many processes would take up five
// times what it needs.
const (
	gcPercent = 400
	// roomy is up to how many bytes its heap may grow between two collections before it collects more often.
	roomy = 48 << 20
	// softMemory is from where on, in bytes, it collects as often as it must to stay below, since the input of some looks is great.
	softMemory = 512 << 20
)

// percentFor is the garbage collector's percentage where the last collection left so many bytes: a heap that grows up to roomy, or to twice that, and
// never by more than gcPercent.
func percentFor(live uint64) int {
	if live >= roomy/2 {
		return 100
	}
	return min(gcPercent, int(100*(roomy-live)/max(live, 1)))
}

// sparing sets the garbage collector up for the life of the program. GOGC and GOMEMLIMIT, where they are given, hold instead.
func sparing() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softMemory)
	}
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(gcPercent)
	afterEach(func() bool {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		left := live[0].Value.Uint64()
		debug.SetGCPercent(percentFor(left))
		return left < roomy/2 // it hardly becomes small again
	})
}

// collected is something that nobody holds, so that the next collection finds it. It is too large for the allocator to put it beside others.
type collected struct{ _ [64]byte }

// afterEach calls do after each collection, as long as it says so. Nothing wakes up in between.
func afterEach(do func() bool) {
	runtime.SetFinalizer(&collected{}, func(*collected) {
		if do() {
			afterEach(do)
		}
	})
}
