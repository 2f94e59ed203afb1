// Package wait waits in tests for what takes a moment. Nothing but tests imports it.
package wait

import (
	"context"
	"flag"
	"testing"
	"time"
)

// Patience bounds what hangs, and nothing else: no test says anything of how long something takes by it, so that a busy machine makes tests slower and lets none
// fail.
const Patience = 5 * time.Minute

// Mostly lets eight tests of a package run at a time where they wait more than they work. TestMain calls it; the flag -parallel still stands over it.
func Mostly() {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
}

// Eventually asks again and again whether something is so, and fails the test where it is not within Patience.
func Eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	if !Until(Patience, so) {
		t.Fatalf("after %s: not yet %s", Patience, what)
	}
}

// Until asks again and again until something is so, for at most the given time, and reports whether it was. Between two
// questions it rests as long as the last one took: many are whole looks, and would slow down on a busy machine what they wait for.
func Until(within time.Duration, so func() bool) bool {
	deadline := time.Now().Add(within)
	for pause := time.Millisecond; ; pause = min(2*pause, 16*time.Millisecond) {
		asked := time.Now()
		if so() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(max(pause, min(time.Since(asked), time.Second)))
	}
}

// Within is the test's context with an end.
func Within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
