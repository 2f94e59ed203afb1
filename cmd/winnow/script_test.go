package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/winnow-reaper/winnow/internal/demo"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/nginx"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// TestScripts runs the program as a person does, each script in a home and with a tmux server of its own.
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/script")
}

// TestLoneScripts runs those whose processes may be candidates of any look, with or without a script's own marker: each before all parallel tests,
// since another script's sweep could count and end them.
func TestLoneScripts(t *testing.T) {
	if attack.Raced {
		t.Skip("under the race detector only those run in which most goes on at the same time (raced)")
	}
	files, err := filepath.Glob("testdata/alone/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { runScripts(t, "", file) })
	}
}

// TestLongScripts runs those that start the program again and again, or that show what a case, a package or another script proves already: together they
// take longer than all others.
func TestLongScripts(t *testing.T) {
	stage.NeedSecond(t, "it starts the program many hundred times")
	t.Parallel()
	runScripts(t, "testdata/long")
}

func runScripts(t *testing.T, folder string, files ...string) {
	t.Helper()
	params := testscript.Params{
		Dir:                 folder,
		Files:               files,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		RequireExplicitExec: true,
		Setup:               setUpScript,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"orphan":     orphan,
			"jsonpath":   jsonPath,
			"alive":      aliveCmd,
			"age":        age,
			"valid":      validCmd,
			"code":       exitCode,
			"until":      until,
			"tmuxid":     tmuxID,
			"attach":     attachCmd,
			"herdr":      herdrCmd,
			"sqlite":     sqliteCmd,
			"tower":      towerCmd,
			"screen":     screenCmd,
			"keys":       keysCmd,
			"resize":     resizeCmd,
			"shows":      showsCmd,
			"logserver":  logServerCmd,
			"recordings": recordingsCmd,
			"sarif":      sarifCmd,
			"junit":      junitCmd,
			"nginx":      nginxCmd,
			"keypair":    keyPair,
			"opa":        opaCmd,
			"opaserve":   opaServes,
			"fill":       fill,
			"page":       pageCmd,
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Getuid() == 0, nil
			}
			if cond == "namespaces" { // that this user may make
				return exec.Command("unshare", "-rmpf", "--mount-proc", "mount", "-t", "tmpfs", "none", "/mnt").Run() == nil, nil
			}
			if cond == "nginx" {
				return nginx.Here(), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	}
	if attack.Raced && folder != "" {
		for _, name := range raced {
			params.Files = append(params.Files, filepath.Join(params.Dir, name+".txtar"))
		}
		params.Dir = ""
	}
	testscript.Run(t, params)
}

// setUpScript gives a script a home of its own, and two names that no other script and no other run of the tests knows, so that neither
// ends or counts the other's processes: $MARK, for programs and values, and $MARKER, for a variable.
func setUpScript(env *testscript.Env) error {
	mark := newMark()
	env.Values[herdrKey{}] = &heldHerdr{}
	env.Values[towerKey{}] = &heldTower{}
	env.Values[logKey{}] = &logServer{}
	env.Values[nginxKey{}] = &nginx.Server{}
	for name, dir := range map[string]string{"HOME": "home", "XDG_RUNTIME_DIR": "run", "TMUX_TMPDIR": "t", "XDG_CONFIG_HOME": "xdg", "XDG_STATE_HOME": "xdgstate"} {
		path := filepath.Join(env.WorkDir, dir)
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
		env.Setenv(name, path)
	}
	for name, val := range map[string]string{
		"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@localhost",
		"GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@localhost", "SHELL": "/bin/sh", "TMUX": "", "TERM": "xterm", "LC_ALL": "C.UTF-8",
		// Not where the machine's processes work: scripts act, and other tests' repositories are not theirs.
		"WINNOW_COLLECT_DIRS_DISCOVER_FROM": "panes,ledger,agents,under",
		"WINNOW_COLLECT_TIMEOUT":            "10m",
		"MARK":                              mark, "MARKER": "WINNOW_" + strings.ToUpper(mark),
	} {
		env.Setenv(name, val)
	}
	worlds, err := filepath.Abs("../../policy_test/worlds") // saved snapshots
	if err != nil {
		return err
	}
	env.Setenv("WORLDS", worlds)
	schemas, err := filepath.Abs("../../policies/schemas")
	if err != nil {
		return err
	}
	env.Setenv("SCHEMAS", schemas)
	if err := writeOut(env.WorkDir, strings.NewReplacer("$WORK", env.WorkDir, "$MARKER", "WINNOW_"+strings.ToUpper(mark), "$MARK", mark)); err != nil {
		return err
	}
	env.Defer(func() { endStarted(env.WorkDir, mark) })
	env.Defer(func() {
		sockets, _ := filepath.Glob(filepath.Join(env.WorkDir, "t", "tmux-*", "*"))
		for _, s := range sockets {
			_ = exec.Command("tmux", "-S", s, "kill-server").Run()
		}
	})
	return nil
}

