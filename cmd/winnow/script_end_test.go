package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/demo"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// endStarted ends what a script started and left, above all one that failed half-way: every process that carries its mark in its environment, or
// runs a program of its folder, or works in it. It looks again until nothing is left, since what is ended may start something before.
func endStarted(dir, mark string) {
	for range 20 {
		pids := startedBy(dir, mark)
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			endIf(pid, func() bool { return ofScript(pid, dir, mark) })
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// endIf kills a process for which ok still holds once its pid can mean no other one.
func endIf(pid int, ok func() bool) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if ok() {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}

func startedBy(dir, mark string) (pids []int) {
	names, _ := filepath.Glob("/proc/[0-9]*")
	for _, name := range names {
		pid, err := strconv.Atoi(filepath.Base(name))
		if err == nil && pid != os.Getpid() && ofScript(pid, dir, mark) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// ofScript says whether a process is a script's. One that has ended lacks all three.
func ofScript(pid int, dir, mark string) bool {
	proc := "/proc/" + strconv.Itoa(pid) + "/"
	for _, link := range []string{"exe", "cwd"} {
		if to, err := os.Readlink(proc + link); err == nil && strings.HasPrefix(to+"/", dir+"/") {
			return true
		}
	}
	env, err := os.ReadFile(proc + "environ")
	return err == nil && bytes.Contains(env, []byte("="+mark))
}

// TestAScriptsProcessesEndWithIt, and no other's.
func TestAScriptsProcessesEndWithIt(t *testing.T) {
	t.Parallel()
	top, mark := t.TempDir(), newMark()
	dir, other := filepath.Join(top, "script-a"), filepath.Join(top, "script-a-b")
	for _, d := range []string{dir, other} {
		musts.Do(t, os.Mkdir(d, 0o700))
	}
	sleep := musts.Get(exec.LookPath("sleep"))(t)
	own := filepath.Join(dir, "own")
	musts.Do(t, exec.Command("cp", sleep, own).Run())
	for name, c := range map[string]struct {
		cmd   exec.Cmd
		stays bool
	}{
		"works in its folder":        {exec.Cmd{Path: sleep, Dir: dir, Env: []string{"A=b"}}, false},
		"is a program of its folder": {exec.Cmd{Path: own, Dir: "/", Env: []string{"A=b"}}, false},
		"carries its mark":           {exec.Cmd{Path: sleep, Dir: "/", Env: []string{"A=b", "X=" + mark + "-gone"}}, false},
		"works beside":               {exec.Cmd{Path: sleep, Dir: other, Env: []string{"A=b"}}, true},
		"carries another mark":       {exec.Cmd{Path: sleep, Dir: other, Env: []string{"X=" + newMark()}}, true},
	} {
		c.cmd.Args = []string{"sleep", "300"}
		musts.Do(t, c.cmd.Start())
		t.Cleanup(func() { _ = c.cmd.Process.Kill(); _ = c.cmd.Wait() })
		defer func() {
			end := time.Now().Add(wait.Patience)
			for demo.IsRunning(c.cmd.Process) && !c.stays && time.Now().Before(end) {
				time.Sleep(5 * time.Millisecond)
			}
			if running := demo.IsRunning(c.cmd.Process); running != c.stays {
				t.Errorf("a process that %s runs on: %v", name, running)
			}
		}()
	}
	endStarted(dir, mark)
}
