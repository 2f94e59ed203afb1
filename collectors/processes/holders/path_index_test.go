package holders

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// match says which working directories are or lie in which of the roots, by their indices.
func match(cwds, roots []string) map[int][]int {
	p, found := newPlaces(len(roots)), map[int][]int{}
	for i, root := range roots {
		p.add(root, i)
	}
	for i, cwd := range cwds {
		p.visit(cwd, func(numbers []int) {
			for _, n := range numbers {
				found[n] = append(found[n], i)
			}
		})
	}
	return found
}

// prefixes matches by asking every root about every directory.
func prefixes(cwds, roots []string) map[int][]int {
	found := map[int][]int{}
	for i, root := range roots {
		for j, cwd := range cwds {
			if cwd == root || strings.HasPrefix(cwd, root+"/") {
				found[i] = append(found[i], j)
			}
		}
	}
	return found
}

func TestMatch(t *testing.T) {
	t.Parallel()
	roots := []string{"/w/a", "/w/a/b", "/w/ab", "/", "/none", "/w/a"}
	cwds := []string{"/w/a", "/w/a/b/c", "/w/abc", "/w/ab/x", "", "relative/w/a", "/"}
	want := map[int][]int{0: {0, 1}, 1: {1}, 2: {3}, 3: {0, 1, 2, 3, 6}, 5: {0, 1}}
	if d := cmp.Diff(want, match(cwds, roots)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("/a/b", "/a")
	f.Add("/a", "/a/b")
	f.Add("/ab", "/a")
	f.Fuzz(func(t *testing.T, cwd, root string) {
		cwds, roots := []string{"/" + cwd, "/x/" + cwd}, []string{"/r" + root, "/x/" + root, "/x"}
		if d := cmp.Diff(prefixes(cwds, roots), match(cwds, roots)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

// BenchmarkMatch matches 10,000 working directories to 1,000 roots, beside asking every root about every directory.
func BenchmarkMatch(b *testing.B) {
	roots, cwds := make([]string, 1000), make([]string, 10000)
	for i := range roots {
		roots[i] = fmt.Sprintf("/home/someone/src/trees/acme-review-%06d", i*7919)
	}
	for i := range cwds {
		cwds[i] = fmt.Sprintf("%s/packages/app-%d/src", roots[i%1000], i%13)
		if i%3 == 0 {
			cwds[i] = fmt.Sprintf("/srv/elsewhere/%d/data", i)
		}
	}
	for name, by := range map[string]func(cwds, roots []string) map[int][]int{"ours": match, "prefixes": prefixes} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				by(cwds, roots)
			}
		})
	}
}
