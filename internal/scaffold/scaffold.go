// Package scaffold makes the files with which a rule begins: the rule and its tests.
package scaffold

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template"

	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/policies/schemas"
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
func Folders() []string { return snapshot.RuleFolders() }

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
	for _, k := range snapshot.Kinds {
		if folder == k.Name {
			return fmt.Sprintf(" (did you mean %s?)", k.Plural)
		}
	}
	if near := spelling.Near(folder, Folders()); near != "" {
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

// about is what the templates write about one kind of candidate. In its texts %o is the name of the rule's list in
// rules.custom, %w a word that the name of the example begins with.
type about struct {
	Kind, Thing, Several string
	// Field is a word for the name that is compared, Name its path below input.
	Field, Name       string
	Needs, Candidates string
	// Wait says what the duration is for; "" where the rule has none. And, Means and Message say what else must hold.
	Wait, And, Means, Message string
	Conditions                []string
	Evidence                  string
	// Subject is an input that the rule finds, Spare the path and the value that make it stay, SpareName what that is.
	Subject, Spare string
	SpareName      string `yaml:"spare_name"`
	// Facts are the paths without which nothing is found, the path of the name first.
	Facts []string
}

// kinds are the texts of templates/kinds.yaml, by the folder of the kind.
var kinds = sync.OnceValue(func() (all map[string]about) {
	data, err := files.ReadFile("templates/kinds.yaml")
	if err = cmp.Or(err, yaml.Unmarshal(data, &all)); err != nil {
		panic(err) // it is a part of the program
	}
	return all
})

// values are what the templates need for one rule.
type values struct {
	Rule
	about
	Title, Own, Word string
}

func (r Rule) values() values {
	v := values{Rule: r, Title: "Labelled " + r.Leaf, Own: r.Leaf + "_labels",
		Word: strings.ReplaceAll(r.Leaf, "_", "-") + "-"}
	if r.Folder == "" {
		return v
	}
	v.about, v.Own = kinds()[r.Folder], r.Leaf+"_"+r.Folder
	v.Title = strings.ToUpper(r.Leaf[:1]) + strings.ReplaceAll(r.Leaf[1:], "_", " ") + " " + v.Thing
	return v
}

// Write makes all of the files in the folder, or makes nothing. It overwrites nothing and leaves the folder through no link, also when
// another program puts something there meanwhile. With more the folder may have some of the folders already.
func Write(dir string, files map[string][]byte, more bool) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	var made []string
	defer func() {
		if err != nil {
			for _, name := range slices.Backward(made) {
				err = errors.Join(err, root.Remove(name))
			}
		}
	}()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		var above []string
		for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
			above = append(above, dir)
		}
		for _, folder := range slices.Backward(above) {
			switch err := root.Mkdir(folder, 0o755); {
			case err == nil:
				made = append(made, folder)
			case more && errors.Is(err, fs.ErrExist):
			case !slices.Contains(made, folder):
				return err
			}
		}
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		made = append(made, name)
		_, err = f.Write(files[name])
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Example is a document with every field that a rule may read below input, each empty: a text "", a number 0, a list with one such element. It has
// all kinds at once, so it is no candidate. Regal's language server completes from it where it is called input.json.
func Example() ([]byte, error) {
	var schema map[string]any
	if err := json.Unmarshal(schemas.Subject, &schema); err != nil {
		return nil, fmt.Errorf("read the schema of the input: %w", err)
	}
	data, err := json.MarshalIndent(empty(schema), "", "  ")
	return append(data, '\n'), err
}

// empty is an empty value of what a schema describes.
func empty(schema map[string]any) any {
	switch schema["type"] {
	case "object":
		fields, _ := schema["properties"].(map[string]any)
		out := map[string]any{}
		for name, of := range fields {
			if s, ok := of.(map[string]any); ok {
				out[name] = empty(s)
			}
		}
		return out
	case "array":
		if items, ok := schema["items"].(map[string]any); ok {
			return []any{empty(items)}
		}
		return []any{}
	case "boolean":
		return false
	case "number", "integer":
		return 0
	}
	return ""
}
