package records

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// The kinds of sources that this package reads, each the key under collect in config.yaml: what was started, and who owns what.
const (
	Spawns   = "spawns"
	Registry = "registry"
)

// The formats: one document, an object a line, one document with Kapi's names, the SQLite files of three programs, and Claude Code's folder of jobs.
const (
	JSON         = "json"
	JSONL        = "jsonl"
	Kapi         = "kapi"
	Shepherd     = "shepherd"
	Codev        = "codev"
	Orchestrator = "agent-orchestrator"
	ClaudeJobs   = "claude-jobs"
)

// Options say how to read a source of records.
type Options struct {
	// Fields lead from our names of a record's fields to those of the file (FieldNames).
	Fields map[string]string
	// Over are the statuses that say that an owner has ended, for the formats Kapi, Shepherd, Codev and ClaudeJobs. Any other status, or a missing
	// one, means that it has not ended.
	Over []string
}

func (o Options) ended(status string) bool { return status != "" && slices.Contains(o.Over, status) }

// form is one format of one kind of records.
type form struct {
	kind, format string
	// read gives every record in the file at path that can be read, how many cannot be read whole, and the first error that makes the
	// file one that is not known whole.
	read func(ctx context.Context, path string, o Options) (all []snapshot.Record, bad int, err error)
}

// forms are all that is read. A new source of records is a line here.
var forms = []form{
	{Spawns, JSONL, file(parseSpawns(Lines))},
	{Spawns, JSON, file(parseSpawns(Array))},
	{Spawns, Shepherd, readReviewers},
	{Registry, JSON, file(parseEntries(document, entry))},
	{Registry, JSONL, file(parseEntries(Lines, entry))},
	{Registry, Shepherd, readSessions},
	{Registry, Kapi, file(parseEntries(document, worker))},
	{Registry, Codev, readCodev},
	{Registry, Orchestrator, readOrchestrator},
	{Registry, ClaudeJobs, readJobs},
}

// Source gives the source <kind>/<name> for the file at path, an absolute path. A format that is not read is an error.
func Source(kind, name, format, path string, o Options) (collectors.Source, error) {
	all := slices.DeleteFunc(slices.Clone(forms), func(f form) bool { return f.kind != kind })
	at := slices.IndexFunc(all, func(f form) bool { return f.format == format })
	switch {
	case name == "":
		return collectors.Source{}, fmt.Errorf("configure %s: one of collect.%s has no name; give it one", kind, kind)
	case at < 0:
		return collectors.Source{}, fmt.Errorf("configure %s %s: this version does not read the format %q; it reads %s, see docs/reference/documents.md",
			kind, name, format, formats(all))
	case !filepath.IsAbs(path):
		return collectors.Source{}, fmt.Errorf("configure %s %s: the path %q is not absolute; begin it with / or ~", kind, name, path)
	}
	fields, err := mapping(kind, format, o.Fields)
	if err != nil {
		return collectors.Source{}, fmt.Errorf("configure %s %s: %w", kind, name, err)
	}
	o.Fields = fields
	full := kind + "/" + name
	return collectors.Source{Name: full, Kind: kind, Path: path, Format: format, Reader: reader{all[at], full, path, o}}, nil
}

// formats names the formats: "a, b and c".
func formats(all []form) string {
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = f.format
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

type reader struct {
	form
	source, path string
	options      Options
}

// Read reads the whole file. One record that cannot be understood fails it, for it may be the one that says that something is
// in use or has an owner; the others are given nevertheless.
func (r reader) Read(ctx context.Context) (collectors.Part, error) {
	all, bad, err := r.read(ctx, r.path, r.options)
	p := collectors.Part{Unreadable: bad, Partial: err != nil && bad > 0}
	paths := NewReal()
	for i := range all {
		rec := &all[i]
		rec.Source = r.source
		if r.kind == Registry {
			rec.Endless = new(rec.EndedAt == nil)
		}
		if rec.Path == "" {
			continue
		}
		var sure bool
		if rec.Path, sure = paths.Path(rec.Path); !sure {
			p.Unreadable++
		}
		p.Named = append(p.Named, rec.Path)
	}
	slices.Sort(p.Named)
	p.Named = slices.Compact(p.Named)
	if r.kind == Spawns {
		p.Spawns = all
	} else {
		p.Registry = all
	}
	return p, err
}

// parse reads the records in a file's bytes: every one that can be read, how many cannot be, and the first of their errors.
type parse func(data []byte, o Options) (all []snapshot.Record, bad int, err error)

// splitter finds the records in a file's bytes and gives each to take.
type splitter func(data []byte, take Take) (bad int, err error)

func file(read parse) func(context.Context, string, Options) ([]snapshot.Record, int, error) {
	return func(ctx context.Context, path string, o Options) ([]snapshot.Record, int, error) {
		data, err := Load(ctx, path)
		if err != nil {
			return nil, 0, err
		}
		all, bad, err := read(data, o)
		if err != nil {
			err = fmt.Errorf("read %s: %w", path, err)
		}
		return all, bad, err
	}
}

// parseSpawns gives the spawns in the order in which they first stand.
func parseSpawns(split splitter) parse {
	return func(data []byte, o Options) ([]snapshot.Record, int, error) {
		j := &join{byKey: map[key]int{}, latest: map[string]int{}}
		bad, err := split(data, mapped(o.Fields, j.add))
		return j.all, bad, err
	}
}

// parseEntries gives the entries sorted by id, each read by one.
func parseEntries(split splitter, one func(Record, Options) (snapshot.Record, error)) parse {
	return func(data []byte, o Options) ([]snapshot.Record, int, error) {
		s := newStates()
		bad, err := split(data, mapped(o.Fields, func(rec Record) error {
			e, err := one(rec, o)
			if err != nil {
				return err
			}
			return s.add(e)
		}))
		return s.sorted(), bad, err
	}
}

// Bad counts the records that cannot be read whole, and keeps the first error.
type Bad struct {
	Count int
	Err   error
}

// Add takes a record that failed, with where it stands.
func (b *Bad) Add(place string, err error) {
	b.Count++
	if b.Err == nil {
		b.Err = fmt.Errorf("%s: %w", place, err)
	}
}

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

// object is Object with so many keys at most: a document that holds records by their keys has more.
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
