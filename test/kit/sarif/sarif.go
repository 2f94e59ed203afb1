// Package sarif holds SARIF documents against the schema that OASIS publishes.
package sarif

import (
	"bytes"
	_ "embed"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed testdata/sarif-schema-2.1.0.json
var document []byte

var schema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return nil, err
	}
	const name = "sarif-schema-2.1.0.json"
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, root); err != nil {
		return nil, err
	}
	return c.Compile(name)
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
