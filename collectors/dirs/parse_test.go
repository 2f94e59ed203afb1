package dirs

import (
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
