package main

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// stopAt is the variable by which a test has the program kill itself at the nth step of its acts.
const stopAt = "STOP_AT_STEP"

// runAt is the variable by which a test has the program run a line of shell at a step of its acts: STEP:LINE.
const runAt = "RUN_AT_STEP"

func TestMain(m *testing.M) {
	if os.Getenv(asParent) != "" {
		parent()
	}
	if len(os.Args) == 2 && os.Args[1] == sandbox.ServeArgument {
		program()
	}
	commands := map[string]func(){"winnow": program, "holds": holds, "speaks": speaks}
	if commands[filepath.Base(os.Args[0])] == nil {
		machine.Alone()
		// What runs under nohup, or in the background of a script, hands on what it ignores: then nothing that a test leaves
		// behind would go, and nothing that it interrupts would end. What is handled here is not ignored by children.
		for _, s := range []os.Signal{syscall.SIGHUP, os.Interrupt} {
			if signal.Ignored(s) {
				signal.Notify(make(chan os.Signal, 1), s)
			}
		}
	}
	// Scripts mostly wait: for second looks, for servers that do not answer. The flag still stands over this.
	if err := flag.Set("test.parallel", strconv.Itoa(max(4, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
	testscript.Main(tests{m}, commands)
}

// listensAt names the unix socket at which a child of a script listens, in the place of what it is for.
const listensAt = "WINNOW_TEST_LISTENS_AT"

// program is main, with the steps of acts counted where a test asks for it.
func program() {
	debug.SetGCPercent(gcPercent)
	sweep.ExplainAll, sweep.ExplainOne = wait.Patience, wait.Patience
	if socket := os.Getenv(listensAt); socket != "" {
		if _, err := net.Listen("unix", socket); err != nil {
			panic(err)
		}
		select {}
	}
	if n, err := strconv.Atoi(os.Getenv(stopAt)); err == nil {
		sweep.Step = func(string) {
			if n--; n == 0 {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		}
	}
	if name, line, ok := strings.Cut(os.Getenv(runAt), ":"); ok {
		sweep.Step = func(at string) {
			if at == name {
				if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
					panic(fmt.Sprintf("%s: %v: %s", line, err, out))
				}
			}
		}
	}
	// A home and a mark of each test's own: tests that act do not wait for one another, nor for the user's own sweeps.
	sum := sha256.Sum256([]byte(os.Getenv("HOME")))
	acting = lock.Acting{Name: "winnow-test-" + hex.EncodeToString(sum[:8]), Home: os.Getenv("HOME")}
	os.Exit(run(os.Args[1:]))
}

// itsDir is the folder in which this program is called winnow, "" where no test asked for it.
var itsDir string

// tests are the tests of this package, and the removal of what they made.
type tests struct{ *testing.M }

// Run implements testscript.TestingM.
func (t tests) Run() int {
	defer func() { _ = os.RemoveAll(itsDir) }()
	return t.M.Run()
}

// itself is this program under the name winnow, with its switches for tests.
var itself = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "winnow-itself-")
	if err != nil {
		panic(err)
	}
	itsDir = dir
	path := filepath.Join(dir, "winnow")
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, path)
	}
	if err != nil {
		panic(err)
	}
	return path
})

// raced are the scripts that run under the race detector too: those in which most goes on at the same time. The others are
// mostly starts of the program, one after another, each of which takes many times as long there: they run without it only.
var raced = []string{"dirs", "processes", "review", "sessions", "top"}

// startsOften skips a test that mostly starts the program, one after another, under the race detector.
func startsOften(t *testing.T) {
	t.Helper()
	if attack.Raced {
		t.Skip("it starts the program again and again, one after another, which takes minutes under the race detector: without it, as .ci/run does")
	}
}
