package main

import (
	"os"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/text"
)

// terminal gives the terminal that a command draws on. It is nil where the command has no terminal, and for --format json.
func (a *app) terminal(command string) (in, out *os.File, err error) {
	if a.json() {
		return nil, nil, nil
	}
	if a.flags.format != "text" {
		return nil, nil, config.Mistakef("winnow %s has no form %q; text (on a terminal), json or ndjson", command, a.flags.format)
	}
	out, _ = text.Beneath(a.out).(*os.File)
	reads, _ := text.Terminal(os.Stdin)
	writes, _ := text.Terminal(a.out)
	if !reads || !writes || os.Getenv("TERM") == "dumb" {
		return nil, nil, config.Mistakef("winnow %s needs a terminal for its input and its output; winnow %s --format json prints the same once. Nothing was done", command, command)
	}
	return os.Stdin, out, nil
}
