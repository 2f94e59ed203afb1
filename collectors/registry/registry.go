// Package registry reads records of who owns what: in the normal form that docs/input.md describes, entries of {id, status,
// path, session} with a role, times, and what ties them to processes, in Kapi's with other names, and from the stores of
// Shepherd and Codev.
package registry

import (
	"winnow/collectors"
	"winnow/collectors/records"
	"winnow/engine/snapshot"
)

// Kind is the kind of the sources that this package reads.
const Kind = "registry"

// The formats: one document, an object a line, the SQLite files of Shepherd and Codev, or one document with Kapi's names.
const (
	JSON     = "json"
	JSONL    = "jsonl"
	Shepherd = "shepherd"
	Kapi     = "kapi"
	Codev    = "codev"
)

// Source gives the source registry/<name> for the file at path, an absolute path. A format that is not read is an error.
func Source(name, format, path string) (collectors.Source, error) {
	return Mapped(name, format, path, nil)
}

func kind(fields map[string]string) records.Kind[snapshot.Entry] {
	return records.Kind[snapshot.Entry]{
		Name: Kind,
		Forms: []records.Form[snapshot.Entry]{
			records.File(JSON, Parse), records.File(JSONL, Parse), {Name: Shepherd, Read: readShepherd},
			records.File(Kapi, parseKapi(fields)), {Name: Codev, Read: readCodev},
		},
		Fields: func(e *snapshot.Entry) (source, path *string) { return &e.Source, &e.Path },
		Put:    func(p *collectors.Part, all []snapshot.Entry) { p.Registry = all },
	}
}

// Parse reads a registry in the format JSON or JSONL. It gives every entry that can be read, sorted by id, how many records
// cannot be, and the first of their errors.
func Parse(data []byte, format string) (all []snapshot.Entry, bad int, err error) {
	split := document
	if format == JSONL {
		split = records.Lines
	}
	return parse(data, split, entry)
}

// parse reads each record that split finds by read.
func parse(data []byte, split func([]byte, records.Take) (int, error), read func(records.Record) (snapshot.Entry, error)) (all []snapshot.Entry, bad int, err error) {
	s := newStates()
	bad, err = split(data, func(rec records.Record) error {
		e, err := read(rec)
		if err != nil {
			return err
		}
		return s.add(e)
	})
	return s.sorted(), bad, err
}
