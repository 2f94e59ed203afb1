package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"winnow/collectors"
	"winnow/collectors/records"
	"winnow/engine/snapshot"
)

// Names are the fields that a registry in the format Kapi may call otherwise.
var Names = []string{"id", "status", "session", "retained", "path", "role", "started_at", "ended_at", "pid", "marker"}

// kapiFields are where Kapi keeps what its commands speak of. Its layout is not published, so all of them can be configured, and
// what is not here is not read unless it is.
var kapiFields = map[string]string{"id": "slug", "status": "status", "session": "session", "retained": "retention.retained"}

// over are Kapi's words for a worker that is over; every other one, and none, is of one that is not.
var over = []string{"completed", "failed", "cancelled"}

// Mapped is Source with fields, which lead from our names of a record's fields to those of the file. One that lies in an object
// is named with a dot between the two: retention.retained. Only the format Kapi has any.
func Mapped(name, format, path string, fields map[string]string) (collectors.Source, error) {
	for _, our := range slices.Sorted(maps.Keys(fields)) {
		switch {
		case format != Kapi:
			return collectors.Source{}, fmt.Errorf("configure %s %s: fields are for the format %s, and this one is %s", Kind, name, Kapi, format)
		case !slices.Contains(Names, our):
			return collectors.Source{}, fmt.Errorf("configure %s %s: there is no field %q; the fields are %s", Kind, name, our, strings.Join(Names, ", "))
		case slices.Contains(strings.Split(fields[our], "."), ""):
			return collectors.Source{}, fmt.Errorf("configure %s %s: the field %s is %q; write the name it has there, such as %s",
				Kind, name, our, fields[our], kapiFields["retained"])
		}
	}
	theirs := maps.Clone(kapiFields)
	maps.Copy(theirs, fields)
	return kind(theirs).Source(name, format, path)
}

// parseKapi gives the reader of a document whose fields are called as fields says.
func parseKapi(fields map[string]string) func([]byte, string) ([]snapshot.Entry, int, error) {
	return func(data []byte, _ string) ([]snapshot.Entry, int, error) {
		return parse(data, document, func(rec records.Record) (snapshot.Entry, error) { return kapi(rec, fields) })
	}
}

// kapi reads a record whose fields are called otherwise. Whether its owner is over it always says outright.
func kapi(rec records.Record, fields map[string]string) (snapshot.Entry, error) {
	ours := records.Record{Place: rec.Place, Key: rec.Key, Fields: map[string]json.RawMessage{}}
	for _, our := range slices.Sorted(maps.Keys(fields)) {
		raw, err := dotted(rec.Fields, fields[our])
		if err != nil {
			return snapshot.Entry{}, err
		}
		if raw != nil {
			ours.Fields[our] = raw
		}
	}
	e, err := entry(ours)
	if err != nil {
		return e, theirs(err, fields)
	}
	e.Terminal = new(slices.Contains(over, e.Status))
	return e, nil
}

// dotted gives what stands at a path of names with dots between them, nil where nothing does.
func dotted(fields map[string]json.RawMessage, path string) (json.RawMessage, error) {
	name, rest, deeper := strings.Cut(path, ".")
	raw := fields[name]
	if !deeper || raw == nil || string(raw) == "null" {
		return raw, nil
	}
	inner, err := records.Object(raw)
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
