package tmux

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// wrappers start the program that is named behind them, in the same pane.
var wrappers = []string{"exec", "env", "command", "nohup", "nice", "time", "setsid", "npx", "bunx", "bash", "sh", "zsh", "dash", "fish"}

// words splits a command line: what ends a command, and quotes, are words by themselves.
var words = regexp.MustCompile(`&&|\|\||[;&|()"'` + "`" + `]|[^\s;&|()"'` + "`" + `]+`)

// startedAs is the first of the agents that a command line runs, "" for none. A word counts where a program's name stands: at
// the beginning of a command, and behind what runs another program.
func startedAs(line string, agents []string) string {
	begins, before := true, ""
	for _, word := range words.FindAllString(line, -1) {
		name := strings.TrimSuffix(path.Base(word), ".exe")
		switch {
		case strings.ContainsAny(word, ";&|()"):
			begins = true
		case strings.ContainsAny(word, "\"'`"): // what sh -c has in quotes is a command of its own
			begins = begins || strings.HasPrefix(before, "-") && strings.HasSuffix(before, "c")
		case !begins:
		case slices.Contains(agents, name):
			return name
		case strings.HasPrefix(word, "-") || strings.Contains(word, "=") || slices.Contains(wrappers, name):
		default:
			begins = false
		}
		before = word
	}
	return ""
}
