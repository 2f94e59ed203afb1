// Package spawns reads ledgers of what an orchestrator started, in the normal form that docs/input.md describes: records of
// {path, spawned_at, completed_at} with an id, kind, label and session where there are any.
package spawns

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"winnow/collectors"
	"winnow/collectors/records"
	"winnow/engine/snapshot"
)

// Kind is the kind of the sources that this package reads.
const Kind = "spawns"

// The formats: an object a line, or one array.
const (
	JSONL = "jsonl"
	JSON  = "json"
)

// Source gives the source spawns/<name> for the file at path, an absolute path. Another format than JSONL and JSON is an error.
func Source(name, format, path string) (collectors.Source, error) {
	switch {
	case name == "":
		return collectors.Source{}, fmt.Errorf("configure spawns: one of collect.spawns has no name; give it one")
	case format != JSONL && format != JSON:
		return collectors.Source{}, fmt.Errorf("configure spawns %s: this version does not read the format %q; it reads %s and %s, see docs/input.md",
			name, format, JSONL, JSON)
	case !filepath.IsAbs(path):
		return collectors.Source{}, fmt.Errorf("configure spawns %s: the path %q is not absolute; begin it with / or ~", name, path)
	}
	full := Kind + "/" + name
	return collectors.Source{Name: full, Kind: Kind, Path: path, Format: format, Reader: file{source: full, format: format, path: path}}, nil
}

type file struct{ source, format, path string }

// Read reads the whole ledger. One record that cannot be understood fails it, for it may be the one that says that something
// is still in use; the others are given nevertheless.
func (f file) Read(ctx context.Context) (collectors.Part, error) {
	data, err := records.Load(ctx, f.path)
	if err != nil {
		return collectors.Part{}, err
	}
	all, bad, err := Parse(data, f.format)
	p := collectors.Part{Unreadable: bad, Partial: err != nil}
	paths := records.NewReal()
	for _, s := range all {
		s.Source = f.source
		if s.Path != "" {
			var sure bool
			if s.Path, sure = paths.Path(s.Path); !sure {
				p.Unreadable++
			}
			p.Named = append(p.Named, s.Path)
		}
		p.Spawns = append(p.Spawns, s)
	}
	slices.Sort(p.Named)
	p.Named = slices.Compact(p.Named)
	if err != nil {
		return p, fmt.Errorf("read %s: %w", f.path, err)
	}
	return p, nil
}

// Parse reads a ledger in the given format. It gives every spawn that can be read, in the order in which they first stand, how
// many records cannot be, and the first of their errors.
func Parse(data []byte, format string) (all []snapshot.Spawn, bad int, err error) {
	var recs []records.Record
	if format == JSONL {
		recs, bad, err = records.Lines(data)
	} else {
		recs, bad, err = records.Array(data)
	}
	j := newJoin()
	for _, rec := range recs {
		if e := j.add(rec); e != nil {
			bad++
			if err == nil {
				err = fmt.Errorf("%s: %w", rec.Place, e)
			}
		}
	}
	return j.all, bad, err
}
