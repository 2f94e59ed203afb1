package editor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schema is the checks for what goes over the socket.
type schema struct {
	parts map[string]*jsonschema.Schema // by the name of the definition
}

// document is where the protocol is written down, below the root of this module. It lies beside the extension, which holds itself to the
// same file.
const document = "editors/vscode/protocol.schema.json"

// compiled is the document's checks, made once.
var compiled = sync.OnceValues(func() (*schema, error) {
	text, err := readDocument()
	if err != nil {
		return nil, err
	}
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", document, err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("protocol", root); err != nil {
		return nil, fmt.Errorf("read %s: %w", document, err)
	}
	var names struct {
		Defs map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(text, &names); err != nil {
		return nil, fmt.Errorf("read %s: %w", document, err)
	}
	s := &schema{parts: map[string]*jsonschema.Schema{}}
	for name := range names.Defs {
		if s.parts[name], err = c.Compile("protocol#/$defs/" + name); err != nil {
			return nil, fmt.Errorf("read %s: %w", document, err)
		}
	}
	return s, nil
})

// readDocument looks for the module's root from the folder that a test runs in upwards.
func readDocument() ([]byte, error) {
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return os.ReadFile(filepath.Join(dir, document))
		}
	}
	return nil, errors.Join(err, errors.New("no folder above this one has a go.mod, below which the protocol's schema lies"))
}

// request says what is wrong with a request, "" when nothing is.
func (s *schema) request(line []byte, req request) string {
	if wrong := s.against("request", line); wrong != "" {
		return wrong
	}
	params := req.Params
	if params == nil {
		params = []byte("{}")
	}
	return s.against(req.Method+".params", params)
}

// reply says what is wrong with a reply to a request of that method.
func (s *schema) reply(line []byte, method string) string {
	if wrong := s.against("response", line); wrong != "" {
		return wrong
	}
	var r struct {
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(line, &r); err != nil || r.Result == nil {
		return ""
	}
	return s.against(method+".result", r.Result)
}

func (s *schema) event(line []byte) string { return s.against("event", line) }

// against says what is wrong with a text as that part of the protocol.
func (s *schema) against(part string, text []byte) string {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err.Error()
	}
	check := s.parts[part]
	if check == nil {
		return fmt.Sprintf("the protocol has no %s", part)
	}
	var bad *jsonschema.ValidationError
	if err := check.Validate(v); errors.As(err, &bad) {
		_, why, _ := strings.Cut(bad.Error(), "\n")
		return fmt.Sprintf("%s in %.1000s", why, text)
	}
	return ""
}
