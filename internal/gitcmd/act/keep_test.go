package act

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/internal/git"
)

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

// FuzzBlobs reads what git prints: what comes out of it goes back into git as names of objects.
func FuzzBlobs(f *testing.F) {
	a := "1111111111111111111111111111111111111111"
	f.Add(":100644 100644 " + a + " " + a + " M\x00a file\x00")
	f.Add("100644 " + a + " 1\ta b\x00")
	f.Fuzz(func(t *testing.T, text string) {
		for _, id := range append(diffBlobs(text), stagedBlobs(text)...) {
			if !git.IsOID(id) {
				t.Errorf("%q gives %q", text, id)
			}
		}
	})
}
