// Package wait waits in tests for what takes a moment. Nothing but tests imports it.
package wait

import (
	"context"
	"testing"
	"time"
)

// Patience is how long Eventually waits. A machine that runs many tests at once may need most of it.
const Patience = 20 * time.Second

// Eventually asks again and again whether something is so, and fails the test where it is not within Patience.
func Eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	if !Until(Patience, so) {
		t.Fatalf("after %s: not yet %s", Patience, what)
	}
}

// Until asks again and again until something is so, for at most the given time, and reports whether it was.
func Until(within time.Duration, so func() bool) bool {
	deadline := time.Now().Add(within)
	for pause := time.Millisecond; !so(); pause = min(2*pause, 16*time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

// Within is the test's context with an end.
func Within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
