// Package must ends a test at once where something that it builds on fails.
package must

import "testing"

// Do ends the test with err, at the caller's line, unless err is nil.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
