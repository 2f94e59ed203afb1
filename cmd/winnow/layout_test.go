package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow"
)

// The ceilings of the whole: they may only fall. What is added fits below them, or something goes.
const (
	maxCode          = 101_907 // lines of Go without tests, test/ and editors/
	maxTests         = 74_604  // lines of _test.go without test/ and editors/
	maxConfig        = 20_000  // bytes of config.yaml
	maxEntries       = 26      // at the top, without dot files
	maxRuleIDs       = 0       // places outside engine/decision that have a rule's id
	maxLongFaces     = 0       // files in cmd/winnow of more than maxFace lines
	maxFaceArrows    = 0       // places in a command's file that name what another command's file declares
	maxVagueNames    = 0       // functions called by a preposition, a pronoun or the like
	maxRego          = 3_999   // lines of Rego without tests
	maxRegoComments  = 20      // percent of Rego that are comments
	maxRegoLong      = 0       // lines of Rego that are longer than regoColumns
	regoColumns      = 120
	maxFace          = 200
	maxPackageLines  = 3000
	maxPackageFiles  = 25
	moduleFromHere   = "../.."
	commandsFromRoot = "cmd/winnow"
)

// largePackages are those over maxPackageLines lines or maxPackageFiles files, with their ceilings of both. The list may only get shorter.
var largePackages = map[string][2]int{
	"cmd/winnow":      {4_319, 44}, // a file a command, with flags, call and render
	"engine/subject":  {4_842, 18}, // to become subject, processes, records and panes
	"collectors/dirs": {4_204, 17},
}

// vagueNames are words that say neither what a function gives nor what it does.
var vagueNames = strings.Fields(`of in at on by with within below above over under beside behind before after again own named said told asked asks left kept
	there here such same other others otherwise else still also whole rest each every any none odd tried pressed through forth away apart inside
	outside elsewhere`)

// goFile is a file of the module, by its path from the main folder.
type goFile struct {
	path string
	text string
}

func (f goFile) lines() int { return strings.Count(f.text, "\n") }

func (f goFile) test() bool { return strings.HasSuffix(f.path, "_test.go") }

