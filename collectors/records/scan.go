package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// nothing is read into where only the form of a document matters: no copy of it is made.
type nothing struct{}

func (nothing) UnmarshalJSON([]byte) error { return nil }

// valid says what is wrong with the form of a document. encoding/json refuses one that is nested deeper than 10000.
func valid(data []byte) error {
	err := json.Unmarshal(data, &nothing{})
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "unexpected end"):
		return errEnds
	case strings.Contains(err.Error(), "after top-level value"):
		return errors.New("something follows the object")
	}
	return err
}

// parts gives the elements of an array, or the keys and values of an object, as parts of data. data is valid JSON with nothing
// around it. It keeps nothing, however deep the elements are.
func parts(data []byte) iter.Seq2[[]byte, json.RawMessage] {
	return func(yield func([]byte, json.RawMessage) bool) {
		inObject := data[0] == '{'
		rest := data[1 : len(data)-1]
		for {
			rest = bytes.TrimLeft(rest, " \t\r\n,")
			if len(rest) == 0 {
				return
			}
			var key []byte
			if inObject {
				n := end(rest)
				key = rest[:n]
				rest = bytes.TrimLeft(rest[n:], " \t\r\n:")
			}
			n := end(rest)
			if !yield(key, json.RawMessage(rest[:n:n])) {
				return
			}
			rest = rest[n:]
		}
	}
}

// end is where the value ends that valid JSON begins with.
func end(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = quoted(data, i)
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth > 0 {
				continue
			}
			if n := bytes.IndexAny(data[i:], " \t\r\n,]}"); n >= 0 { // a number, true, false or null
				return i + n
			}
			return len(data)
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(data)
}

// quoted is where the text ends that begins at i: at its last quote.
func quoted(data []byte, i int) int {
	for i++; i < len(data) && data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i
}

// text reads a JSON text of at most so many bytes.
func text(raw []byte, most int) (string, error) {
	if len(raw) > 2+6*most { // an escape is six bytes at most
		return "", fmt.Errorf("is longer than %d bytes", most)
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", errNoText
	}
	if len(s) > most {
		return "", fmt.Errorf("is longer than %d bytes", most)
	}
	return s, nil
}

var errNoText = errors.New("is not text")
