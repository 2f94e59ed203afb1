package main

import (
	"strings"
	"testing"
)

// TestPackageFolder reads of a file where it belongs, and says of any other what is wrong with which line.
func TestPackageFolder(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"package policies.reap.dirs.mine\n":                           "reap/dirs/mine",
		"# METADATA\n# title: x\n\n  # y\npackage policies.a.b # c\n": "a/b",
		"package\tpolicies.protect.x_1\r\nimport rego.v1\r\n":         "protect/x_1",
		"package policies.protect.mine":                               "protect/mine",
		" package policies.protect.mine \n":                           "protect/mine",
	} {
		if got, err := packageFolder("f.rego", []byte(text)); got != want || err != nil {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                               "f.rego:1: the file is empty",
		"# nothing\n\n":                  "f.rego:2: the file is empty",
		"\nx := 1\npackage policies.a\n": "f.rego:2: the first line that is no comment is no package",
		"package mine.a\n":               "f.rego:1: package mine.a is not below policies",
		"package policies\n":             "f.rego:1: package policies is not below policies",
		"package policies[\"..\"].a\n":   "f.rego:1: the first line that is no comment is no package",
		"package policies.../../etc\n":   "f.rego:1: the first line that is no comment is no package",
		"package policies.a; x := 1\n":   "f.rego:1: the first line that is no comment is no package",
	} {
		if got, err := packageFolder("f.rego", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}
