// Command winnow clears away what coding agents leave behind, and never anything else.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/stop"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/internal/version"
)

// exitPipe is the shell's code for a program that writes to a pipe without a reader.
const exitPipe = 128 + int(syscall.SIGPIPE)

// stamped is the version of a release, which its build writes here (-ldflags "-X main.stamped=v1.2.3"); "" in every other build.
var stamped string

func main() {
	version.Release = stamped
	tuneGC()
	os.Exit(run(os.Args[1:]))
}

// run is main with its arguments, for the command-line tests.
func run(args []string) int {
	if len(args) == 1 && args[0] == sandbox.ServeArgument {
		return judgeApart()
	}
	out, errOut, h := termsafe.NewWriter(os.Stdout), termsafe.NewWriter(os.Stderr), &stop.Inflight{}
	ctx, stop := stop.Signalled(errOut, h)
	defer stop()
	root := newRoot(out, errOut, h)
	if len(args) > 0 && strings.HasPrefix(args[0], "__complete") {
		args = text.Map(args, text.Clean) // cobra complains about it on os.Stderr itself. Nothing here is completed by what is cleaned
	}
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	_ = errOut.Flush()
	if unwritten := cmp.Or(out.Flush(), out.Err()); unwritten != nil {
		if errors.Is(unwritten, syscall.EPIPE) { // the reader of the output has stopped reading, which is not a mistake
			return exitPipe
		}
		err = cmp.Or(err, fmt.Errorf("write the output: %w", unwritten))
	}
	if said := exit.Cause(err); said != nil {
		printError(errOut, said)
	}
	return exit.Code(err)
}

// judgeApart is this program as the process in which policies are evaluated that it did not bring itself.
func judgeApart() int {
	if err := sandbox.Serve(os.Stdin, os.Stdout); err != nil {
		printError(termsafe.NewWriter(os.Stderr), err)
		return exit.Failed
	}
	return exit.Done
}
