package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow/internal/sys/strict"
)

// errByHand says that a file is written in a way in which nothing was added to it.
var errByHand = errors.New("add it to rules.protected by hand; the file was not changed")

// Protecting gives a configuration file's text with globs added to rules.protected, before those that are there, and everything else as it was, comments and
// blank lines too. data is "" for a file that does not exist yet. What is in the list already is not added again.
func Protecting(data string, globs []string) (string, error) {
	before, rest, err := takeProtected(data)
	if err != nil {
		return "", err
	}
	var add []any
	var quoted []string
	for _, g := range globs {
		if !slices.Contains(before, any(g)) && !slices.Contains(add, any(g)) {
			add, quoted = append(add, g), append(quoted, "'"+strings.ReplaceAll(g, "'", "''")+"'")
		}
	}
	if len(add) == 0 {
		return data, nil
	}
	out, err := withProtected(data, quoted)
	if err != nil {
		return "", err
	}
	// What was written is read again: the list has the new and the old, and all else says what it said.
	after, same, err := takeProtected(out)
	if err != nil || !reflect.DeepEqual(after, slices.Concat(add, before)) || !reflect.DeepEqual(same, rest) {
		return "", errByHand
	}
	return out, nil
}

// takeProtected gives the entries of rules.protected, and what else a file says.
func takeProtected(data string) (list []any, rest map[string]any, err error) {
	rest = map[string]any{}
	if err := yaml.Unmarshal([]byte(data), &rest); err != nil {
		return nil, nil, fmt.Errorf("read the file: %w", err)
	}
	rules, _ := rest["rules"].(map[string]any)
	if at, ok := rules["protected"]; ok {
		if list, ok = at.([]any); !ok {
			return nil, nil, errByHand
		}
		delete(rules, "protected")
	}
	if len(rules) == 0 {
		delete(rest, "rules")
	}
	rest["version"] = 1 // a new file gets it
	return list, rest, nil
}

// withProtected writes entries into the text at the place that the YAML parser gives.
func withProtected(data string, quoted []string) (string, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(data), &doc); err != nil {
		return "", err
	}
	lines := strings.SplitAfter(data, "\n")
	if n := len(lines); n > 0 && lines[n-1] != "" {
		lines[n-1] += "\n"
	}
	insert := func(after *yaml.Node, text string) string {
		return strings.Join(lines[:after.Line], "") + text + strings.Join(lines[after.Line:], "")
	}
	// inside writes behind the bracket that a node in flow style begins with.
	inside := func(n *yaml.Node, text string) string {
		if len(n.Content) > 0 {
			text += ", "
		}
		line := lines[n.Line-1]
		lines[n.Line-1] = line[:n.Column] + text + line[n.Column:]
		return strings.Join(lines, "")
	}
	block := func(indent int) string {
		at := strings.Repeat(" ", indent)
		return at + "protected:\n" + items(quoted, indent+2)
	}
	if len(doc.Content) == 0 { // nothing but comments
		return strings.Join(lines, "") + "version: 1\n\nrules:\n" + block(2), nil
	}
	root, flow := doc.Content[0], "["+strings.Join(quoted, ", ")+"]"
	top, rules := strict.Pair(root, "rules")
	if rules == nil && root.Style&yaml.FlowStyle == 0 {
		return strings.Join(lines, "") + "\nrules:\n" + block(2), nil
	}
	if rules == nil || rules.Kind != yaml.MappingNode {
		return "", errByHand
	}
	key, list := strict.Pair(rules, "protected")
	switch {
	case list == nil && rules.Style&yaml.FlowStyle != 0: // rules: {grace: ...}
		return inside(rules, "protected: "+flow), nil
	case list == nil:
		return insert(top, block(rules.Column-1)), nil
	case list.Style&yaml.FlowStyle != 0: // protected: [a, b]
		return inside(list, strings.Join(quoted, ", ")), nil
	}
	return insert(key, items(quoted, list.Column-1)), nil
}

// items are entries of a list, a line each.
func items(quoted []string, indent int) (out string) {
	for _, q := range quoted {
		out += strings.Repeat(" ", indent) + "- " + q + "\n"
	}
	return out
}

// Protect adds globs to rules.protected of a file, which is made where it does not exist, with the folder that it is in. write replaces it in one
// step.
func Protect(ctx context.Context, file string, globs []string, write func(context.Context, string, func(io.Writer) error) error) error {
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := Protecting(string(data), globs)
	if err != nil || out == string(data) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return write(ctx, file, func(w io.Writer) error {
		_, err := io.WriteString(w, out)
		return err
	})
}

// UserFile is the file of a user's own configuration, "" where there is no place for it.
func UserFile() string {
	if all := places(); len(all) > 1 {
		return all[0]
	}
	return ""
}
