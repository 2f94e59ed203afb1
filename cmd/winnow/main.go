// Command winnow clears away what coding agents leave behind, and never anything else.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"winnow/engine"
)

// The exit codes; docs/cli.md promises them.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitPart   = 3
	exitReap   = 4
	exitCapped = 5
)

func main() {
	// The program runs for a moment and then ends: collecting less often than by default halves the time to its first decision.
	debug.SetGCPercent(gcPercent)
	os.Exit(run(os.Args[1:]))
}

const gcPercent = 400

// run is main with its arguments, for the command-line tests.
func run(args []string) int {
	if len(args) == 1 && args[0] == engine.ServeArgument {
		return judgeApart()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	root := newRoot(os.Stdout, os.Stderr)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	var code codeError
	if errors.As(err, &code) {
		if code.err != nil {
			fmt.Fprintf(os.Stderr, "winnow: %v\n", code.err)
		}
		return code.code
	}
	fmt.Fprintf(os.Stderr, "winnow: %v\n", err)
	if strings.HasPrefix(err.Error(), "unknown command") {
		return exitUsage
	}
	return exitFailed
}

// judgeApart is this program as the process in which policies are evaluated that it did not bring itself.
func judgeApart() int {
	if err := engine.Serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "winnow: %v\n", err)
		return exitFailed
	}
	return exitDone
}

// codeError is an error with the exit code that it means. err is nil where everything was already said.
type codeError struct {
	code int
	err  error
}

func (e codeError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e codeError) Unwrap() error { return e.err }

// usagef is wrong use or wrong configuration: nothing was done.
func usagef(format string, args ...any) error {
	return codeError{exitUsage, fmt.Errorf(format, args...)}
}
