package subject

import (
	"slices"

	"github.com/winnow-reaper/winnow/policies/schemas"
)

// JSONSchema is the JSON Schema of a subject, the input of the policies.
func JSONSchema() []byte { return slices.Clone(schemas.Subject) }
