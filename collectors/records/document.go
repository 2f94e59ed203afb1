package records

import (
	"bytes"
	"fmt"
	"strings"
)

// lists are the keys under which a document may hold its entries.
var lists = []string{"entries", "sessions", "workers"}

// document splits a JSON document into its records and gives each to take. It is an array of them, an object that holds an array
// or an object of them under one of lists, or an object of them by id.
func document(data []byte, take Take) (bad int, err error) {
	data = bytes.TrimSpace(data)
	if bytes.HasPrefix(data, []byte{'['}) {
		return Array(data, take)
	}
	fields, err := Document(data)
	if err != nil {
		return 1, err
	}
	var held []string
	for _, name := range lists {
		if _, ok := fields[name]; ok {
			held = append(held, name)
		}
	}
	switch len(held) {
	case 0:
		return ByKey(fields, take)
	case 1:
	default:
		return 1, fmt.Errorf("it has lists under %s, and does not say which one is meant; keep one", strings.Join(held, " and "))
	}
	list := bytes.TrimSpace(fields[held[0]])
	if bytes.HasPrefix(list, []byte{'['}) {
		return Array(list, take)
	}
	inner, err := Document(list)
	if err != nil {
		return 1, fmt.Errorf("%s: %w", held[0], err)
	}
	return ByKey(inner, take)
}
