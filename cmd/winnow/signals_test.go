package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/demo"
	"github.com/winnow-reaper/winnow/internal/stop"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/test/kit/files"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func TestAnActInHandIsNeverCutShort(t *testing.T) {
	t.Parallel()
	const grace = 100 * time.Millisecond
	h, got, over := &stop.Inflight{}, make(chan os.Signal, 1), make(chan struct{})
	done := h.Begin()
	ended := make(chan syscall.Signal, 1)
	go func() { ended <- stop.LastSignal(syscall.SIGTERM, got, h, over, grace) }()
	select {
	case s := <-ended:
		t.Fatalf("ended by %v with an act in hand", s)
	case <-time.After(5 * grace):
	}
	done()
	if s := <-ended; s != syscall.SIGTERM {
		t.Errorf("the act has ended: want SIGTERM, got %v", s)
	}
	h.Begin()
	got <- syscall.SIGINT
	if s := stop.LastSignal(syscall.SIGTERM, got, h, over, time.Minute); s != syscall.SIGINT {
		t.Errorf("a second signal: want SIGINT, got %v", s)
	}
	close(over)
	if s := stop.LastSignal(syscall.SIGTERM, got, h, over, time.Minute); s != 0 {
		t.Errorf("the program has ended: want none, got %v", s)
	}
}

func TestAnErrorsLines(t *testing.T) {
	t.Parallel()
	inner := errors.New("a\nb")
	for want, err := range map[string]error{
		`winnow: read x\u{a}winnow: all is well: a\u{a}b`: fmt.Errorf("read x\nwinnow: all is well: %w", inner),
		"winnow: a\\u{a}b\n  c":                           errors.Join(inner, errors.New("c")),
		"winnow: demo: a\\u{a}b\n  c; left":               fmt.Errorf("demo: %w; left", errors.Join(inner, errors.New("c"))),
		"winnow: refused:\n  a\\u{a}b":                    config.Usagef("refused:\n%w", inner),
	} {
		var out strings.Builder
		printError(termsafe.NewWriter(&out), err)
		if out.String() != want+"\n" {
			t.Errorf("%q: want %q, got %q", err, want, out.String())
		}
	}
}

func TestQuoteForAShell(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"dir:/a/b": "dir:/a/b", "a b": "'a b'", "it's": `'it'\''s'`, "": "''",
		"a\x1b'\\\u202e\n1": `$'a\033\'\\\342\200\256\0121'`,
	} {
		if got := text.Quote(s); got != want || text.Clean(got) != got {
			t.Errorf("%q: want %s, got %s", s, want, got)
		}
	}
}

// asParent is the variable that makes the test binary start children that have children, and end at once.
const asParent = "TEST_BINARY_IS_PARENT"

// parent prints the pids of its children's children, ends them all as the program does at the second signal, and exits.
func parent() {
	for range 40 {
		cmd := exec.Command("sh", "-c", "sleep 300 >/dev/null & echo $!; wait")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		out, err := cmd.StdoutPipe()
		if err != nil {
			panic(err)
		}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		var pid int
		if _, err := fmt.Fscan(out, &pid); err != nil {
			panic(err)
		}
		fmt.Println(pid)
	}
	stop.EndNow(syscall.SIGTERM)
}

// TestAChildsChildEndsWithIt: the child that has them may be gone before its own children's turn comes.
func TestAChildsChildEndsWithIt(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), asParent+"=1")
	out, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGTERM) {
		t.Fatalf("want exit %d, got %v", 128+int(syscall.SIGTERM), err)
	}
	var left []int
	if wait.Until(wait.Patience, func() bool {
		left = left[:0]
		for _, f := range strings.Fields(string(out)) {
			pid := musts.Get(strconv.Atoi(f))(t)
			if p, err := os.FindProcess(pid); err == nil && demo.IsRunning(p) {
				left = append(left, pid)
			}
		}
		return len(left) == 0
	}) {
		return
	}
	for _, pid := range left {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	t.Errorf("%d of %d outlived the program", len(left), len(strings.Fields(string(out))))
}

// TestAClockThatIsSetBetweenLooks gives every wait a new start. The machine's clock is left alone: the program runs in time namespaces whose clocks since boot differ, which to two
// looks is the same as a wall clock that was set, or a time suspended.
func TestAClockThatIsSetBetweenLooks(t *testing.T) {
	stage.NeedSecond(t, "it needs a time namespace")
	t.Parallel()
	startsOften(t)
	if out, err := exec.Command("unshare", "--time", "--boottime", "1", "true").CombinedOutput(); err != nil {
		t.Skipf("needs a time namespace: %v %s", err, out)
	}
	const far = "1000000" // seconds
	plain, set, suspended := []string{}, []string{"--boottime", far, "--monotonic", far}, []string{"--boottime", far}
	for name, clocks := range map[string][][]string{ // it goes at the last of these looks, and was seen before all of them
		"the clock stays":           {plain},
		"the wall clock is set":     {set, set},
		"it is set back":            {set, plain, plain},
		"the machine was suspended": {suspended, suspended},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newCrashSession(t)
			files.Write(t, w.config, strings.Replace(w.configuration(t), "confirm_after: 0s", "confirm_after: 100ms", 1))
			for i, clock := range clocks {
				time.Sleep(200 * time.Millisecond) // longer than confirm_after
				args := append(append([]string{"--time"}, clock...), itself(), "run", "--once", "--apply", "--config", w.config)
				out, err := w.run(nil, "unshare", args...)
				if err != nil {
					t.Fatalf("%q: %v\n%s", args, err, out)
				}
				if said, want := strings.Contains(string(out), "every wait begins again: "), i < len(clocks)-1; said != want {
					t.Errorf("it says at look %d that every wait begins again: %v, want %v: %s", i+1, said, want, out)
				}
				_, err = w.run(nil, "tmux", "-S", w.worktree, "has-session", "-t", "=worker-1")
				if goes, want := err != nil, i == len(clocks)-1; goes != want {
					t.Fatalf("it goes at look %d: %v, want %v", i+1, goes, want)
				}
			}
		})
	}
}
