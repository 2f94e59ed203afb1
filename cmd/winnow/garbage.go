package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The program runs for a moment and then ends, so that it collects less often than by default while it is small: that halves the time to its first
// decision. As what it holds grows, it collects more often, as by default in the end, since a look at many processes would take up five
// times what it needs.
const (
	gcPercent = 400
	// roomy is up to how many bytes its heap may grow between two collections before it collects more often.
	roomy = 48 << 20
	// gcLook is how often it is looked at what was left by the last collection. A look takes a microsecond.
	gcLook = 5 * time.Millisecond
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
	go func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		last := uint64(0)
		for range time.Tick(gcLook) {
			if metrics.Read(live); live[0].Value.Uint64() == last {
				continue
			}
			last = live[0].Value.Uint64()
			debug.SetGCPercent(percentFor(last))
			if last >= roomy/2 {
				return // it hardly becomes small again
			}
		}
	}()
}
