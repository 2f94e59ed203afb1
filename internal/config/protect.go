package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// errByHand says that a file is written in a way in which nothing was added to it.
var errByHand = errors.New("add it to rules.protected by hand; the file was not changed")

// Protecting gives a configuration file's text with globs added to rules.protected, and everything else as it was, comments and blank lines
// too. data is "" for a file that does not exist yet. What is in the list already is not added again.
func Protecting(data string, globs []string) (string, error) {
	before, err := protectedOf(data)
	if err != nil {
		return "", err
	}
	var add []string
	for _, g := range globs {
		if !slices.Contains(before, g) && !slices.Contains(add, g) {
			add = append(add, g)
		}
	}
	if len(add) == 0 {
		return data, nil
	}
	out, err := withProtected(data, add)
	if err != nil {
		return "", err
	}
	// What was written is read again: the list has the old and the new, and all else says what it said.
	after, err := protectedOf(out)
	if err != nil || !slices.Equal(after, append(slices.Clone(before), add...)) {
		return "", errByHand
	}
	if same, err := sameBut(data, out, "protected"); err != nil || !same {
		return "", errByHand
	}
	return out, nil
}

func protectedOf(data string) ([]string, error) {
	var doc struct {
		Rules struct {
			Protected []string `yaml:"protected"`
		} `yaml:"rules"`
	}
	if err := yaml.Unmarshal([]byte(data), &doc); err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	return doc.Rules.Protected, nil
}

// sameBut reports whether two texts say the same but for one key of rules.
func sameBut(x, y, key string) (bool, error) {
	var docs [2][]byte
	for i, data := range []string{x, y} {
		doc := map[string]any{}
		if err := yaml.Unmarshal([]byte(data), &doc); err != nil {
			return false, err
		}
		if rules, ok := doc["rules"].(map[string]any); ok {
			delete(rules, key)
			if len(rules) == 0 {
				delete(doc, "rules")
			}
		}
		doc["version"] = 1 // a new file gets it
		said, err := yaml.Marshal(doc)
		if err != nil {
			return false, err
		}
		docs[i] = said
	}
	return bytes.Equal(docs[0], docs[1]), nil
}

// withProtected writes new lines into the text at the place that the YAML parser gives.
func withProtected(data string, globs []string) (string, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(data), &doc); err != nil {
		return "", err
	}
	lines := strings.SplitAfter(data, "\n")
	if n := len(lines); n > 0 && lines[n-1] != "" {
		lines[n-1] += "\n"
	}
	var quoted []string
	for _, g := range globs {
		quoted = append(quoted, quoteYAML(g))
	}
	block := func(indent int) string {
		s := strings.Repeat(" ", indent) + "protected:\n"
		for _, q := range quoted {
			s += strings.Repeat(" ", indent) + "  - " + q + "\n"
		}
		return s
	}
	insert := func(at int, text string) string {
		return strings.Join(lines[:at], "") + text + strings.Join(lines[at:], "")
	}
	if len(doc.Content) == 0 { // nothing but comments
		return strings.Join(lines, "") + "version: 1\n\nrules:\n" + block(2), nil
	}
	root := doc.Content[0]
	_, rules := child(root, "rules")
	if rules == nil {
		if root.Style&yaml.FlowStyle != 0 {
			return "", errByHand
		}
		return strings.Join(lines, "") + "\nrules:\n" + block(2), nil
	}
	key, list := child(rules, "protected")
	switch {
	case rules.Kind != yaml.MappingNode:
		return "", errByHand
	case list == nil && rules.Style&yaml.FlowStyle != 0: // rules: {grace: ...}
		line, rest := lines[rules.Line-1], ""
		if len(rules.Content) > 0 {
			rest = ", "
		}
		at := rules.Column // behind the brace
		lines[rules.Line-1] = line[:at] + "protected: [" + strings.Join(quoted, ", ") + "]" + rest + line[at:]
		return strings.Join(lines, ""), nil
	case list == nil:
		first := rules.Content[0]
		return insert(first.Line-1-commentLines(first), block(first.Column-1)), nil
	case list.Kind != yaml.SequenceNode:
		return "", errByHand
	case list.Style&yaml.FlowStyle != 0: // protected: [a, b]
		line, at, rest := lines[list.Line-1], list.Column, ""
		if len(list.Content) > 0 {
			last := list.Content[len(list.Content)-1]
			if last.Line != list.Line {
				return "", errByHand
			}
			at = last.Column - 1 + len(sourceOf(line[last.Column-1:], last))
			rest = ", "
		}
		lines[list.Line-1] = line[:at] + rest + strings.Join(quoted, ", ") + line[at:]
		return strings.Join(lines, ""), nil
	case len(list.Content) == 0:
		return "", errByHand
	}
	last, text := list.Content[len(list.Content)-1], ""
	indent := strings.Index(lines[last.Line-1], "-")
	if indent < key.Column-1 || last.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return "", errByHand
	}
	for _, q := range quoted {
		text += strings.Repeat(" ", indent) + "- " + q + "\n"
	}
	return insert(last.Line, text), nil
}

// sourceOf is a plain or quoted scalar as it stands at the beginning of a text.
func sourceOf(text string, n *yaml.Node) string {
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		for i := 1; i < len(text); i++ {
			if text[i] == '"' && text[i-1] != '\\' {
				return text[:i+1]
			}
		}
	case n.Style&yaml.SingleQuotedStyle != 0:
		for i := 1; i < len(text); i++ {
			if text[i] == '\'' && (i+1 == len(text) || text[i+1] != '\'') {
				return text[:i+1]
			} else if text[i] == '\'' {
				i++
			}
		}
	}
	return n.Value
}

// commentLines is how many lines above a key are its own comment.
func commentLines(key *yaml.Node) int {
	if key.HeadComment == "" {
		return 0
	}
	return strings.Count(key.HeadComment, "\n") + 1
}

func child(m *yaml.Node, name string) (key, value *yaml.Node) {
	if m.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == name {
			return m.Content[i], m.Content[i+1]
		}
	}
	return nil, nil
}

// quoteYAML writes a text as a YAML scalar in single quotes.
func quoteYAML(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// Protect adds globs to rules.protected of a file, which is made where it does not exist, with the folder that it is in. write replaces it in one
// step.
func Protect(ctx context.Context, file string, globs []string, write func(context.Context, string, func(io.Writer) error) error) error {
	return rewrite(ctx, file, func(data string) (string, error) { return Protecting(data, globs) }, write)
}

// rewrite gives a file the text that edit makes of the one that it has; "" is that of no file.
func rewrite(ctx context.Context, file string, edit func(string) (string, error), write func(context.Context, string, func(io.Writer) error) error) error {
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := edit(string(data))
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
	places, err := places()
	if err != nil || len(places) < 2 {
		return ""
	}
	return places[0]
}
