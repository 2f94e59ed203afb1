package records

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// kapiFields are where Kapi keeps what its commands speak of. Its layout is not published, so all of them can be configured, and
// what is not here is not read unless it is.
var kapiFields = map[string]string{"id": "slug", "status": "status", "session": "session", "retained": "retention.retained"}

// The fields of a record of each kind, as people may configure them. Kapi's says by its status whether its owner has ended.
var (
	spawnFields = []string{"id", "kind", "path", "label", "session", "spawned_at", "completed_at"}
	entryFields = []string{"id", "status", "session", "retained", "path", "role", "started_at", "ended_at", "pid", "marker"}
)

// FieldNames are our names of the fields that may be called otherwise in a file of that kind and format; nil where none may.
func FieldNames(kind, format string) []string {
	switch {
	case format != JSON && format != JSONL && format != Kapi:
		return nil
	case kind == Spawns:
		return spawnFields
	case format == Kapi:
		return entryFields
	}
	return append(slices.Clone(entryFields), "terminal")
}

// mapping leads from our names of a record's fields to those of the file. One that lies in an object is named with a dot between the
// two: retention.retained. nil is no mapping: the file uses our names.
func mapping(kind, format string, fields map[string]string) (map[string]string, error) {
	names := FieldNames(kind, format)
	for _, our := range slices.Sorted(maps.Keys(fields)) {
		switch {
		case names == nil:
			return nil, fmt.Errorf("fields are for the formats %s, %s and %s, and this one is %s", JSON, JSONL, Kapi, format)
		case !slices.Contains(names, our):
			return nil, fmt.Errorf("there is no field %q; the fields are %s", our, strings.Join(names, ", "))
		case slices.Contains(strings.Split(fields[our], "."), ""):
			return nil, fmt.Errorf("the field %s is %q; write the name it has there, such as %s", our, fields[our], kapiFields["retained"])
		}
	}
	if format != Kapi && len(fields) == 0 {
		return nil, nil
	}
	theirs := map[string]string{}
	if format == Kapi {
		theirs = maps.Clone(kapiFields)
	} else {
		for _, name := range names {
			theirs[name] = name
		}
	}
	maps.Copy(theirs, fields)
	return theirs, nil
}

// mapped reads each record by read under our names.
func mapped(fields map[string]string, read Take) Take {
	if fields == nil {
		return read
	}
	return func(rec Record) error {
		ours := Record{Place: rec.Place, Key: rec.Key, Fields: map[string]json.RawMessage{}}
		for _, our := range slices.Sorted(maps.Keys(fields)) {
			raw, err := dotted(rec.Fields, fields[our])
			if err != nil {
				return err
			}
			if raw != nil {
				ours.Fields[our] = raw
			}
		}
		if err := read(ours); err != nil {
			return theirs(err, fields)
		}
		return nil
	}
}

// dotted gives what stands at a path of names with dots between them, nil where nothing does.
func dotted(fields map[string]json.RawMessage, path string) (json.RawMessage, error) {
	name, rest, deeper := strings.Cut(path, ".")
	raw := fields[name]
	if !deeper || raw == nil || string(raw) == "null" {
		return raw, nil
	}
	inner, err := Object(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	found, err := dotted(inner, rest)
	if err != nil {
		return nil, fmt.Errorf("%s.%w", name, err)
	}
	return found, nil
}

// theirs says in an error about a field, which begins with our name of it, what the file calls it.
func theirs(err error, fields map[string]string) error {
	for our, name := range fields {
		if rest, ok := strings.CutPrefix(err.Error(), our); ok && our != name && (strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, ":")) {
			return errors.New(name + rest)
		}
	}
	return err
}
