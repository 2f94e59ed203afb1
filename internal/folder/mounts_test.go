package folder

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseMounts(t *testing.T) {
	t.Parallel()
	points, err := parseMounts([]byte("36 35 98:0 /mnt1 / rw,noatime master:1 - ext3 /dev/root rw\n" +
		`37 36 0:5 / /a\040b\134c\011\012d rw - tmpfs tmpfs rw` + "\n"))
	if diff := cmp.Diff([]string{"/", "/a b\\c\t\nd"}, points); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for _, bad := range []string{"", "\n", "1 2 3\n", "25 30 0:23 /\n", "36 35 98:0 /mnt1 no rw - ext3 x rw\n"} {
		if points, err := parseMounts([]byte(bad)); err == nil {
			t.Errorf("%q: no error and %q", bad, points)
		}
	}
}

func FuzzParseMounts(f *testing.F) {
	f.Add([]byte(`37 36 0:5 / /a\040b\134c\011\012d rw - tmpfs tmpfs rw` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		points, err := parseMounts(data)
		if err == nil && len(points) == 0 {
			t.Error("no error and no mount")
		}
		for _, p := range points {
			if !strings.HasPrefix(p, "/") {
				t.Errorf("%q is no path", p)
			}
		}
	})
}
