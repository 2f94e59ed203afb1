// Package schema holds published JSON Schemas against the Go types that they describe.
package schema

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
)

var update = flag.Bool("update", false, "write the generated schemas")

// Updating is true where golden files are to be written.
func Updating() bool { return *update }

// Current fails where one of the files is not the schema of v, or with -update writes it. The schema has no references, which OPA's type
// checker needs, and the comments of the Go fields; dirs are the folders of other packages that v's fields are of. All paths are relative to
// the test's package, which is v's.
func Current(t *testing.T, v any, title string, files, dirs []string) {
	t.Helper()
	current(t, v, title, files, dirs, jsonschema.Reflector{Anonymous: true, DoNotReference: true})
}

// Referring is Current for a type that is part of itself: each named type is a definition that others refer to.
func Referring(t *testing.T, v any, title string, files, dirs []string) {
	t.Helper()
	current(t, v, title, files, dirs, jsonschema.Reflector{Anonymous: true, ExpandedStruct: true})
}

func current(t *testing.T, v any, title string, files, dirs []string, r jsonschema.Reflector) {
	t.Helper()
	for _, dir := range append([]string{"."}, dirs...) {
		// The path of a package is joined to that of this one.
		if err := r.AddGoComments(reflect.TypeOf(v).PkgPath(), dir, jsonschema.WithFullComment()); err != nil {
			t.Fatal(err)
		}
	}
	s := r.Reflect(v)
	s.Title = title
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		File(t, file, want.String())
	}
}

// File fails where a generated file does not have the wanted text, or with -update writes it.
func File(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(have)); diff != "" {
		t.Errorf("%s is stale: run this test with -update (-want +have):\n%s", filepath.Clean(file), diff)
	}
}

// Folder fails where a folder does not have exactly the wanted files, by name, or with -update makes it so.
func Folder(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	have, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range have {
		if _, ok := want[f.Name()]; ok {
			continue
		}
		if !*update {
			t.Errorf("%s should not be there: run this test with -update", filepath.Join(dir, f.Name()))
		} else if err := os.Remove(filepath.Join(dir, f.Name())); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range want {
		File(t, filepath.Join(dir, name), text)
	}
}
