package policy_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/policies"
)

// TestObservingIsWhole: what the rules about workers import is among them. A package that is missing makes a function an
// error, and a rule undefined.
func TestObservingIsWhole(t *testing.T) {
	t.Parallel()
	imports := regexp.MustCompile(`(?m)^import data\.policies\.([a-z_.]+)`)
	seen := 0
	err := fs.WalkDir(policies.Observing, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.rego") {
			return err
		}
		text, err := fs.ReadFile(policies.Observing, path)
		for _, m := range imports.FindAllSubmatch(text, -1) {
			seen++
			if _, missing := fs.Stat(policies.Observing, strings.ReplaceAll(string(m[1]), ".", "/")); missing != nil {
				t.Errorf("%s imports %s: %v", path, m[1], missing)
			}
		}
		return err
	})
	if err != nil || seen == 0 {
		t.Fatal(seen, err)
	}
}