// marks counts the scripts of this run.
var marks atomic.Int32

// newMark is a word of at most ten letters: with three in front of it, it is still whole as the name of a process (15). All of a run are
// of one length and hold one x, so that none begins with another one.
func newMark() string {
	return fmt.Sprintf("m%sx%03d", strconv.FormatInt(int64(machine.Unique()), 32), marks.Add(1))
}

// writeOut puts the script's folder and names into its configurations, in the place of variables that Winnow would not take.
func writeOut(dir string, values *strings.Replacer) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	for _, f := range files {
		data, e := os.ReadFile(f)
		err = errors.Join(err, e, os.WriteFile(f, []byte(values.Replace(string(data))), 0o600))
	}
	return err
}

// orphan starts a process that outlives its parent: orphan VAR NAME=VALUE... -- command. It waits until the process is that command.
// The pid goes into $VAR and the process is ended, by its pidfd, when the script has ended.
func orphan(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: orphan VAR [NAME=VALUE...] -- command")
	}
	variable, args := args[0], args[1:]
	var env []string
	for len(args) > 0 && args[0] != "--" {
		env = append(env, args[0])
		args = args[1:]
	}
	pid, err := startOrphan(ts.MkAbs("."), append([]string{"PATH=" + ts.Getenv("PATH")}, env...), args[1:]...)
	ts.Check(err)
	p, err := os.FindProcess(pid)
	ts.Check(err)
	ts.Defer(func() { _ = p.Kill() })
	ts.Setenv(variable, strconv.Itoa(pid))
}

// startOrphan starts a command that is handed over to process 1, in a folder and with an environment of its own, and gives its pid once it has begun.
func startOrphan(dir string, env []string, args ...string) (pid int, err error) {
	cmd := exec.Command("sh", append([]string{"-c", `setsid "$@" </dev/null >/dev/null 2>&1 & echo $!`, "sh"}, args...)...)
	cmd.Env, cmd.Dir = env, dir
	out, err := cmd.Output()
	if err == nil {
		pid, err = strconv.Atoi(strings.TrimSpace(string(out)))
	}
	if err == nil {
		err = begun(pid)
	}
	return pid, err
}

// begun waits until a process that orphan started is neither the shell nor setsid any more.
func begun(pid int) error {
	for end := time.Now().Add(wait.Patience); ; time.Sleep(5 * time.Millisecond) {
		argv, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if text := string(argv); text != "" && !strings.HasPrefix(text, "setsid\x00") && !strings.HasPrefix(text, "sh\x00-c\x00setsid ") {
			return nil
		}
		if err != nil || time.Now().After(end) {
			return fmt.Errorf("process %d does not begin: %q, %w", pid, argv, err)
		}
	}
}

// aliveCmd says whether a pid is a running process.
func aliveCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: [!] alive PID")
	}
	pid, err := strconv.Atoi(args[0])
	ts.Check(err)
	p, err := os.FindProcess(pid)
	running := err == nil && demo.IsRunning(p)
	if running == neg {
		ts.Fatalf("process %d alive: %v", pid, running)
	}
}

// age sets the times of files and folders back: age 48h path...
func age(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: age DURATION path...")
	}
	ts.Check(setBack(args[0], func(p string) string { return ts.MkAbs(p) }, args[1:]))
}
