package main

import (
	"io"
	"os"
	"os/exec"
	"regexp"
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

// screenSocket is where the tmux server of a script's screen listens: not where winnow looks for servers.
const screenSocket = "screen.sock"

// screenCmd runs a command on a screen of so many columns and rows, in a tmux server of the script's own, and after it a shell:
// screen COLUMNS ROWS command... What the screen had before is gone.
func screenCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: screen COLUMNS ROWS command...")
	}
	_ = onScreen(ts, "kill-server")
	command := "unset TMUX TMUX_PANE; stty -g > stty.before; " + strings.Join(args[2:], " ") + "; echo EXIT $?; stty -g > stty.after; exec sh"
	if !wait.Until(wait.Patience, func() bool { // the server from before may still be ending
		return onScreen(ts, "-u", "-f", "/dev/null", "new-session", "-d", "-x", args[0], "-y", args[1], "-c", ts.MkAbs("."), "sh", "-c", command) == nil
	}) {
		ts.Fatalf("no screen")
	}
}

// keysCmd types: keys KEY..., each as tmux names it.
func keysCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: keys KEY...")
	}
	ts.Check(onScreen(ts, append([]string{"send-keys"}, args...)...))
}

// resizeCmd gives the screen another size: resize COLUMNS ROWS.
func resizeCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: resize COLUMNS ROWS")
	}
	ts.Check(onScreen(ts, "resize-window", "-x", args[0], "-y", args[1]))
}

// showsCmd waits until the screen shows a pattern, or with ! looks once whether it does: [!] shows PATTERN. What it shows is in stdout, with the
// colours where the pattern asks for an escape.
func showsCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: [!] shows PATTERN")
	}
	want := regexp.MustCompile("(?m)" + args[0])
	capture := []string{"capture-pane", "-p"}
	if strings.Contains(args[0], `\x1b`) {
		capture = append(capture, "-e")
	}
	so := func() bool {
		return onScreen(ts, capture...) == nil && want.MatchString(ts.ReadFile("stdout"))
	}
	if neg {
		if so() {
			ts.Fatalf("the screen shows %s", want)
		}
	} else if !wait.Until(wait.Patience, so) {
		ts.Fatalf("the screen never shows %s", want)
	}
}

func onScreen(ts *testscript.TestScript, args ...string) error {
	return ts.Exec("tmux", append([]string{"-S", ts.MkAbs(screenSocket)}, args...)...)
}
