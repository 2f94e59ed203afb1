package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/text"
)

// The forms of an output that only some commands have.
const (
	formJUnit   = "junit"
	formSARIF   = "sarif"
	formQuality = "codequality"
)

// formsKey is the annotation of a command that has forms of its own.
const formsKey = "forms"

// forms gives a command a --format of its own: these forms, text first, in the place of those that all others have.
func (a *app) forms(cmd *cobra.Command, of ...string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[formsKey] = strings.Join(of, ",")
	cmd.Flags().StringVar(&a.flags.format, "format", "text", "`form` of the output: "+strings.Join(of, ", "))
	must(cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(of, cobra.ShellCompDirectiveNoFileComp)))
}

// formsAndFiles is forms of a command that presents a result, and so writes it into files as well.
func (a *app) formsAndFiles(cmd *cobra.Command, of ...string) {
	a.forms(cmd, of...)
	cmd.Flags().StringArrayVar(&a.flags.also, "also", nil, "write the result into a file too, as `FORM=FILE`; may be repeated")
	must(cmd.RegisterFlagCompletionFunc("also", completeAlso(of)))
}

// completeAlso completes the form, and leaves the file behind it to the shell.
func completeAlso(of []string) cobra.CompletionFunc {
	forms := text.Map(of, func(form string) string { return form + "=" })
	return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		if strings.Contains(begun, "=") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return forms, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
}

// reports says that a command writes a report, which has a form for pull requests and chats too.
var reports = map[string]string{formsKey: strings.Join(report.Formats, ",")}

// formsOf are the forms in which a command writes.
func formsOf(cmd *cobra.Command) []string {
	own, ok := cmd.Annotations[formsKey]
	switch {
	case ok:
		return strings.Split(own, ",")
	case isHelp(cmd):
		return []string{"text"}
	}
	return []string{"text", "json", "ndjson"}
}

// checkForm refuses a form that this command does not write.
func (a *app) checkForm(cmd *cobra.Command) error {
	of := formsOf(cmd)
	check := func(flag, form string) error {
		switch known := append([]string{formJUnit, formSARIF, formQuality}, report.Formats...); {
		case slices.Contains(of, form):
			return nil
		case slices.Contains(known, form):
			return config.Usagef("%s: %s does not write %s; it writes %s. Nothing was done", flag, cmd.CommandPath(), form, strings.Join(of, ", "))
		}
		return config.Usagef("%s: unknown form %q; one of %s", flag, form, strings.Join(of, ", "))
	}
	files := map[string]bool{}
	for _, also := range a.flags.also {
		form, file, ok := strings.Cut(also, "=")
		switch {
		case !ok || file == "":
			return config.Usagef("--also: %s names no file: write FORM=FILE, such as junit=result.xml. Nothing was done", text.Quote(also))
		case files[filepath.Clean(file)]:
			return config.Usagef("--also: %s is named twice: a file holds one form. Nothing was done", text.Quote(file))
		}
		if err := check("--also", form); err != nil {
			return err
		}
		files[filepath.Clean(file)] = true
	}
	return check("--format", a.flags.format)
}

// list prints values as text by the given function, as a document that has them by a name, or each on a line. err is as for show.
func list[T any](a *app, name string, items []T, err error, write func(io.Writer)) error {
	if items == nil {
		items = []T{}
	}
	if a.flags.format != "ndjson" || err != nil {
		return a.show(map[string][]T{name: items}, err, "  ", write)
	}
	for _, it := range items {
		if err := text.JSON(a.out, it, ""); err != nil {
			return err
		}
	}
	return nil
}

// indent is how far a document's fields stand in from the left: nothing where it has one line.
func (a *app) indent() string {
	if a.flags.format == "ndjson" {
		return ""
	}
	return "  "
}

// json is true where a result is written as JSON and not as text.
func (a *app) json() bool { return a.flags.format == "json" || a.flags.format == "ndjson" }

// show prints v as text by the given function, or as JSON: an object that names its shape, on one line where the form has lines. err is of what gave v:
// where there is one it is given back, and nothing is printed.
func (a *app) show(v any, err error, indent string, write func(io.Writer)) error {
	switch {
	case err != nil:
		return err
	case !a.json():
		return buffered(a.out, write)
	}
	var doc bytes.Buffer
	if err := text.JSON(&doc, v, ""); err != nil {
		return err
	}
	if indent != "" {
		indent = a.indent()
	}
	fields, isObject := bytes.CutPrefix(doc.Bytes(), []byte("{"))
	if !isObject || bytes.HasPrefix(fields, []byte(`"schema":`)) || bytes.HasPrefix(fields, []byte(`"$schema":`)) {
		return text.JSON(a.out, json.RawMessage(doc.Bytes()), indent)
	}
	return text.JSON(a.out, json.RawMessage(fmt.Appendf(nil, `{"schema":"winnow.%s/v1",%s`, a.command, fields)), indent)
}

// say prints a sentence, which is clean, as text, or v as JSON. err is as for show.
func (a *app) say(v any, err error, sentence string) error {
	return a.show(v, err, "", func(w io.Writer) { fmt.Fprintln(w, sentence) })
}

// declined prints as JSON why an operation did not do what it was asked to; all else is an error for main to print.
func (a *app) declined(err error) error {
	var no *document.Declined
	if !a.json() || !errors.As(err, &no) {
		return err
	}
	if err := a.show(no, nil, "", nil); err != nil {
		return err
	}
	return exit.Error{Code: exit.Code(err)}
}
