package main

import (
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/winnow-reaper/winnow/test/kit/wait"
)

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
