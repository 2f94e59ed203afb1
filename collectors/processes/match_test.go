package processes_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"winnow/collectors/processes"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	roots := []string{"/w/a", "/w/a/b", "/w/ab", "/", "/none", "/w/a"}
	cwds := []string{"/w/a", "/w/a/b/c", "/w/abc", "/w/ab/x", "", "relative/w/a", "/"}
	want := map[int][]int{0: {0, 1}, 1: {1}, 2: {3}, 3: {0, 1, 2, 3, 6}, 5: {0, 1}}
	if d := cmp.Diff(want, processes.Match(cwds, roots)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("/a/b", "/a")
	f.Add("/a", "/a/b")
	f.Add("/ab", "/a")
	f.Fuzz(func(t *testing.T, cwd, root string) {
		cwds, roots := []string{"/" + cwd, "/x/" + cwd}, []string{"/r" + root, "/x/" + root, "/x"}
		if d := cmp.Diff(prefixes(cwds, roots), processes.Match(cwds, roots)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}
