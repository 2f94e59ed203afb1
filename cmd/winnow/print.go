package main

import (
	"fmt"
	"io"

	"winnow/cmd/winnow/text"
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

// say prints a sentence as text, or v as JSON. What stands in args is cleaned; the line breaks of format stay.
func (a *app) say(v any, format string, args ...any) error {
	if a.flags.format == "json" || a.flags.format == "ndjson" {
		return text.JSON(a.out, v, "")
	}
	for i, arg := range args {
		if s, ok := arg.(string); ok {
			args[i] = text.Clean(s)
		}
	}
	_, err := fmt.Fprintf(a.out, format+"\n", args...)
	return err
}
