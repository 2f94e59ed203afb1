package actuators

import (
	"errors"
	"fmt"

	"github.com/winnow-reaper/winnow/engine/decision"
)

// reason is an error that reads as one sentence and is both a why (ErrRefused, ErrGone, ErrChanged, ErrDisputed) and its cause.
type reason struct {
	why  error
	text error
}

func (r *reason) Error() string   { return r.text.Error() }
func (r *reason) Unwrap() []error { return []error{r.why, r.text} }

// Refused makes an error that is ErrRefused and reads as format says. It wraps what %w names.
func Refused(format string, args ...any) error {
	return &reason{ErrRefused, fmt.Errorf(format, args...)}
}

// Gone makes an error that is ErrGone and reads as format says.
func Gone(format string, args ...any) error { return &reason{ErrGone, fmt.Errorf(format, args...)} }

// Changed makes an error that is ErrChanged and reads as format says.
func Changed(format string, args ...any) error {
	return &reason{ErrChanged, fmt.Errorf(format, args...)}
}

// Disputed makes an error that is ErrDisputed and reads as format says.
func Disputed(format string, args ...any) error {
	return &reason{ErrDisputed, fmt.Errorf(format, args...)}
}

// OutcomeOf is the outcome of an act that err ended before it changed anything.
func OutcomeOf(err error) decision.Outcome {
	out := decision.Outcome{Outcome: decision.Failed, Detail: err.Error()}
	switch {
	case errors.Is(err, ErrRefused):
		out.Outcome = decision.Refused
	case errors.Is(err, ErrGone):
		out.Outcome = decision.Gone
	case errors.Is(err, ErrChanged):
		out.Outcome = decision.Changed
	case errors.Is(err, ErrDisputed):
		out.Disputed = true
	}
	return out
}
