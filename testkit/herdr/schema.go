package herdr

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"strconv"
	"sync"
)

// Herdr's own description of its socket; testdata/README.md says which.
//
//go:embed testdata/herdr-api.schema.json
var document []byte

// schema is the checks for what goes over the socket.
type schema struct {
	success, failure, event, paneEvent, request check

	methods map[string]bool // the requests that there are
}

// compiled is the document's checks, made once: it is big.
var compiled = sync.OnceValues(func() (*schema, error) {
	root, err := decode(document)
	if err != nil {
		return nil, err
	}
	c := &compiler{root: root, done: map[string]*check{}}
	s := &schema{
		success: c.resolve("#/schemas/success_response"), failure: c.resolve("#/schemas/error_response"),
		event: c.resolve("#/schemas/event"), paneEvent: c.resolve("#/schemas/subscription_event"),
		request: c.resolve("#/schemas/request"), methods: map[string]bool{},
	}
	if c.err != nil {
		return nil, c.err
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
func decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var out any
	err := d.Decode(&out)
	return out, err
}

// wrong says what is wrong with a line that is about to be sent: one that has neither an error nor a result is an event.
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
		return s.failure(v, "reply")
	case succeeded:
		return s.success(v, "reply")
	}
	if name, _ := o["event"].(string); bytes.ContainsRune([]byte(name), '.') {
		return s.paneEvent(v, "event")
	}
	return s.event(v, "event")
}

func itoa(n int) string { return strconv.Itoa(n) }
