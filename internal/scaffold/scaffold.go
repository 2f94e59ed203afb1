// Package scaffold makes the files with which a rule begins: the rule and its tests.
package scaffold

import (
	"embed"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
	"github.com/winnow-reaper/winnow/internal/text"
)

//go:embed templates
var files embed.FS

var templates = sync.OnceValue(func() *template.Template { return template.Must(template.ParseFS(files, "templates/*.rego")) })

// Rule is the name of a rule: reap.<folder>.<name> or protect.<name>.
type Rule struct {
	// ID is the whole name, Folder the folder of a kind below reap ("" for protect), Leaf the last part.
	ID, Folder, Leaf string
}

// Folders are the folders below reap, one or more for each kind of candidate.
func Folders() []string {
	var out []string
	for _, k := range snapshot.Kinds {
		out = append(out, k.Folders()...)
	}
	return out
}

var leafName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// maxLeaf bounds a name: it becomes the name of a folder and a part of the names of parameters.
const maxLeaf = 64

// Parse reads the name of a rule. The error says what a name looks like.
func Parse(id string) (Rule, error) {
	const like = "write reap.<kind>.<name>, such as reap.sessions.mine, or protect.<name>"
	parts := strings.Split(id, ".")
	switch {
	case parts[0] == "reap" && len(parts) == 3:
		if !slices.Contains(Folders(), parts[1]) {
			return Rule{}, fmt.Errorf("%.100q is no kind%s; kinds are %s", parts[1], nearKind(parts[1]), strings.Join(Folders(), ", "))
		}
	case parts[0] == "protect" && len(parts) == 2:
	case parts[0] == "reap" || parts[0] == "protect":
		return Rule{}, fmt.Errorf("%.100q has %s; %s", id, text.Plural(len(parts), "part"), like)
	default:
		return Rule{}, fmt.Errorf("%.100q begins neither with reap. nor with protect.; %s", id, like)
	}
	r := Rule{ID: id, Leaf: parts[len(parts)-1]}
	if parts[0] == "reap" {
		r.Folder = parts[1]
	}
	switch {
	case len(r.Leaf) > maxLeaf:
		return Rule{}, fmt.Errorf("the name %.20q... has %d letters, and %d are the most", r.Leaf, len(r.Leaf), maxLeaf)
	case !leafName.MatchString(r.Leaf):
		return Rule{}, fmt.Errorf("%.100q is no name of a rule: begin with a small letter, and use small letters, digits and _", r.Leaf)
	case lint.IsWord(r.Leaf) || slices.Contains(reserved, r.Leaf):
		return Rule{}, fmt.Errorf("%q is a word of Rego, or of the tests that are written, and no name of a rule", r.Leaf)
	case strings.HasSuffix(r.Leaf, "_test"):
		return Rule{}, fmt.Errorf("%q ends in _test, as files of tests do, so that nobody would load the rule", r.Leaf)
	}
	return r, nil
}

// reserved are the variables of the tests.
var reserved = []string{"path", "paths", "value"}

func nearKind(folder string) string {
	var names []string
	for _, k := range snapshot.Kinds {
		if folder == k.Name {
			return fmt.Sprintf(" (did you mean %s?)", k.Plural)
		}
		names = append(names, k.Folders()...)
	}
	if near := spelling.Near(folder, names); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}

// Dir is the folder of the rule below the tree's.
func (r Rule) Dir() string { return strings.ReplaceAll(r.ID, ".", "/") }

// Files are the rule and its tests, by their paths below the tree's folder.
func (r Rule) Files() (map[string][]byte, error) {
	v := r.values()
	fill := strings.NewReplacer("%o", v.Own, "%w", v.Word)
	family, _, _ := strings.Cut(r.ID, ".")
	out := map[string][]byte{}
	for _, end := range []string{".rego", "_test.rego"} {
		var b strings.Builder
		if err := templates().ExecuteTemplate(&b, family+end, v); err != nil {
			return nil, fmt.Errorf("make the rule %s: %w", r.ID, err)
		}
		out[path.Join(r.Dir(), r.Leaf+end)] = []byte(fill.Replace(b.String()))
	}
	return out, nil
}

// Regal is the configuration with which Regal takes a tree for what it is, as .regal/config.yaml in the tree's folder.
func Regal() []byte {
	data, err := files.ReadFile("templates/regal.yaml")
	if err != nil {
		panic(err) // it is a part of the program
	}
	return data
}
