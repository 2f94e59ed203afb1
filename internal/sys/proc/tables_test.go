package proc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

const procLine = "24 30 0:22 / /proc rw,nosuid shared:12 - proc proc rw,gid=27,hidepid=invisible\n"

func TestParseMounts(t *testing.T) {
	t.Parallel()
	text := procLine + `36 35 98:0 /a\040b /mnt/x\134y rw,noatime master:1 shared:2 - ext4 /dev/root rw,errors=continue` + "\n"
	got, ok := ParseMounts([]byte(text))
	want := []Mount{
		{ID: 24, Device: "0:22", Root: "/", Point: "/proc", Kind: "proc", Options: "rw,gid=27,hidepid=invisible"},
		{ID: 36, Device: "98:0", Root: "/a b", Point: `/mnt/x\y`, Kind: "ext4", Options: "rw,errors=continue"},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(Mount{})); d != "" || !ok {
		t.Errorf("ok %v (-want +got):\n%s", ok, d)
	}
	for _, text := range []string{"", "24 30 0:22 / /proc rw proc proc rw", "x 30 0:22 / /proc rw - proc proc rw", "24 30 - proc proc rw", "36 35 98:0 /mnt1 no rw - ext3 x rw"} {
		if got, ok := ParseMounts([]byte(text)); ok {
			t.Errorf("%q read as %+v", text, got)
		}
	}
}

func FuzzParseMounts(f *testing.F) {
	f.Add([]byte(procLine))
	f.Add([]byte("1 2 3:4 \\04 /x rw - a b c\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, ok := ParseMounts(text)
		if ok == (len(all) == 0) {
			t.Fatalf("ok %v with %d mounts", ok, len(all))
		}
		if lines := strings.Count(strings.TrimSuffix(string(text), "\n"), "\n") + 1; ok && len(all) != lines {
			t.Errorf("%d mounts in %d lines", len(all), lines)
		}
	})
}

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
