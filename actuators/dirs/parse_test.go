package dirs

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMountPoints(t *testing.T) {
	t.Parallel()
	got, err := mountPoints("25 30 0:23 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n26 30 0:24 / /a\\040b\\011c\\012d\\134e rw - proc proc rw\n")
	if diff := cmp.Diff([]string{"/sys", "/a b\tc\nd\\e"}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, text := range []string{"\n", "25 30 0:23 /\n", "25 30 0:23 /  rw - x\n"} {
		if got, err := mountPoints(text); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func FuzzMountPoints(f *testing.F) {
	own, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(own))
	f.Fuzz(func(t *testing.T, text string) {
		points, err := mountPoints(text)
		if err != nil && points != nil {
			t.Errorf("%q: an error and %q", text, points)
		}
	})
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	a, b, z := "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222", "0000000000000000000000000000000000000000"
	diff := ":100644 100644 " + a + " " + b + " M\x00a file\x00:100644 000000 " + a + " " + z + " D\x00:odd\x00:000000 160000 " + z + " " + a + " A\x00lib\x00"
	if d := cmp.Diff([]string{b}, diffBlobs(diff)); d != "" {
		t.Errorf("diff (-want +got):\n%s", d)
	}
	stage := "100644 " + a + " 1\ta b\x00100644 " + b + " 2\ta b\x00160000 " + a + " 0\tlib\x00"
	if d := cmp.Diff([]string{a, b}, stagedBlobs(stage)); d != "" {
		t.Errorf("stage (-want +got):\n%s", d)
	}
}
