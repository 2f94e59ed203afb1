package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/text"
)

// list prints values as text by the given function, or in the other forms as they are.
func list[T any](a *app, items []T, write func(io.Writer)) error {
	if items == nil {
		items = []T{}
	}
	switch a.flags.format {
	case "json":
		return text.JSON(a.out, items, "  ")
	case "ndjson":
		for _, it := range items {
			if err := text.JSON(a.out, it, ""); err != nil {
				return err
			}
		}
		return nil
	}
	write(a.out)
	return nil
}

// json is true where a result is written as JSON and not as text.
func (a *app) json() bool { return a.flags.format == "json" || a.flags.format == "ndjson" }

// show prints v as text by the given function, or as JSON.
func (a *app) show(v any, indent string, write func(io.Writer)) error {
	if a.json() {
		return text.JSON(a.out, v, indent)
	}
	w := bufio.NewWriter(a.out)
	write(w)
	return w.Flush()
}

// say prints a sentence, which is clean, as text, or v as JSON.
func (a *app) say(v any, sentence string) error {
	return a.show(v, "", func(w io.Writer) { fmt.Fprintln(w, sentence) })
}

// declined prints as JSON why an operation did not do what it was asked to; all else is an error for main to print.
func (a *app) declined(err error) error {
	var no *document.Declined
	if !a.json() || !errors.As(err, &no) {
		return err
	}
	if err := text.JSON(a.out, no, ""); err != nil {
		return err
	}
	return exit.Error{Code: exit.Code(err)}
}
