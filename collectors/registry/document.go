package registry

import (
	"bytes"
	"fmt"
	"strings"

	"winnow/collectors/records"
)

// lists are the keys under which a document may hold its entries.
var lists = []string{"entries", "sessions", "workers"}

// document splits a JSON document into its records. It is an array of them, an object that holds an array or an object of them
// under one of lists, or an object of them by id.
func document(data []byte) (all []records.Record, bad int, err error) {
	data = bytes.TrimSpace(data)
	if bytes.HasPrefix(data, []byte{'['}) {
		return records.Array(data)
	}
	fields, err := records.Object(data)
	if err != nil {
		return nil, 1, err
	}
	var held []string
	for _, name := range lists {
		if _, ok := fields[name]; ok {
			held = append(held, name)
		}
	}
	switch len(held) {
	case 0:
		return records.ByKey(fields)
	case 1:
	default:
		return nil, 1, fmt.Errorf("it has lists under %s, and which of them is meant it does not say; keep one", strings.Join(held, " and "))
	}
	list := bytes.TrimSpace(fields[held[0]])
	if bytes.HasPrefix(list, []byte{'['}) {
		return records.Array(list)
	}
	inner, err := records.Object(list)
	if err != nil {
		return nil, 1, fmt.Errorf("%s: %w", held[0], err)
	}
	return records.ByKey(inner)
}
