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
)

// The ceilings of the whole: they may only fall. What is added fits below them, or something goes.
const (
	maxCode          = 105_880 // lines of Go without tests, test/ and editors/
	maxTests         = 76_000  // lines of _test.go without test/ and editors/
	maxEntries       = 26      // at the top, without dot files
	maxRuleIDs       = 0       // places outside engine/decision that have a rule's id
	maxLongFaces     = 7       // files in cmd/winnow of more than maxFace lines
	maxVagueNames    = 0       // functions called by a preposition, a pronoun or the like
	maxFace          = 200
	maxPackageLines  = 3000
	maxPackageFiles  = 25
	moduleFromHere   = "../.."
	commandsFromRoot = "cmd/winnow"
)

// largePackages are those over maxPackageLines lines or maxPackageFiles files, with their ceilings of both. The list may only get shorter.
var largePackages = map[string][2]int{
	"cmd/winnow":           {5_660, 52}, // a file a command, with flags, call and render
	"collectors/processes": {5_840, 43}, // to become processes, holders and host
	"engine/subject":       {5_220, 31}, // to become subject, processes, records and panes
	"collectors/dirs":      {4_340, 22},
	"engine/policy":        {4_193, 24},
	"internal/ledger":      {3_300, 23},
	"actuators/dirs":       {3_100, 16},
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
	ceiling(t, "entries at the top", len(entries), maxEntries)
}

func ceiling(t *testing.T, what string, n, most int) {
	t.Helper()
	t.Logf("%s: %d of %d", what, n, most)
	if n > most {
		t.Errorf("%s: %d, and at most %d are allowed: delete something, or give it another place or name", what, n, most)
	}
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
