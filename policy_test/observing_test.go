package policy_test

import (
	"io/fs"
	"path"
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
	err := fs.WalkDir(policies.Observing, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, "_test.rego") {
			return err
		}
		text, err := fs.ReadFile(policies.Observing, name)
		for _, m := range imports.FindAllSubmatch(text, -1) {
			seen++
			if _, missing := fs.Stat(policies.Observing, strings.ReplaceAll(string(m[1]), ".", "/")); missing != nil {
				t.Errorf("%s imports %s: %v", name, m[1], missing)
			}
		}
		return err
	})
	if err != nil || seen == 0 {
		t.Fatal(seen, err)
	}
}

// TestTheFirstFileOfARuleDescribesIt: a rule has its title and its place from the first file of its package, which is the one with the METADATA.
func TestTheFirstFileOfARuleDescribesIt(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	err := fs.WalkDir(policies.Files, ".", func(name string, d fs.DirEntry, err error) error {
		dir := path.Dir(name)
		if err != nil || d.IsDir() || path.Ext(name) != ".rego" || strings.HasSuffix(name, "_test.rego") || seen[dir] {
			return err
		}
		seen[dir] = true
		text, err := fs.ReadFile(policies.Files, name)
		if !strings.HasPrefix(string(text), "# METADATA\n") {
			t.Errorf("%s is the first file of its package, and has not its METADATA", name)
		}
		return err
	})
	if err != nil || !seen["protect/live"] {
		t.Fatal(seen, err)
	}
}
