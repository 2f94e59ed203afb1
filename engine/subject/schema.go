package subject

import (
	_ "embed"
	"slices"
)

//go:embed schema.json
var schemaJSON []byte

// JSONSchema is the JSON Schema of a subject, the input of the policies.
func JSONSchema() []byte { return slices.Clone(schemaJSON) }
