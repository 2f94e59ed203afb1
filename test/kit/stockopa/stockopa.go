// Package stockopa runs OPA's own program, as the tools module pins it.
package stockopa

import (
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// path is where the go command has it, built once for all tests of a run and kept in its cache.
var path = sync.OnceValues(func() (string, error) {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	root := filepath.Dir(strings.TrimSpace(string(mod)))
	cmd := exec.Command("go", "tool", "-n", "-modfile="+filepath.Join(root, "tools", "go.mod"), "opa")
	cmd.Dir = root
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
})

// Path is the program's path.
func Path() (string, error) { return path() }

// Run runs it in a folder and gives all that it printed.
func Run(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	opa, err := path()
	if err != nil {
		t.Fatalf("find the stock opa: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), opa, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Must is Run of what has to work.
func Must(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := Run(t, dir, args...)
	if err != nil {
		t.Fatalf("opa %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}
