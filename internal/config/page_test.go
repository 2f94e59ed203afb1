package config

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// page is docs/reference/config.md: each key of config.yaml with its default and its comment, a section a key of the first level.
func page(t *testing.T) string {
	t.Helper()
	var doc yaml.Node
	must.Do(t, yaml.Unmarshal(winnow.DefaultConfig, &doc))
	var b strings.Builder
	b.WriteString("<!-- Written from config.yaml: go test ./internal/config -run Schema -update -->\n# config.yaml\n\n")
	head, _, _ := strings.Cut(doc.Content[0].Content[0].HeadComment+doc.HeadComment, "\n\n")
	b.WriteString(strings.Join(strings.Fields(strings.NewReplacer("\n#", " ", "#", "").Replace(head)), " ") + "\n")
	top := must.Get(shipped())(t).root.Content
	for i := 0; i+1 < len(top); i += 2 {
		fmt.Fprintf(&b, "\n## %s\n", top[i].Value)
		keyLines(&b, nil, top[i], top[i+1])
	}
	return b.String()
}

// keyLines writes a key, or what a section says of itself and then each of its keys.
func keyLines(b *strings.Builder, path []string, key, value *yaml.Node) {
	path = append(path[:len(path):len(path)], key.Value)
	words := comment(key, value)
	if len(path) == 1 && key.Value == "version" {
		words = "" // what stands above it is about the file
	}
	switch {
	case value.Kind == yaml.MappingNode && len(value.Content) > 0:
		if words != "" {
			fmt.Fprintf(b, "\n%s\n", words)
		}
		for i := 0; i+1 < len(value.Content); i += 2 {
			keyLines(b, path, value.Content[i], value.Content[i+1])
		}
	default:
		fmt.Fprintf(b, "\n%s\n", strings.TrimSpace(fmt.Sprintf("- `%s` (%s) %s", strings.Join(path, "."), shown(value), words)))
	}
}

// most is how many items of a list the page shows; config.yaml has all.
const most = 6

func shown(n *yaml.Node) string {
	var items []string
	switch n.Kind {
	case yaml.ScalarNode:
		return "`" + cmp.Or(n.Value, `""`) + "`"
	case yaml.MappingNode:
		return "`{}`"
	}
	for i, item := range n.Content {
		if i == most {
			items = append(items, fmt.Sprintf("and %d more", len(n.Content)-most))
			break
		}
		text := item.Value
		if item.Kind == yaml.MappingNode {
			text = item.Content[1].Value
		}
		items = append(items, "`"+text+"`")
	}
	return cmp.Or(strings.Join(items, ", "), "`[]`")
}
