package executable_test

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/executable"
)

// TestWriteWhileOthersFork writes programs and starts each at once, beside tests that do the same: with os.WriteFile some starts fail.
func TestWriteWhileOthersFork(t *testing.T) {
	t.Parallel()
	for who := range 8 {
		t.Run(strconv.Itoa(who), func(t *testing.T) {
			t.Parallel()
			for n := range 40 {
				path := filepath.Join(t.TempDir(), strconv.Itoa(n))
				executable.Write(t, path, "#!/bin/sh\nexit 0\n")
				if err := exec.Command(path).Run(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
