// Package parts has a test binary start itself again as a process that plays a part.
package parts

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/wait"
	"golang.org/x/sys/unix"
)

// Variable names the part in the environment of a child.
const Variable = "WINNOW_TEST_PART"

// ready is true where Main began the tests: without it a child would run all of them, and start children of its own.
var ready bool

// Main runs the tests, or plays the part that this process was started for, and then waits for its standard input to close. A part prints one
// line when it is ready.
func Main(m *testing.M, parts map[string]func(args []string) error) {
	part, child := os.LookupEnv(Variable)
	play, ok := parts[part]
	switch {
	case child && !ok:
		fmt.Println("failed: no such part:", part)
		os.Exit(1)
	case !child:
		ready = true
		machine.Alone()
		machine.CloseOnExec()
		wait.Mostly()
		os.Exit(m.Run())
	}
	if err := play(os.Args[1:]); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// Child is a running part.
type Child struct {
	*exec.Cmd
	// Said is the line that it was ready with.
	Said string
}

// Start runs a part, waits until it is ready and ends it with the test.
func Start(t *testing.T, play string, change func(*exec.Cmd), args ...string) Child {
	t.Helper()
	if !ready {
		t.Fatal("TestMain of this package does not call parts.Main")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe, args...)
	c.Env = []string{Variable + "=" + play, "HOME=/nonexistent", "SECRET=not to be kept"}
	c.Stderr = os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{}
	if change != nil {
		change(c)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.HasPrefix(said, "failed:") {
		t.Fatalf("child %s said %q: %v", play, said, err)
	}
	return Child{c, strings.TrimSpace(said)}
}

// Idle does nothing.
func Idle([]string) error { fmt.Println("ready"); return nil }

// Open has the file or folder args[0] open.
func Open(args []string) error {
	_, err := unix.Open(args[0], unix.O_RDONLY|unix.O_CLOEXEC, 0) // not os.Open: what nothing refers to would be closed
	fmt.Println("ready")
	return err
}

// Hide runs as it is and cannot be read by its own user.
func Hide([]string) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	fmt.Println("ready")
	return nil
}

// BecomePlain gives up root's rights, in this order.
func BecomePlain() error {
	return cmp.Or(syscall.Setgroups(nil), syscall.Setgid(65534), syscall.Setuid(65534))
}

// NeedRoot skips a test that mounts, for all but root.
func NeedRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
}

// SpawnIdle starts children that only sleep, and ends them with the benchmark.
func SpawnIdle(b *testing.B, count int) {
	b.Helper()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		b.Skip("no sleep on this machine")
	}
	children := make([]*exec.Cmd, 0, count)
	b.Cleanup(func() {
		for _, c := range children {
			_ = c.Process.Kill()
		}
		for _, c := range children {
			_ = c.Wait()
		}
	})
	base := b.TempDir()
	for i := range count {
		dir := filepath.Join(base, strconv.Itoa(i%1000))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			b.Fatal(err)
		}
		c := exec.Command(sleep, "600")
		c.Dir = dir
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := c.Start(); err != nil {
			b.Skipf("started %d of %d idle processes: %v", i, count, err)
		}
		children = append(children, c)
	}
}
