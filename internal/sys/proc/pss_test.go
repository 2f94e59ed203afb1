package proc

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestPSS reads this process's own share: some memory, and less than a made-up terabyte; and files that are none.
func TestPSS(t *testing.T) {
	t.Parallel()
	n, err := PSS("/proc", os.Getpid())
	if err != nil || n < 64<<10 || n > 1<<40 {
		t.Errorf("this process has %d bytes, %v", n, err)
	}
	root := t.TempDir()
	for text, want := range map[string]int64{
		"00400000-7fff ---p 00000000 00:00 0 [rollup]\nRss:  12 kB\nPss:                7 kB\nPss_Dirty: 3 kB\n": 7 << 10,
		"Rss: 12 kB\n": -1, "Pss: many kB\n": -1, "Pss: 7 MB\n": -1, "": -1,
	} {
		must.Do(t, os.MkdirAll(filepath.Join(root, "5"), 0o700))
		must.Do(t, os.WriteFile(filepath.Join(root, "5", "smaps_rollup"), []byte(text), 0o600))
		got, err := PSS(root, 5)
		if want < 0 && err == nil || want >= 0 && got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}
