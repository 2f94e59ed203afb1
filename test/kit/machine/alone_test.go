package machine

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

// stranger is in the environment of a process that the machine runs beside the tests.
const stranger = "WINNOW_TEST_STRANGER=1"

func TestMain(m *testing.M) {
	if Inside() || filepath.Base(os.Args[0]) == initName {
		Alone()
		os.Exit(m.Run())
	}
	beside := exec.Command("sleep", "600")
	beside.Env = []string{stranger}
	if err := beside.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := runAlone()
	if code == noNamespace {
		code = m.Run()
	}
	_ = beside.Process.Kill()
	_ = beside.Wait()
	os.Exit(code)
}

// TestAlone: tests in namespaces of their own see no process of the machine, are who they were, and have temporary files where no other process uses them.
func TestAlone(t *testing.T) {
	if !Inside() {
		t.Skip("this machine allows no process namespace of its own")
	}
	pids := must.Get(filepath.Glob("/proc/[0-9]*/environ"))(t)
	for _, path := range pids {
		if env, err := os.ReadFile(path); err == nil && bytes.Contains(env, []byte(stranger)) {
			t.Errorf("%s is seen", path)
		}
	}
	if len(pids) == 0 || len(pids) > 10 {
		t.Errorf("%d processes are seen", len(pids))
	}
	if Unique() == os.Getpid() {
		t.Errorf("the number is that of the namespace, which other runs may have: %d", Unique())
	}
	if wd := must.Get(os.Getwd())(t); filepath.Base(wd) != "machine" || wd != Source() {
		t.Errorf("it works in %s", wd)
	}
	if os.Geteuid() != 0 {
		caps := must.Get(os.ReadFile("/proc/self/status"))(t)
		for line := range strings.Lines(string(caps)) {
			if name, value, _ := strings.Cut(line, ":"); name == "CapEff" && strings.Trim(value, "0 \t\n") != "" {
				t.Errorf("the tests of a user have capabilities: %s", value)
			}
		}
	}
	if alone, err := unshared(t.TempDir()); err != nil || !alone {
		t.Errorf("what lies in the temporary folder may be used by processes outside: %v", err)
	}
}

// TestAloneEndsAsTheTestsDo, and gives them their arguments.
func TestAloneEndsAsTheTestsDo(t *testing.T) {
	if code, err := strconv.Atoi(os.Getenv("WINNOW_TEST_CODE")); err == nil {
		os.Exit(code)
	}
	cmd := exec.Command(must.Get(os.Executable())(t), "-test.run=^TestAloneEndsAsTheTestsDo$")
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); name != inside && name != temporary {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(cmd.Env, "WINNOW_TEST_CODE=7")
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("it ends with %d: %s", code, out)
	}
}
