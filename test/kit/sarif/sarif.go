// Package sarif holds SARIF documents against the schema that OASIS publishes.
package sarif

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	// It has the schema, as a constant that it does not export, and checks documents of its own types alone.
	_ "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const library = "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

var schema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	p, err := build.Import(library, ".", build.FindOnly)
	if err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, "schema.go"), nil, 0)
	if err != nil {
		return nil, err
	}
	text, err := strconv.Unquote(file.Scope.Lookup("schema").Decl.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
	if err != nil {
		return nil, err
	}
	root, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(library, root); err != nil {
		return nil, err
	}
	return c.Compile(library)
})

// Valid fails for what is no document of SARIF 2.1.0.
func Valid(data []byte) error {
	s, err := schema()
	if err != nil {
		return fmt.Errorf("read the schema of SARIF: %w", err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return s.Validate(v)
}
