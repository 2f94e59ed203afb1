// Package exit says with which code the program ends, and what is still to be reported.
package exit

import (
	"errors"
	"fmt"

	"github.com/winnow-reaper/winnow/internal/config"
)

// The exit codes; the command line's reference promises them.
const (
	Done   = 0
	Failed = 1
	Usage  = 2
	// Part is that only a part was done, Reap that something would go (with --exit-code), Capped that a cap held.
	Part   = 3
	Reap   = 4
	Capped = 5
)

// Error is an error with the exit code that it means. Err is nil where everything was already reported.
type Error struct {
	Code int
	Err  error
}

func (e Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e Error) Unwrap() error { return e.Err }

// CodeError is the error of a code where everything was reported; nil for Done.
func CodeError(code int) error {
	if code == Done {
		return nil
	}
	return Error{Code: code}
}

// CodeIf is CodeError where something is so, and nil where it is not.
func CodeIf(so bool, code int) error {
	if so {
		return CodeError(code)
	}
	return nil
}

// Code is the exit code that an error means.
func Code(err error) int {
	var code Error
	switch {
	case err == nil:
		return Done
	case errors.As(err, &code):
		return code.Code
	case errors.As(err, new(config.UsageError)):
		return Usage
	}
	return Failed
}

// Cause is what is still to be reported of an error; nil where all of it was.
func Cause(err error) error {
	var code Error
	if errors.As(err, &code) {
		return code.Err
	}
	return err
}
