package dirs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/test/kit/must"
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

func TestToolFiles(t *testing.T) {
	t.Parallel()
	names := []string{"node_modules", ".next/cache", "*.pyc", "npm-debug.log*"}
	for path, want := range map[string]bool{
		"node_modules": true, "node_modules/a/b.js": true, "web/node_modules/x": true, "a/b.pyc": true, "npm-debug.log.1": true,
		".next/cache/x/y": true, "web/.next/cache/x": true, ".next/server/x": false, "cache/x": false, "node_modules.md": false, "my/node_modules_": false,
		"a.pyc.md": false, "node_modules/a/": false, "": false, "src/a.go": false,
	} {
		if got := toolFile(names, path); got != want {
			t.Errorf("%q: want %v, got %v", path, want, got)
		}
	}
}

func TestWorkCountsWhatMayHoldARepository(t *testing.T) {
	t.Parallel()
	made, ignored := []string{"target/", "dist/", "dist"}, []string{"target/", "dist/", "dist", ".env"}
	tests := []struct {
		unmarked []string
		nested   *[]string
		want     []string
	}{
		{nil, &[]string{}, []string{".env"}},
		{nil, &[]string{"dist/a", "targets"}, []string{"dist/", ".env"}},
		{nil, &[]string{"target"}, []string{"target/", ".env"}},
		{nil, nil, []string{"target/", "dist/", ".env"}},
		{[]string{"dist/"}, &[]string{}, []string{"dist/", ".env"}},
	}
	for _, tt := range tests {
		kept, rebuilt := work(ignored, notIn(made, tt.unmarked), tt.nested)
		if diff := cmp.Diff(tt.want, kept); diff != "" || len(kept)+len(rebuilt) != len(ignored) {
			t.Error(diff, rebuilt)
		}
	}
}

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
