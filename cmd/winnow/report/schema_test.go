package report

import (
	"bytes"
	"flag"
	"os"
	"reflect"
	"testing"

	"winnow/cmd/winnow/text"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
)

var update = flag.Bool("update", false, "write the generated schema")

// TestReportSchemaIsCurrent keeps the published schema of the report equal to the Go type.
func TestReportSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	const file = "../../../docs/schemas/report.json"
	r := jsonschema.Reflector{Anonymous: true, DoNotReference: true}
	// The path of a package is joined to that of this one.
	for _, dir := range []string{".", "../../../engine/snapshot", "../../../engine/decision"} {
		if err := r.AddGoComments(reflect.TypeFor[Report]().PkgPath(), dir, jsonschema.WithFullComment()); err != nil {
			t.Fatal(err)
		}
	}
	s := r.Reflect(Report{})
	s.Title = Schema
	var want bytes.Buffer
	if err := text.JSON(&want, s, "  "); err != nil {
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
		t.Errorf("%s is stale: go test ./cmd/winnow/report -run Schema -update (-want +have):\n%s", file, diff)
	}
}
