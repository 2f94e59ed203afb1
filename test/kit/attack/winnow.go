package attack

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// builtDir is the folder of the program that built made, "" where it made none.
var builtDir string

// built builds the program once for all tests of a package: each link of it takes seconds.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp(machine.Temp(), "winnow-program-")
	if err != nil {
		return "", err
	}
	builtDir = dir
	path := filepath.Join(dir, "winnow")
	if out, err := exec.Command("go", "build", "-o", path, "github.com/winnow-reaper/winnow/cmd/winnow").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build winnow: %w\n%s", err, out)
	}
	return path, os.Chmod(path, 0o755)
})

// Winnow puts the program, without the race detector, into a folder of the test's own that every user can enter, and gives its path: by the path the
// test knows its own processes. Under the race detector and in the first stage the test is skipped. It goes when the test has ended. The package's TestMain is Main, which removes what was built.
func Winnow(t *testing.T) string {
	t.Helper()
	stage.NeedSecond(t, "it attacks the program for a long time")
	if Raced {
		t.Skip("it attacks the program, which has no race detector: without it, as .ci/run does")
	}
	program, err := built()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(machine.Temp(), "winnow-program-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "winnow")
	if err := os.Link(program, path); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
