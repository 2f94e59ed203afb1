package engine_test

import (
	"io/fs"
	"strings"
	"testing"

	"winnow/policies"
)

// sources are the shipped policies without their tests, by path.
func sources(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(policies.Files, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".rego") || strings.HasSuffix(p, "_test.rego") {
			return err
		}
		data, err := fs.ReadFile(policies.Files, p)
		out[p] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
