package policy_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/policy"
)

// TestTextsIn finds texts of both forms, and none in comments, tests and other files.
func TestTextsIn(t *testing.T) {
	t.Parallel()
	got, err := policy.TextsIn(fstest.MapFS{
		"a/a.rego":      {Data: []byte("# it's \"no text\"\npackage x # \"nor this\"\nr if {\n\tx == \"a # b\"; y == `raw \" \\w`; z == \"\\\"q\\u00e9\"; f(\"a # b\")\n}\n")},
		"a/a_test.rego": {Data: []byte(`x := "test"`)},
		"a/a.txt":       {Data: []byte(`"other"`)},
	})
	if d := cmp.Diff([]string{`"qé`, "a # b", `raw " \w`}, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}
