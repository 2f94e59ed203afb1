package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/winnow-reaper/winnow/internal/render"
	"github.com/winnow-reaper/winnow/internal/sys/atomicfile"
	"github.com/winnow-reaper/winnow/internal/sys/codequality"
	"github.com/winnow-reaper/winnow/internal/sys/junit"
	"github.com/winnow-reaper/winnow/internal/sys/sarif"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/internal/version"
)

// result is what a command found, in each form that it can be written in.
type result struct {
	// command is the command behind winnow, such as policy check.
	command  string
	doc      any
	text     func(render.Paint, io.Writer)
	markdown func(io.Writer)
	suites   func() []junit.Suite
	findings func() ([]sarif.Rule, []sarif.Finding)
}

// present prints a result as --format says, and then writes it into files as --also says, each in one step.
func (a *app) present(ctx context.Context, r result) error {
	if err := a.write(r); err != nil {
		return err
	}
	for _, also := range a.flags.also {
		form, file, _ := strings.Cut(also, "=")
		var to bytes.Buffer
		other := *a
		other.flags.format, other.out, other.paint = form, termsafe.NewWriter(&to), render.Paint{Paint: text.New(&to, text.Never)}
		if err := other.write(r); err != nil {
			return fmt.Errorf("--also %s: %w", text.Quote(also), err)
		}
		if err := atomicfile.WriteData(ctx, file, to.Bytes()); err != nil {
			return fmt.Errorf("--also %s: %w", text.Quote(also), err)
		}
	}
	return nil
}

// write prints a result as --format says.
func (a *app) write(r result) error {
	switch a.flags.format {
	case formJUnit:
		return junit.Write(a.out, "winnow "+r.command, r.suites())
	case formSARIF, formQuality:
		rules, found := r.findings()
		return a.findings(r.command, rules, found)
	case "markdown":
		return buffered(a.out, r.markdown)
	}
	return a.show(r.doc, nil, "  ", func(w io.Writer) { r.text(a.paint, w) })
}

func buffered(out io.Writer, write func(io.Writer)) error {
	w := bufio.NewWriter(out)
	write(w)
	return w.Flush()
}

// findings writes what a command found for code scanning: paths below the folder that the program was started in count from there.
func (a *app) findings(command string, rules []sarif.Rule, findings []sarif.Finding) error {
	root, err := os.Getwd()
	if err != nil {
		root = "/"
	}
	if a.flags.format == formQuality {
		return text.JSON(a.out, codequality.New(root, findings), "  ")
	}
	tool := sarif.Tool{Name: "winnow", Version: cmp.Or(version.Read().Version, "unknown"), Category: "winnow " + command}
	return text.JSON(a.out, sarif.New(tool, root, rules, findings), "  ")
}

// printError prints an error for a person: its first line behind the program's name, and what it gathers indented below.
func printError(w io.Writer, err error) {
	fmt.Fprintln(w, "winnow: "+strings.ReplaceAll(strings.TrimRight(cleanText(err), "\n"), "\n", "\n  "))
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
