// Package stage says which of the two stages of the tests runs. The first is what people run: go test ./... with Go, git and tmux alone, in a few
// minutes. The second, which TEST_STAGE=2 asks for, repeats what is left to chance by the thousand, and needs other programs and more time.
package stage

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// Second reports whether the second stage runs.
func Second() bool { return os.Getenv("TEST_STAGE") == "2" }

// NeedSecond skips a test that has nothing to do in the first stage, and says why.
func NeedSecond(t testing.TB, why string) {
	t.Helper()
	if !Second() {
		t.Skipf("%s: TEST_STAGE=2 runs it, as .ci/run does", why)
	}
}

// Trials is how often something is tried: a few times in the first stage, many in the second, and there many times TEST_TIMES where that is set.
func Trials(few, many int) int {
	if !Second() {
		return few
	}
	if times, err := strconv.Atoi(os.Getenv("TEST_TIMES")); err == nil {
		many *= times
	}
	return many
}

// NeedProgram skips a test where a program is not there, and fails it where TEST_NEEDS=all says, as .ci/run does, that all must be.
func NeedProgram(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
	case os.Getenv("TEST_NEEDS") == "all":
		t.Fatalf("needs %s, and .ci/run must have it", name)
	default:
		t.Skipf("needs %s", name)
	}
	return path
}

// Stride is how far apart the steps are that a test tries one by one: each is tried in the second stage, every first-th in the first.
func Stride(first int) int {
	if Second() {
		return 1
	}
	return first
}
