package main

import (
	"cmp"
	"errors"

	"github.com/winnow-reaper/winnow/engine/worker"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/text"
)

// refuse says no.
func (a *app) refuse(r sweep.Refused) error {
	code := cmp.Or(r.Code, exit.Part)
	if a.json() {
		if err := text.JSON(a.out, r, ""); err != nil {
			return err
		}
		return exit.Error{Code: code}
	}
	msg := r.Message
	if r.NextCommand != "" {
		msg += ". Next: " + r.NextCommand
	}
	return exit.Error{Code: code, Err: errors.New(msg)}
}

// called names a worker in a sentence.
func called(w *worker.Seen) string { return "worker " + w.ID + " of " + w.Source }
