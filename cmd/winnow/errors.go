package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/text"
)

// printError prints an error for a person: its first line behind the program's name, and what it gathers indented below.
func printError(w io.Writer, err error) {
	text := cleanText(err)
	if exit.UnknownCommand(err) { // cobra quotes what it was given; the line breaks and tabs are its own
		text = termsafe.Lines(strings.ReplaceAll(err.Error(), "\t", "  "))
	}
	fmt.Fprintln(w, "winnow: "+strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  "))
}

// cleanText is an error's text, cleaned. A line break stays where several errors were joined to one, or where an error is wrapped below a
// line of its own; one in a file's name, or in another program's message, does not.
func cleanText(err error) string {
	rest := err.Error()
	var wrapped []error
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		wrapped = e.Unwrap()
	case interface{ Unwrap() error }:
		wrapped = []error{e.Unwrap()}
	}
	var out strings.Builder
	for _, inner := range wrapped {
		if inner == nil || inner.Error() == "" {
			continue
		}
		before, after, ok := strings.Cut(rest, inner.Error())
		if !ok {
			continue
		}
		head, broken := strings.CutSuffix(before, "\n")
		out.WriteString(text.Clean(head))
		if broken {
			out.WriteByte('\n')
		}
		out.WriteString(cleanText(inner))
		rest = after
	}
	return out.String() + text.Clean(rest)
}