// goFiles are the module's own files, without what is for tests alone and the companion.
func goFiles(t *testing.T) (all []goFile) {
	t.Helper()
	module := os.DirFS(moduleFromHere)
	err := fs.WalkDir(module, ".", func(from string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (from == "test" || from == "editors" || from != "." && d.Name()[0] == '.' || d.Name() == "node_modules" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if strings.HasSuffix(from, ".go") {
			text, err := fs.ReadFile(module, from)
			all = append(all, goFile{from, string(text)})
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestCeilings holds what may only fall: lines, packages, names.
func TestCeilings(t *testing.T) {
	t.Parallel()
	code, tests, ids, faces, vague := 0, 0, 0, 0, []string{}
	lines, files := map[string]int{}, map[string]int{}
	for _, f := range goFiles(t) {
		if f.test() {
			tests += f.lines()
			continue
		}
		folder := filepath.Dir(f.path)
		code += f.lines()
		lines[folder] += f.lines()
		files[folder]++
		if folder == commandsFromRoot && f.lines() > maxFace {
			faces++
		}
		if folder != "engine/decision" {
			ids += strings.Count(f.text, `"reap.`) + strings.Count(f.text, `"protect.`)
		}
		vague = append(vague, vagueFunctions(t, f)...)
	}
	ceiling(t, "lines of Go", code, maxCode)
	ceiling(t, "lines of tests", tests, maxTests)
	ceiling(t, "rules' ids outside engine/decision", ids, maxRuleIDs)
	ceiling(t, "files of commands that are too long", faces, maxLongFaces)
	ceiling(t, "functions with a vague name", len(vague), maxVagueNames)
	for _, folder := range slices.Sorted(maps.Keys(lines)) {
		most, listed := largePackages[folder]
		if !listed {
			most = [2]int{maxPackageLines, maxPackageFiles}
		}
		ceiling(t, "lines of "+folder, lines[folder], most[0])
		ceiling(t, "files of "+folder, files[folder], most[1])
		if listed && lines[folder] <= maxPackageLines && files[folder] <= maxPackageFiles {
			t.Errorf("%s is small enough: take it out of largePackages", folder)
		}
	}
	entries, err := os.ReadDir(moduleFromHere)
	if err != nil {
		t.Fatal(err)
	}
	entries = slices.DeleteFunc(entries, func(d fs.DirEntry) bool { return d.Name()[0] == '.' || d.Name() == "winnow" || d.Name() == "dist" })
	ceiling(t, "bytes of config.yaml", len(winnow.DefaultConfig), maxConfig)
	ceiling(t, "entries at the top", len(entries), maxEntries)
}

// TestCeilingsOfRego holds the shipped rules to their size. Columns are bytes, as Regal counts them.
func TestCeilingsOfRego(t *testing.T) {
	t.Parallel()
	all, comments, long := 0, 0, 0
	err := filepath.WalkDir(filepath.Join(moduleFromHere, "policies"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".rego" || strings.HasSuffix(path, "_test.rego") {
			return err
		}
		text, err := os.ReadFile(path)
		for line := range strings.Lines(string(text)) {
			all++
			if strings.HasPrefix(strings.TrimSpace(line), "#") {
				comments++
			}
			if len(strings.TrimSuffix(line, "\n")) > regoColumns {
				long++
			}
		}
		return err
	})
	if err != nil || all == 0 {
		t.Fatal(all, err)
	}
	ceiling(t, "lines of Rego", all, maxRego)
	ceiling(t, "percent of Rego that are comments", (100*comments+all-1)/all, maxRegoComments)
	ceiling(t, "lines of Rego that are too long", long, maxRegoLong)
}

func ceiling(t *testing.T, what string, n, most int) {
	t.Helper()
	t.Logf("%s: %d of %d", what, n, most)
	if n > most {
		t.Errorf("%s: %d, and at most %d are allowed: delete something, or give it another place or name", what, n, most)
	}
}

// TestCommandsStandAlone: a command can be read alone. What two commands share has a file that is no command's, and a command names of
// another one no more than what makes it, as its parent does.
func TestCommandsStandAlone(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	trees, homes, commands := map[string]*ast.File{}, map[string][]string{}, map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		trees[name] = tree
		for _, d := range tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && (fn.Recv == nil || methodOf(fn, "app")) {
				homes[fn.Name.Name] = append(homes[fn.Name.Name], name)
				commands[name] = commands[name] || makesCommand(fn.Name.Name)
			}
		}
		for object := range tree.Scope.Objects {
			if !slices.Contains(homes[object], name) {
				homes[object] = append(homes[object], name)
			}
		}
	}
	delete(commands, "root.go") // it has what all share
	n := 0
	for name, tree := range trees {
		if !commands[name] {
			continue
		}
		for _, id := range namesBeyond(tree) {
			if home := homes[id]; len(home) == 1 && home[0] != name && commands[home[0]] && !makesCommand(id) {
				n++
				t.Logf("%s names %s of %s", name, id, home[0])
			}
		}
	}
	ceiling(t, "names of another command's file", n, maxFaceArrows)
}

// methodOf reports whether a function is a method of a type, or of a pointer to it.
func methodOf(fn *ast.FuncDecl, name string) bool {
	of := fn.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	id, ok := of.(*ast.Ident)
	return ok && id.Name == name
}

// makesCommand reports whether a function makes a command, by its name.
func makesCommand(name string) bool {
	return strings.HasPrefix(name, "new") && len(name) > 3 && name[3] >= 'A' && name[3] <= 'Z'
}

// namesBeyond are the names in a file that it does not declare itself, and the methods and fields that it asks for.
func namesBeyond(tree *ast.File) (names []string) {
	for _, id := range tree.Unresolved {
		names = append(names, id.Name)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && !ast.IsExported(s.Sel.Name) {
			names = append(names, s.Sel.Name)
		}
		return true
	})
	slices.Sort(names)
	return slices.Compact(names)
}

func vagueFunctions(t *testing.T, f goFile) (found []string) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), f.path, f.text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range tree.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && slices.Contains(vagueNames, strings.ToLower(fn.Name.Name)) {
			found = append(found, f.path+": "+fn.Name.Name)
		}
	}
	return found
}
