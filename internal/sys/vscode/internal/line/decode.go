package line

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

const (
	// maxMembers bounds what one line is unpacked to, and maxText how long one text in it is, in bytes: a path has 4096.
	maxMembers = 50_000
	maxText    = 4096
)

// badRequest is the code for a request that the window does not understand.
const badRequest = "bad_request"

// Refusal is an answer of the window's that says no.
type Refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("the window answers %.40q: %.200q", r.Code, r.Message)
}

// decode takes the answer to the request of that id.
func decode(line []byte, id string, out any) error {
	var answer struct {
		ID     *string         `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  *Refusal        `json:"error"`
	}
	switch {
	case bytes.Count(line, []byte(",")) > maxMembers:
		return fmt.Errorf("the answer lists more than winnow reads (%d members)", maxMembers)
	case !utf8.Valid(line):
		return errors.New("the answer is not UTF-8; see what listens there")
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return malformed(err)
	}
	switch {
	case answer.ID == nil:
		return errors.New("the answer does not say to which request it is; see what listens there")
	case *answer.ID != id:
		return fmt.Errorf("the answer is to request %.40q, and %q was asked; see what listens there", *answer.ID, id)
	case answer.Error != nil && answer.Result != nil:
		return errors.New("the answer has a result and an error; see what listens there")
	case answer.Error != nil:
		return answer.Error
	case len(answer.Result) == 0 || answer.Result[0] != '{':
		return errors.New("the answer has neither a result nor an error; see what listens there")
	}
	if err := json.Unmarshal(answer.Result, out); err != nil {
		return malformed(err)
	}
	return nil
}

func malformed(err error) error {
	return fmt.Errorf("the answer is not one of a window's: %w; see what listens there", err)
}

// Texts refuses an answer to method in which a text is longer than is read.
func Texts(method string, all ...string) error {
	for _, text := range all {
		if len(text) > maxText {
			return fmt.Errorf("%s: a text has %d bytes, more than winnow reads (%d): %.40q", method, len(text), maxText, text)
		}
	}
	return nil
}
