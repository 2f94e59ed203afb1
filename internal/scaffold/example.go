package scaffold

import (
	"encoding/json"
	"fmt"

	"github.com/winnow-reaper/winnow/policies/schemas"
)

// Example is a document with every field that a rule may read below input, each empty: a text "", a number 0, a list with one such element. It has
// all kinds at once, so it is no candidate. Regal's language server completes from it where it is called input.json.
func Example() ([]byte, error) {
	var schema map[string]any
	if err := json.Unmarshal(schemas.Subject, &schema); err != nil {
		return nil, fmt.Errorf("read the schema of the input: %w", err)
	}
	data, err := json.MarshalIndent(empty(schema), "", "  ")
	return append(data, '\n'), err
}

// empty is an empty value of what a schema describes.
func empty(schema map[string]any) any {
	switch schema["type"] {
	case "object":
		fields, _ := schema["properties"].(map[string]any)
		out := map[string]any{}
		for name, of := range fields {
			if s, ok := of.(map[string]any); ok {
				out[name] = empty(s)
			}
		}
		return out
	case "array":
		if items, ok := schema["items"].(map[string]any); ok {
			return []any{empty(items)}
		}
		return []any{}
	case "boolean":
		return false
	case "number", "integer":
		return 0
	}
	return ""
}
