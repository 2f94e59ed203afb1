package subject_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"

	"winnow/engine/subject"
)

var update = flag.Bool("update", false, "write the generated schemas")

// TestSchemaIsCurrent keeps the schema that the engine checks policies with, and the copy of it that stock OPA reads beside the
// policies, equal to the Go type.
func TestSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	want := generated(t)
	for _, file := range []string{"schema.json", "../../policies/schemas/subject.json"} {
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(have)); diff != "" {
			t.Errorf("%s is stale: go test ./engine/subject -run Schema -update (-want +have):\n%s", filepath.Clean(file), diff)
		}
	}
}

// generated writes the schema without references, which OPA's type checker needs, and with the comments of the Go fields.
func generated(t *testing.T) []byte {
	t.Helper()
	r := jsonschema.Reflector{Anonymous: true, DoNotReference: true}
	for _, pkg := range []string{"winnow/engine/subject", "winnow/engine/snapshot"} {
		if err := r.AddGoComments(pkg, filepath.Join("..", filepath.Base(pkg)), jsonschema.WithFullComment()); err != nil {
			t.Fatal(err)
		}
	}
	s := r.Reflect(subject.Subject{})
	s.Title = subject.Schema
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
