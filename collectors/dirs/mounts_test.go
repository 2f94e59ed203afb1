package dirs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

// The mounts are read once for all sources of a look, and again for a look at single folders. What could not be read is asked for again.
func TestMountsAreReadOnceALook(t *testing.T) {
	t.Parallel()
	o := Options{Later: true, Cache: NewLookCache(), Mountinfo: filepath.Join(t.TempDir(), "mountinfo")}
	if m, err := o.mounts(); err == nil {
		t.Fatalf("mounts that could not be read are %v", m)
	}
	const one = "1 0 8:1 / / rw - ext4 /dev/a rw\n"
	must.Do(t, os.WriteFile(o.Mountinfo, []byte(one), 0o600))
	first := must.Get(o.mounts())(t)
	must.Do(t, os.WriteFile(o.Mountinfo, []byte(one+"2 1 8:1 / /w/a rw - ext4 /dev/a rw\n"), 0o600))
	if again := must.Get(o.mounts())(t); again != first || again.count["/w"] != 0 {
		t.Errorf("another source of the look reads them again: %v", again.count)
	}
	o.Only = []string{"/w/a"}
	if now := must.Get(o.mounts())(t); now.count["/w"] != 1 {
		t.Errorf("before an act: %v", now.count)
	}
}
