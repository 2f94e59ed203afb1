package disks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/winnow-reaper/winnow/collectors/dirs/disks"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestMounted: the mount points on which folders lie are remembered, the root's not, nor that of what is gone; those that were seen last stay longest.
func TestMounted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "mountinfo")
	line := "%d 1 8:1 / %s rw - ext4 /dev/sda rw\n"
	must.Do(t, os.WriteFile(file, fmt.Appendf(nil, line+line+line+line, 20, "/", 21, "/mnt/usb", 22, "/mnt/usb/in\\040it", 23, "/mnt/other"), 0o600))
	s := &snapshot.Snapshot{Dirs: map[string]snapshot.Dir{
		"a": {Path: "/mnt/usb/x"}, "b": {Path: "/mnt/usb/in it/x"}, "c": {Path: "/w/x"}, "d": {Path: "/mnt/other/x", Gone: new(true)}, "e": {Path: "/mnt/usbstick/x"},
	}}
	got := must.Get(disks.Mounted(file, s, []string{"/mnt/away", "/mnt/usb"}))(t)
	must.Equal(t, []string{"/mnt/usb", "/mnt/usb/in it", "/mnt/away"}, got, "mount points")
	many := make([]string, 500)
	for i := range many {
		many[i] = fmt.Sprintf("/mnt/%d", i)
	}
	got = must.Get(disks.Mounted(file, s, many))(t)
	must.Equal(t, []string{"/mnt/usb", "/mnt/usb/in it", "/mnt/0"}, got[:3], "the first of many")
	must.Equal(t, 200, len(got), "number of mount points")
	if got, err := disks.Mounted(file+"-none", s, many); err == nil || len(got) != len(many) {
		t.Errorf("%d mount points, error %v: what was remembered must stay", len(got), err)
	}
}
