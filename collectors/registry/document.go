package registry

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"winnow/collectors/records"
)

// lists are the keys under which a document may hold its entries.
var lists = []string{"entries", "sessions", "workers"}

// document splits a JSON document into its records. It is an array of them, an object that holds an array or an object of them
// under one of lists, or an object of them by id.
func document(data []byte) ([]records.Record, error) {
	data = bytes.TrimSpace(data)
	if bytes.HasPrefix(data, []byte{'['}) {
		return records.Array(data)
	}
	fields, err := records.Object(data)
	if err != nil {
		return nil, err
	}
	var held []string
	for _, name := range lists {
		if _, ok := fields[name]; ok {
			held = append(held, name)
		}
	}
	switch len(held) {
	case 0:
		return inOrder(records.ByKey(fields))
	case 1:
	default:
		return nil, fmt.Errorf("it has lists under %s, and which of them is meant it does not say; keep one", strings.Join(held, " and "))
	}
	list := bytes.TrimSpace(fields[held[0]])
	if bytes.HasPrefix(list, []byte{'['}) {
		return records.Array(list)
	}
	inner, err := records.Object(list)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", held[0], err)
	}
	return inOrder(records.ByKey(inner))
}

// inOrder sorts by key, so that the same file always gives the same first error.
func inOrder(all []records.Record, err error) ([]records.Record, error) {
	slices.SortFunc(all, func(a, b records.Record) int { return cmp.Compare(a.Key, b.Key) })
	return all, err
}
