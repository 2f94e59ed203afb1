package attack

import "testing"

// WithoutRaces leaves a test out under the race detector that does one thing after another: .ci/run runs it without.
func WithoutRaces(t testing.TB) {
	t.Helper()
	if Raced {
		t.Skip("it does one thing after another, which takes a minute under the race detector: without it, as .ci/run does")
	}
}
