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
		kept, rebuilt := work(names, ignored, tt.nested)
		if diff := cmp.Diff(tt.want, kept); diff != "" || len(kept)+len(rebuilt) != len(ignored) {
			t.Error(diff, rebuilt)
		}
	}
}
