package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
)

var update = flag.Bool("update", false, "write the generated schema")

// TestReportSchemaIsCurrent keeps the published schema of the report equal to the Go type.
func TestReportSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	const file = "../../docs/schemas/report.json"
	r := jsonschema.Reflector{Anonymous: true, DoNotReference: true}
	root := filepath.Join("..", "..")
	for pkg, dir := range map[string]string{
		reflect.TypeFor[Report]().PkgPath(): ".",
		"winnow/engine/snapshot":            filepath.Join(root, "engine", "snapshot"),
		"winnow/engine/decision":            filepath.Join(root, "engine", "decision"),
	} {
		if err := r.AddGoComments(pkg, dir, jsonschema.WithFullComment()); err != nil {
			t.Fatal(err)
		}
	}
	s := r.Reflect(Report{})
	s.Title = reportSchema
	var want bytes.Buffer
	if err := writeJSON(&want, s); err != nil {
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
		t.Errorf("%s is stale: go test ./cmd/winnow -run Schema -update (-want +have):\n%s", file, diff)
	}
}
