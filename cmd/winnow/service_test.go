package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	musts "github.com/winnow-reaper/winnow/test/kit/must"
)

// TestSudoLeavesTheHomeOfAUserAlone: with sudo -E the home is the user's, and what root makes there is root's.
func TestSudoLeavesTheHomeOfAUserAlone(t *testing.T) {
	t.Parallel()
	startsOften(t)
	if os.Geteuid() != 0 {
		t.Skip("it has to be root for this")
	}
	w := newCrashFolder(t)
	home := filepath.Join(w.dir, "home")
	musts.Do(t, os.Mkdir(home, 0o755))
	musts.Do(t, os.Lchown(home, 40001, 40001))
	for _, config := range []string{"", filepath.Join(home, "elsewhere")} {
		for _, what := range []string{"install", "uninstall"} {
			out, err := w.run([]string{"HOME=" + home, "XDG_CONFIG_HOME=" + config, "SUDO_USER="}, "winnow", "service", what, "--config", w.config)
			if err == nil || !strings.Contains(string(out), "belongs to uid 40001, and this runs as uid 0. Run it without sudo") {
				t.Errorf("%s: %v: %s", what, err, out)
			}
		}
	}
	if list, err := os.ReadDir(home); err != nil || len(list) != 0 {
		t.Errorf("root made %v there, %v", list, err)
	}
}
