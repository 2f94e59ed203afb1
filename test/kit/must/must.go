// Package must fails a test where something is not as it has to be.
package must

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Do ends the test with err, at the caller's line, unless err is nil.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get gives what a call gave besides an error, which ends the test: must.Get(os.ReadFile(path))(t).
func Get[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return v
	}
}

// Equal fails the test where cmp finds a difference, and lets it go on. The format and its arguments say what is compared.
func Equal(t testing.TB, want, got any, format string, args ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", fmt.Sprintf(format, args...), diff)
	}
}
