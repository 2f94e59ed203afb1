package main

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// attachCmd attaches a client on a terminal of its own to a session of the script's default tmux server, until the script has ended, and
// puts the client's name into a variable: attach VAR NAME.
func attachCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: attach VAR NAME")
	}
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	ts.Check(err)
	ts.Check(unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	ts.Check(err)
	name := "/dev/pts/" + strconv.Itoa(n)
	slave, err := os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
	ts.Check(err)
	cmd := exec.Command("tmux", "attach-session", "-t", "="+args[1])
	for _, v := range []string{"PATH", "HOME", "TERM", "LC_ALL", "TMUX_TMPDIR"} {
		cmd.Env = append(cmd.Env, v+"="+ts.Getenv(v))
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(cmd.Start())
	_ = slave.Close()
	go func() { _, _ = io.Copy(io.Discard, master) }()
	ts.Defer(func() {
		_ = master.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if !wait.Until(wait.Patience, func() bool {
		return ts.Exec("tmux", "list-clients", "-F", "#{client_name}") == nil && strings.Contains(ts.ReadFile("stdout")+"\n", name+"\n")
	}) {
		ts.Fatalf("no client shows %s", args[1])
	}
	ts.Setenv(args[0], name)
}
