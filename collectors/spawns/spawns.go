// Package spawns reads ledgers of what an orchestrator started: in the normal form that docs/input.md describes, records of
// {path, spawned_at, completed_at} with an id, kind, label and session where there are any, and from Shepherd's store.
package spawns

import (
	"winnow/collectors"
	"winnow/collectors/records"
	"winnow/engine/snapshot"
)

// Kind is the kind of the sources that this package reads.
const Kind = "spawns"

// The formats: an object a line, one array, or Shepherd's SQLite file.
const (
	JSONL    = "jsonl"
	JSON     = "json"
	Shepherd = "shepherd"
)

// Source gives the source spawns/<name> for the file at path, an absolute path. A format that is not read is an error.
func Source(name, format, path string) (collectors.Source, error) {
	return records.Kind[snapshot.Spawn]{
		Name: Kind,
		Forms: []records.Form[snapshot.Spawn]{
			records.File(JSONL, Parse), records.File(JSON, Parse), {Name: Shepherd, Read: readShepherd},
		},
		Fields: func(s *snapshot.Spawn) (source, path *string) { return &s.Source, &s.Path },
		Put:    func(p *collectors.Part, all []snapshot.Spawn) { p.Spawns = all },
	}.Source(name, format, path)
}

// Parse reads a ledger in the format JSONL or JSON. It gives every spawn that can be read, in the order in which they first
// stand, how many records cannot be, and the first of their errors.
func Parse(data []byte, format string) (all []snapshot.Spawn, bad int, err error) {
	split := records.Array
	if format == JSONL {
		split = records.Lines
	}
	j := newJoin()
	bad, err = split(data, j.add)
	return j.all, bad, err
}
