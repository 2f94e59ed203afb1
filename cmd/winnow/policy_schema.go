package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/scaffold"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/policies/schemas"
)

// inputSchema is the name of the schema of what rules read, which is published beside them.
const inputSchema = "input"

func newPolicySchema(a *app) *cobra.Command {
	var example bool
	cmd := &cobra.Command{
		Use:   "schema [NAME]",
		Short: "Write a JSON Schema: of config.yaml, rules' input, documents",
		Args:  cobra.MaximumNArgs(1),
		RunE:  func(_ *cobra.Command, given []string) error { return a.policySchema(given, example) },
		ValidArgsFunction: func(_ *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(given) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return schemaNames(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&example, "example", false, "write a document with every field in the place of the schema of input")
	return cmd
}

// schemaNames are the names of all schemas, sorted.
func schemaNames() []string {
	files, err := fs.Glob(winnow.Schemas, "docs/reference/schemas/*.json")
	if err != nil {
		panic(err) // the pattern is ours
	}
	names := text.Map(append(files, inputSchema), func(f string) string { return strings.TrimSuffix(path.Base(f), ".json") })
	slices.Sort(names)
	return names
}

func (a *app) policySchema(given []string, example bool) error {
	names := schemaNames()
	if len(given) == 0 {
		if example {
			return config.Usagef("--example is of the schema input: winnow policy schema input --example")
		}
		return list(a, "schemas", text.Map(names, func(name string) map[string]string { return map[string]string{"name": name} }), nil, func(w io.Writer) { fmt.Fprintln(w, strings.Join(names, "\n")) })
	}
	name := given[0]
	if example && name != inputSchema {
		return config.Usagef("--example: there is an example of %s alone, and not of %s", inputSchema, text.Quote(name))
	}
	var data []byte
	var err error
	switch {
	case example:
		data, err = scaffold.Example()
	case name == inputSchema:
		data = schemas.Subject
	default:
		data, err = winnow.Schemas.ReadFile("docs/reference/schemas/" + name + ".json")
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return config.Usagef("there is no schema %s%s; winnow policy schema lists all", text.Quote(name), spelling.Hint(name, names))
	}
	return a.show(json.RawMessage(data), err, "  ", func(w io.Writer) { _, _ = w.Write(data) })
}
