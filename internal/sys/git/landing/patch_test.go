package landing

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzPatches reads what git diff-tree may print: for every text the answer is one digest for each difference that was asked for, or an
// error.
func FuzzPatches(f *testing.F) {
	a, b := strings.Repeat("a", 40), strings.Repeat("b", 40)
	f.Add([]byte(a + "\ndiff --git x x\nindex 1..2 100644\n--- x\n+++ x\n@@ -1 +1 @@\n-o\n+n\n" + b + "\n"))
	f.Add([]byte(a + "\ndiff --git x x\nnew file mode 100644\nindex 0..1\n" + b + "\ndiff --git y y\nold mode 100644\nnew mode 100755\n"))
	f.Add([]byte(a + "\ndiff --git x x\nindex 1..2\n--- x\n+++ x\n@@ -1,2 +1 @@ f\n-" + b + "\n o\n\\ No newline\n" + b + "\n"))
	f.Add([]byte(a + "\x00:100644 100644 1 2 M\x00x\x00" + b + "\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		pairs := []pair{{a, b}, {b, a}}
		p := patches{pairs: pairs}
		if recordsOf(data, '\n', p.line) == nil && p.end() == nil && len(p.found) != len(pairs) {
			t.Errorf("%d digests of %d", len(p.found), len(pairs))
		}
		o := outliner{pairs: pairs, named: 1}
		if recordsOf(data, 0, o.field) == nil && o.end() == nil && len(o.found) != len(pairs) {
			t.Errorf("%d outlines of %d", len(o.found), len(pairs))
		}
	})
}

// recordsOf hands over each record that ends with until.
func recordsOf(data []byte, until byte, each func([]byte) error) error {
	for record := range bytes.SplitSeq(bytes.TrimSuffix(data, []byte{until}), []byte{until}) {
		if err := each(record); err != nil {
			return err
		}
	}
	return nil
}
