package machine

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// movedVar is in the environment of a program that Moved built: by how many seconds its clocks are ahead.
const movedVar = "TEST_MOVED"

// The places at which a program reads a clock: the wall's in package time, the kernel's counts since boot wherever the
// module reads them, and the clocks of the processors, by which it knows when a shell last ran. With all of them moved
// by the same time the machine has been awake all that time, and all that is on it is so much older.
const (
	wall           = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {"
	movedWall      = "\tsec, nsec, mono := runtimeNow()\n\tsec += moved\n\tif mono == 0 {"
	sinceBoot      = "unix.ClockGettime("
	movedBoot      = "time.MovedClock(unix.ClockGettime)("
	ofProcessor    = "\tif unix.SchedSetaffinity(0, &before) == nil {"
	movedProcessor = "\tnow.ran, now.counted = time.Moved(now.ran), time.Moved(now.counted)\n" + ofProcessor
	importing      = "import (\n"
	withUnsafe     = "import (\n\t\"unsafe\"\n"
	movedClock     = `
var moved = func() int64 {
	text, _ := syscall.Getenv("` + movedVar + `")
	n, _ := atoi(text)
	return int64(n)
}()

// Moved moves a clock that tells something.
func Moved(clock Duration) Duration {
	if clock > 0 {
		clock += Duration(moved) * Second
	}
	return clock
}

// MovedClock takes a function that reads a clock into a struct that begins with its seconds.
func MovedClock[T any](read func(int32, *T) error) func(int32, *T) error {
	return func(clock int32, at *T) error {
		err := read(clock, at)
		*(*int64)(unsafe.Pointer(at)) += moved
		return err
	}
}
`
)

// Moved builds a program of this module whose clocks a test can move (MovedBy). The sources stay as they are.
func (m *Machine) Moved(pkg, out string) {
	m.t.Helper()
	// By its clock, what other programs make there just now was left behind days ago.
	m.must(unix.Mount("tests", "/dev/shm", "tmpfs", 0, "mode=1777"))
	replace := map[string]string{}
	change := func(path string, change func(text string) string) {
		m.t.Helper()
		was, err := os.ReadFile(path)
		m.must(err)
		is := change(string(was))
		if is == string(was) {
			return
		}
		replace[path] = filepath.Join(m.Home, fmt.Sprintf(".clock%d.go", len(replace)))
		m.write(replace[path], is)
	}
	golang := func(args ...string) string {
		m.t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir = Source()
		said, err := cmd.CombinedOutput()
		if err != nil {
			m.t.Fatalf("go %q: %v\n%s", args, err, said)
		}
		return strings.TrimSpace(string(said))
	}
	std := golang("list", "-f", "{{.Dir}}", "time")
	change(filepath.Join(std, "time.go"), func(text string) string {
		return strings.Replace(text, wall, movedWall,
			1)
	})
	change(filepath.Join(std, "sys_unix.go"), func(text string) string {
		return strings.Replace(text, importing,
			withUnsafe, 1) + movedClock
	})
	if len(replace) != 2 {
		m.t.Fatalf("package time of %s reads its clock elsewhere", runtime.Version())
	}
	files := golang("list", "-deps", "-f",
		`{{if and .Module .Module.Main}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}`, pkg)
	for _, by := range []string{sinceBoot, ofProcessor} {
		had := len(replace)
		for _, path := range strings.Fields(files) {
			change(path, func(text string) string {
				if by == sinceBoot {
					return strings.ReplaceAll(text, sinceBoot, movedBoot)
				}
				return strings.Replace(text, ofProcessor, movedProcessor, 1)
			})
		}
		if len(replace) == had {
			m.t.Fatalf("no file of the module reads its clock as %q", by)
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	m.must(err)
	overlay := filepath.Join(m.Home, ".clocks.json")
	m.write(overlay, string(text))
	golang("build", "-overlay", overlay, "-o", out, pkg)
}

// MovedBy is for the environment of a program that Moved built.
func MovedBy(d time.Duration) string { return movedVar + "=" + strconv.Itoa(int(d.Seconds())) }
