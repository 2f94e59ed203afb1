package herdr

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Herdr's own description of its socket; testdata/README.md says which.
//
//go:embed testdata/herdr-api.schema.json
var document []byte

// schema is the checks for what goes over the socket.
type schema struct {
	success, failure, request, event *jsonschema.Schema

	methods map[string]bool // the requests that there are
}

// compiled is the document's checks, made once: it is big.
var compiled = sync.OnceValues(func() (*schema, error) {
	root, err := decode(document)
	if err != nil {
		return nil, err
	}
	const name = "herdr-api.schema.json"
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, root); err != nil {
		return nil, fmt.Errorf("read herdr's schema: %w", err)
	}
	s := &schema{methods: map[string]bool{}}
	for part, to := range map[string]**jsonschema.Schema{
		"success_response": &s.success, "error_response": &s.failure, "request": &s.request, "event": &s.event,
	} {
		if *to, err = c.Compile(name + "#/schemas/" + part); err != nil {
			return nil, fmt.Errorf("read herdr's schema: %w", err)
		}
	}
	return s, s.name(document)
})

// name collects the methods.
func (s *schema) name(document []byte) error {
	var d struct {
		Schemas struct {
			Request struct {
				OneOf []struct {
					Properties struct {
						Method struct{ Const string }
					}
				} `json:"oneOf"`
			}
		}
	}
	err := json.Unmarshal(document, &d)
	for _, one := range d.Schemas.Request.OneOf {
		s.methods[one.Properties.Method.Const] = true
	}
	return err
}

// decode reads JSON so that numbers stay what they are.
func decode(text []byte) (any, error) { return jsonschema.UnmarshalJSON(bytes.NewReader(text)) }

// wrong says what is wrong with an answer that is about to be sent.
func (s *schema) wrong(line []byte) string {
	v, err := decode(line)
	if err != nil {
		return err.Error()
	}
	o, _ := v.(map[string]any)
	_, failed := o["error"]
	_, succeeded := o["result"]
	switch {
	case failed:
		return against(s.failure, v)
	case succeeded:
		return against(s.success, v)
	}
	return "neither an error nor a result"
}

// against says what is wrong with a value, "" when nothing is.
func against(s *jsonschema.Schema, v any) string {
	var bad *jsonschema.ValidationError
	if err := s.Validate(v); errors.As(err, &bad) {
		text, _ := json.Marshal(v)
		_, why, _ := strings.Cut(likeliest(bad).Error(), "\n")
		return fmt.Sprintf("%s in %.1000s", why, text)
	}
	return ""
}

// likeliest is the one complaint, of all those that the alternatives of a oneOf give, that is most likely meant: where the fewest were made.
func likeliest(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	for len(e.Causes) > 0 {
		e = slices.MinFunc(e.Causes, func(a, b *jsonschema.ValidationError) int { return complaints(a) - complaints(b) })
	}
	return e
}

func complaints(e *jsonschema.ValidationError) int {
	n := 0
	for _, c := range e.Causes {
		n += complaints(c)
	}
	return max(n, 1)
}

func itoa(n int) string { return strconv.Itoa(n) }
