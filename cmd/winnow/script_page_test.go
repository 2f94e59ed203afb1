package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// pageBlock is what a page has that can be done: a file that is named above its text, or commands with what they print.
var pageBlock = regexp.MustCompile("(?ms)^(?:`([^`\n]+)`\n\n)?```([a-z]+)\n(.*?)^```$")

// pageCmd does what a page of docs/ shows, from its beginning to its end, in $HOME: page NAME. A listing with a name in backquotes above it is
// written to a file. In a block called console each line that begins with "$ " is given to a shell, and what stands below it is what has to be
// printed, on standard output and standard error together; "..." stands for anything, and a line of its own for any lines. A command ends with 0
// unless the last line below it is "[exit N]".
func pageCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: page NAME")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", args[0]))
	ts.Check(err)
	done := 0
	for _, m := range pageBlock.FindAllStringSubmatchIndex(string(text), -1) {
		part := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return string(text[m[2*i]:m[2*i+1]])
		}
		name, kind, body := part(1), part(2), part(3)
		line := 1 + strings.Count(string(text[:m[6]]), "\n")
		switch {
		case kind == "console":
			for _, c := range commands(body, line) {
				runShown(ts, args[0], c)
				done++
			}
		case name != "":
			file := filepath.Join(ts.Getenv("HOME"), name)
			ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
			ts.Check(os.WriteFile(file, []byte(body), 0o644))
			ts.Check(os.Chmod(file, 0o644))
		}
	}
	if done == 0 {
		ts.Fatalf("%s shows no command", args[0])
	}
}

// pageCommand is a command with what has to be printed.
type pageCommand struct {
	line          int
	command, want string
}

func commands(body string, line int) []pageCommand {
	var out []pageCommand
	for text := range strings.Lines(body) {
		switch command, is := strings.CutPrefix(text, "$ "); {
		case is:
			out = append(out, pageCommand{line: line, command: command})
		case len(out) > 0 && strings.HasSuffix(out[len(out)-1].command, "\\\n"):
			out[len(out)-1].command += text
		case len(out) > 0:
			out[len(out)-1].want += text
		}
		line++
	}
	return out
}

var exitLine = regexp.MustCompile(`(?m)^\[exit ([0-9]+)\]\n\z`)

func runShown(ts *testscript.TestScript, page string, c pageCommand) {
	code, want := "0", c.want
	if m := exitLine.FindStringSubmatch(want); m != nil {
		code, want = m[1], strings.TrimSuffix(want, m[0])
	}
	cmd := exec.Command("sh", "-c", "umask 022; "+c.command)
	cmd.Dir = ts.Getenv("HOME")
	for _, name := range []string{
		"HOME", "PATH", "XDG_RUNTIME_DIR", "TMUX_TMPDIR", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_AUTHOR_NAME",
		"GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "SHELL", "TERM", "LC_ALL", "WINNOW_COLLECT_DIRS_DISCOVER_FROM",
	} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	out, _ := cmd.CombinedOutput()
	if have := fmt.Sprint(cmd.ProcessState.ExitCode()); have != code {
		ts.Fatalf("docs/%s:%d: %sexited with %s, want %s:\n%s", page, c.line, c.command, have, code, out)
	}
	if !asShown(want).MatchString(string(out)) {
		ts.Fatalf("docs/%s:%d: %sprinted:\n%s\nand the page shows:\n%s", page, c.line, c.command, out, want)
	}
}

// asShown is a pattern of what a page shows.
func asShown(want string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`\A`)
	for line := range strings.Lines(want) {
		if line == "...\n" {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(strings.TrimRight(line, " \n")), `\.\.\.`, `.*`) + " *\n")
	}
	b.WriteString(`\z`)
	return regexp.MustCompile(b.String())
}
