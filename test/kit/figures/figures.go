// Package figures collects what tests measure of the product, so that one list of it can be printed after all tests. Nothing but tests imports it.
package figures

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// listVar names the variable that holds the path of a file to which every figure is appended, one line each.
const listVar = "FIGURES_LIST"

// Logf logs a figure, and appends its first line to the list. A list that cannot be written fails the test.
func Logf(t testing.TB, format string, args ...any) {
	t.Helper()
	text := fmt.Sprintf(format, args...)
	t.Log(text)
	path := os.Getenv(listVar)
	if path == "" {
		return
	}
	first, _, _ := strings.Cut(text, "\n")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err == nil {
		// One write, so that figures of tests that run at the same time do not mix.
		_, err = fmt.Fprintf(f, "%s: %s\n", t.Name(), first)
		if e := f.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		t.Errorf("append to the list of figures: %v", err)
	}
}
