package dirs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRebuildable(t *testing.T) {
	t.Parallel()
	names := []string{"node_modules", "vendor/bundle", "*.pyc", "[bad"}
	tests := map[string]bool{
		"node_modules/": true, "web/node_modules/": true, "node_modules": true, "a/b.pyc": true, "vendor/bundle/": true,
		"x/vendor/bundle/": true, "bundle/": false, "xvendor/bundle/": false, "my_node_modules/": false, ".env": false,
		"node_modules/x": false, "": false, "/": false, "[bad": false,
	}
	for path, want := range tests {
		if got := rebuildable(names, path); got != want {
			t.Errorf("%q: want %v, got %v", path, want, got)
		}
	}
}

func TestWorkCountsWhatMayHoldARepository(t *testing.T) {
	t.Parallel()
	names, ignored := []string{"target", "dist"}, []string{"target/", "dist/", "dist", ".env"}
	tests := []struct {
		nested *[]string
		want   []string
	}{
		{&[]string{}, []string{".env"}},
		{&[]string{"dist/a", "targets"}, []string{"dist/", ".env"}},
		{&[]string{"target"}, []string{"target/", ".env"}},
		{nil, []string{"target/", "dist/", ".env"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, work(names, ignored, tt.nested)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestParseMountinfo(t *testing.T) {
	t.Parallel()
	points, err := parseMountinfo([]byte("36 35 98:0 /mnt1 / rw,noatime master:1 - ext3 /dev/root rw\n" +
		`37 36 0:5 / /a\040b\134c\011\012d rw - tmpfs tmpfs rw` + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/", "/a b\\c\t\nd"}, points); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "1 2 3\n", "36 35 98:0 /mnt1 no rw - ext3 x rw\n"} {
		if points, err := parseMountinfo([]byte(bad)); err == nil {
			t.Errorf("%q: no error and %q", bad, points)
		}
	}
}

func FuzzParseMountinfo(f *testing.F) {
	f.Add([]byte(`37 36 0:5 / /a\040b\134c\011\012d rw - tmpfs tmpfs rw` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		points, err := parseMountinfo(data)
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
