package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// The most that is read. A larger file was not written for this, and reading it whole could use up the memory.
const (
	maxRecords = 1 << 20
	maxKeys    = 1 << 10
	maxName    = 1 << 10
	maxText    = 64 << 10
)

// MaxKept is how many entries or spawns are kept of one file. A log may have many more records, of which several speak of one.
const MaxKept = 1 << 17

var errEnds = errors.New("it ends before the object does")

// errMany says that a file has more than so many of something.
func errMany(most int) error {
	return fmt.Errorf("it has more than %d records; let its owner drop what has long completed", most)
}

// Full is an error where so many entries or spawns are as many as are kept of one file.
func Full(kept int) error {
	if kept < MaxKept {
		return nil
	}
	return errMany(MaxKept)
}

// Record is one JSON object of a file.
type Record struct {
	// Place says where it stands, for messages: "line 7", "record 3", "record \"build-1\"".
	Place string
	// Key is the key under which it stands where the document is an object of records.
	Key string
	// Fields are what stands under each key. They are parts of the file's bytes.
	Fields map[string]json.RawMessage
}

// Take is given each record that could be read, and says whether it can be understood.
type Take func(Record) error

// Lines splits JSON Lines: one object a line, empty lines passed over. It gives every record that can be read to take, and says how
// many could not be read or taken, and the first error with its line.
//
// A file that is being appended to may end in the middle of a line, and what the missing half says is not known: a last line
// that is neither ended nor a whole object is an error like any other.
func Lines(data []byte, take Take) (bad int, err error) {
	var failed Bad
	for n, count := 1, 0; len(data) > 0; n++ {
		line, rest, ended := bytes.Cut(data, []byte{'\n'})
		data = rest
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		place := fmt.Sprintf("line %d", n)
		if count++; count > maxRecords {
			failed.Add(place, errMany(maxRecords))
			break
		}
		fields, e := Object(line)
		switch {
		case e == nil:
			e = take(Record{Place: place, Fields: fields})
		case !ended:
			e = fmt.Errorf("the last line is half-written: %w; a later look may find it whole", e)
		}
		if e != nil {
			failed.Add(place, e)
		}
	}
	return failed.Count, failed.Err
}

// Array splits a JSON array of objects. It gives every record that can be read to take, and says how many could not be read or
// taken, and the first error.
func Array(data []byte, take Take) (bad int, err error) {
	data = bytes.TrimSpace(data)
	if err := valid(data); err != nil {
		return 1, fmt.Errorf("read array: %w", err)
	}
	if data[0] != '[' {
		return 1, errors.New("read array: it is not an array; an empty list is []")
	}
	var failed Bad
	n := 0
	for _, raw := range parts(data) {
		n++
		place := fmt.Sprintf("record %d", n)
		if n > maxRecords {
			failed.Add(place, errMany(maxRecords))
			break
		}
		failed.take(Record{Place: place}, raw, take)
	}
	return failed.Count, failed.Err
}

// ByKey splits a JSON object of objects, in the order of their keys. It says what Array says.
func ByKey(fields map[string]json.RawMessage, take Take) (bad int, err error) {
	var failed Bad
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		failed.take(Record{Place: fmt.Sprintf("record %q", key), Key: key}, fields[key], take)
	}
	return failed.Count, failed.Err
}

// take gives rec with the fields in raw to take, or counts it as bad.
func (b *Bad) take(rec Record, raw json.RawMessage, take Take) {
	var err error
	if rec.Fields, err = split(raw, maxKeys); err == nil {
		err = take(rec)
	}
	if err != nil {
		b.Add(rec.Place, err)
	}
}

// Object reads one JSON object with nothing after it. Its keys are taken as written, and one that stands twice is an error:
// which of the two is meant is not known. One with more than 1024 keys is an error too: no record has as many.
func Object(data []byte) (map[string]json.RawMessage, error) { return object(data, maxKeys) }

// Document is Object for one that holds records by their keys, of which there are more.
func Document(data []byte) (map[string]json.RawMessage, error) { return object(data, MaxKept) }

func object(data []byte, most int) (map[string]json.RawMessage, error) {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && bytes.IndexByte([]byte("[\"-0123456789tfn"), data[0]) >= 0 {
		return nil, errNoObject
	}
	if err := valid(data); err != nil {
		return nil, err
	}
	return split(data, most)
}

var errNoObject = errors.New("it is not an object: { ... }")

// split gives what stands under each key of an object in valid JSON.
func split(data []byte, most int) (map[string]json.RawMessage, error) {
	if len(data) == 0 || data[0] != '{' {
		return nil, errNoObject
	}
	fields := map[string]json.RawMessage{}
	for key, raw := range parts(data) {
		name, err := text(key, maxName)
		if err != nil {
			return nil, fmt.Errorf("a key %w", err)
		}
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("key %q stands twice", name)
		}
		if len(fields) == most {
			return nil, fmt.Errorf("it has more than %d keys", most)
		}
		fields[name] = raw
	}
	return fields, nil
}
