package snapshot_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"

	"winnow/engine/snapshot"
)

var update = flag.Bool("update", false, "write the generated schema")

// TestSchemaIsCurrent keeps the published schema of the snapshot equal to the Go type.
func TestSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	const file = "../../docs/schemas/snapshot.json"
	r := jsonschema.Reflector{Anonymous: true, DoNotReference: true}
	if err := r.AddGoComments("winnow/engine/snapshot", ".", jsonschema.WithFullComment()); err != nil {
		t.Fatal(err)
	}
	s := r.Reflect(snapshot.Snapshot{})
	s.Title = snapshot.Schema
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(have)); diff != "" {
		t.Errorf("%s is stale: go test ./engine/snapshot -run Schema -update (-want +have):\n%s", file, diff)
	}
}
