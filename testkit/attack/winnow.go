package attack

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Winnow builds the program into a folder that every user can enter, and gives its path. It goes when the test has ended.
func Winnow(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "winnow-program-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "winnow")
	if out, err := exec.Command("go", "build", "-o", path, "winnow/cmd/winnow").CombinedOutput(); err != nil {
		t.Fatalf("build winnow: %v\n%s", err, out)
	}
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
