package sandbox_test

import (
	"os"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/worlds"
)

// TestMain lets the test's own program be the process that judges apart.
func TestMain(m *testing.M) {
	worlds.JudgeApart()
	os.Exit(m.Run())
}
