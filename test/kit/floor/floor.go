// Package floor runs a C program that makes the system calls of the scan of /proc and nothing more, so that benchmarks can say how far from the floor
// the scan is. It also starts many idle processes, which C does quickly.
package floor

import (
	"bufio"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

//go:embed c/floor.c
var source []byte

// The modes of a pass; what each reads of a process stands in c/floor.c. Each reads what those before it read too.
const (
	Paths   = "paths"
	Dirfd   = "dirfd"
	Markers = "markers"
	Look    = "look"
)

// Program is the built program. It lies in a folder of the test's own.
type Program string

// Build builds the program, and skips the test where no C compiler is.
func Build(tb testing.TB) Program {
	tb.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		tb.Skip("no C compiler (cc) on this machine, so there is no floor to compare with")
	}
	dir := tb.TempDir()
	p := Program(filepath.Join(dir, "floor"))
	if err := os.WriteFile(string(p)+".c", source, 0o600); err != nil {
		tb.Fatal(err)
	}
	if out, err := exec.Command(cc, "-O2", "-Wall", "-Wextra", "-Werror", "-o", string(p), string(p)+".c").CombinedOutput(); err != nil {
		tb.Fatalf("build the floor: %v\n%s", err, out)
	}
	return p
}

// Read reads the procfs at root in one of the modes, and gives how many processes there were and the processor time that it took.
func (p Program) Read(tb testing.TB, mode, root string) (count int, took time.Duration) {
	tb.Helper()
	out, err := exec.Command(string(p), "read", mode, root, "1").Output()
	if err != nil {
		tb.Fatalf("read %s: %v", root, err)
	}
	if _, err := fmt.Sscan(string(out), &count, &took); err != nil {
		tb.Fatalf("the floor said %q: %v", out, err)
	}
	return count, took
}

// Idle starts count processes that only wait until the test ends, each in one of 1,000 folders, with env as their environment and files more
// descriptors than the first three. It skips the test where the machine does not allow so many.
func (p Program) Idle(tb testing.TB, count, files int, env []string) {
	tb.Helper()
	base := tb.TempDir()
	for i := range min(count, 1000) {
		if err := os.Mkdir(filepath.Join(base, strconv.Itoa(i)), 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	c := exec.Command(string(p), "idle", strconv.Itoa(count), base)
	c.Env = env
	for range files {
		f, err := os.Open(os.DevNull)
		if err != nil {
			tb.Fatal(err)
		}
		defer f.Close()
		c.ExtraFiles = append(c.ExtraFiles, f)
	}
	in, err := c.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := c.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = in.Close(); _ = c.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	said := strings.TrimSpace(line)
	if err != nil || said != "ready "+strconv.Itoa(count) {
		tb.Skipf("of %d idle processes the machine allowed: %q (%v)", count, said, err)
	}
}
