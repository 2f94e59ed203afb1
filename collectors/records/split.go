package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// Record is one JSON object of a file.
type Record struct {
	// Place says where it stands, for messages: "line 7", "record 3", "record \"build-1\"".
	Place string
	// Key is the key under which it stands where the document is an object of records.
	Key    string
	Fields map[string]json.RawMessage
}

// Lines splits JSON Lines: one object a line, empty lines passed over. It gives every record that can be read, how many
// cannot be, and the first error with its line.
//
// A file that is being appended to may end in the middle of a line, and what the missing half says is not known: a last line
// that is neither ended nor a whole object is an error like any other.
func Lines(data []byte) (all []Record, bad int, err error) {
	for n := 1; len(data) > 0; n++ {
		line, rest, ended := bytes.Cut(data, []byte{'\n'})
		data = rest
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		fields, e := Object(line)
		if e == nil {
			all = append(all, Record{Place: fmt.Sprintf("line %d", n), Fields: fields})
			continue
		}
		bad++
		if !ended {
			e = fmt.Errorf("the last line is half-written: %w; a later look may find it whole", e)
		}
		if err == nil {
			err = fmt.Errorf("line %d: %w", n, e)
		}
	}
	return all, bad, err
}

// Array splits a JSON array of objects. It gives every record that can be read, how many cannot be, and the first error.
func Array(data []byte) (all []Record, bad int, err error) {
	var raws []json.RawMessage
	if err := json.Unmarshal(data, &raws); err != nil {
		return nil, 1, fmt.Errorf("read array: %w", err)
	}
	if raws == nil {
		return nil, 1, errors.New("read array: it says null; an empty list is []")
	}
	for i, raw := range raws {
		rec := Record{Place: fmt.Sprintf("record %d", i+1)}
		all, bad, err = appended(all, bad, err, rec, raw)
	}
	return all, bad, err
}

// ByKey splits a JSON object of objects, in the order of their keys. It gives what Array gives.
func ByKey(fields map[string]json.RawMessage) (all []Record, bad int, err error) {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		rec := Record{Place: fmt.Sprintf("record %q", key), Key: key}
		all, bad, err = appended(all, bad, err, rec, fields[key])
	}
	return all, bad, err
}

// appended adds rec with the fields in raw, or counts it as bad; the first error is kept.
func appended(all []Record, bad int, first error, rec Record, raw json.RawMessage) ([]Record, int, error) {
	fields, err := Object(raw)
	if err == nil {
		rec.Fields = fields
		return append(all, rec), bad, first
	}
	if first == nil {
		first = fmt.Errorf("%s: %w", rec.Place, err)
	}
	return all, bad + 1, first
}

// Object reads one JSON object with nothing after it. Its keys are taken as written, and one that stands twice is an error:
// which of the two is meant, nobody can say.
func Object(data []byte) (map[string]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	start, err := dec.Token()
	if err != nil {
		return nil, noEOF(err)
	}
	if start != json.Delim('{') {
		return nil, errors.New("it is not an object: { ... }")
	}
	fields := map[string]json.RawMessage{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, noEOF(err)
		}
		name, ok := key.(string)
		if !ok {
			return nil, errors.New("a key is not text")
		}
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("key %q stands twice", name)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, noEOF(err)
		}
		fields[name] = raw
	}
	if _, err := dec.Token(); err != nil {
		return nil, noEOF(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("something follows the object")
	}
	return fields, nil
}

// noEOF makes an end of input what it is here: an object without an end.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends before the object does")
	}
	return err
}
