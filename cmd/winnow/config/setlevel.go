package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ErrByHand says that a file is written in a way in which Winnow does not change it.
var ErrByHand = errors.New("it is written in a way that is not changed by a program; the file was not changed")

// SetLevel writes the level of a rule under reap into a configuration file, which is made where it does not exist, with the folder that it is
// in. All else stays as it was, comments and order too. write replaces the file in one step.
func SetLevel(ctx context.Context, file, rule, level string, write func(context.Context, string, func(io.Writer) error) error) error {
	return rewrite(ctx, file, func(data string) (string, error) { return Levelled(data, rule, level) }, write)
}

// Levelled gives a configuration file's text with the level of a rule under reap in it, and everything else as it was. data is "" for a
// file that does not exist yet. The error wraps ErrByHand where the text was not changed.
func Levelled(data, rule, level string) (string, error) {
	before, err := levelsOf(data)
	if err != nil {
		return "", err
	}
	out, err := withLevel(data, rule, level)
	if err != nil {
		return "", err
	}
	// What was written is read again: the rule has the level, and all else says what it said.
	want := maps.Clone(before)
	if want == nil {
		want = map[string]string{}
	}
	want[rule] = level
	after, err := levelsOf(out)
	if err != nil || !maps.Equal(want, after) {
		return "", ErrByHand
	}
	if same, err := sameBut(data, out, "levels"); err != nil || !same {
		return "", ErrByHand
	}
	return out, nil
}

// levelsOf are the levels that a file gives to rules; those by kind are a text of all of them, unless there is one kind alone.
func levelsOf(data string) (map[string]string, error) {
	var doc struct {
		Rules struct {
			Levels map[string]yaml.Node `yaml:"levels"`
		} `yaml:"rules"`
	}
	if err := yaml.Unmarshal([]byte(data), &doc); err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	var out map[string]string
	for rule, n := range doc.Rules.Levels {
		if out == nil {
			out = map[string]string{}
		}
		var said []string
		for i := 1; i < len(n.Content); i += 2 {
			said = append(said, n.Content[i-1].Value+": "+n.Content[i].Value)
		}
		if len(n.Content) == 2 {
			said = []string{n.Content[1].Value}
		}
		if slices.Sort(said); n.Kind == yaml.ScalarNode {
			said = []string{n.Value}
		}
		out[rule] = strings.Join(said, ", ")
	}
	return out, nil
}

// withLevel changes the text at the place that the YAML parser gives.
func withLevel(data, rule, level string) (string, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(data), &doc); err != nil {
		return "", err
	}
	lines := strings.SplitAfter(data, "\n")
	if n := len(lines); n > 0 && lines[n-1] != "" {
		lines[n-1] += "\n"
	}
	whole := func() (string, error) { return strings.Join(lines, ""), nil }
	insert := func(at int, text string) (string, error) {
		return strings.Join(lines[:at], "") + text + strings.Join(lines[at:], ""), nil
	}
	// inside puts text into a mapping in braces, right behind the first one.
	inside := func(n *yaml.Node, text string) (string, error) {
		line := lines[n.Line-1]
		if n.Column > len(line) || line[n.Column-1] != '{' {
			return "", ErrByHand
		}
		if len(n.Content) > 0 {
			text += ", "
		}
		lines[n.Line-1] = line[:n.Column] + text + line[n.Column:]
		return whole()
	}
	flow := func(n *yaml.Node) bool { return n.Style&yaml.FlowStyle != 0 }
	entry := rule + ": " + level
	if len(doc.Content) == 0 { // nothing but comments
		return strings.Join(lines, "") + "version: 1\n\nrules:\n  levels:\n    " + entry + "\n", nil
	}
	root := doc.Content[0]
	_, rules := under(root, "rules")
	switch {
	case rules == nil && (root.Kind != yaml.MappingNode || flow(root)):
		return "", ErrByHand
	case rules == nil:
		return strings.Join(lines, "") + "\nrules:\n  levels:\n    " + entry + "\n", nil
	case rules.Kind != yaml.MappingNode || len(rules.Content) == 0 && !flow(rules):
		return "", ErrByHand
	}
	_, levels := under(rules, "levels")
	switch {
	case levels == nil && flow(rules):
		return inside(rules, "levels: {"+entry+"}")
	case levels == nil:
		first := rules.Content[0]
		indent := strings.Repeat(" ", first.Column-1)
		return insert(first.Line-1-commentLines(first), indent+"levels:\n"+indent+"  "+entry+"\n")
	case levels.Kind != yaml.MappingNode:
		return "", ErrByHand
	}
	_, value := under(levels, rule)
	switch {
	case value == nil && flow(levels):
		return inside(levels, entry)
	case value == nil && len(levels.Content) == 0:
		return "", ErrByHand
	case value == nil:
		first := levels.Content[0]
		return insert(first.Line-1-commentLines(first), strings.Repeat(" ", first.Column-1)+entry+"\n")
	case value.Kind == yaml.MappingNode && len(value.Content) == 2: // by kind, and a rule under reap has one
		value = value.Content[1]
	}
	if value.Kind != yaml.ScalarNode || value.Anchor != "" {
		return "", ErrByHand
	}
	line, at := lines[value.Line-1], value.Column-1
	if at > len(line) {
		return "", ErrByHand
	}
	lines[value.Line-1] = line[:at] + level + line[at+min(len(sourceOf(line[at:], value)), len(line)-at):]
	return whole()
}
