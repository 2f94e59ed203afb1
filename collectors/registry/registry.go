// Package registry reads records of who owns what, in the normal form that docs/input.md describes: entries of {id, status,
// path, session} with a role, times, and what ties them to processes.
package registry

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
const Kind = "registry"

// The formats: one document, or an object a line.
const (
	JSON  = "json"
	JSONL = "jsonl"
)

// Source gives the source registry/<name> for the file at path, an absolute path. Another format than JSON and JSONL is an error.
func Source(name, format, path string) (collectors.Source, error) {
	switch {
	case name == "":
		return collectors.Source{}, fmt.Errorf("configure registry: one of collect.registry has no name; give it one")
	case format != JSON && format != JSONL:
		return collectors.Source{}, fmt.Errorf("configure registry %s: this version does not read the format %q; it reads %s and %s, see docs/input.md",
			name, format, JSON, JSONL)
	case !filepath.IsAbs(path):
		return collectors.Source{}, fmt.Errorf("configure registry %s: the path %q is not absolute; begin it with / or ~", name, path)
	}
	full := Kind + "/" + name
	return collectors.Source{Name: full, Kind: Kind, Path: path, Format: format, Reader: file{source: full, format: format, path: path}}, nil
}

type file struct{ source, format, path string }

// Read reads the whole registry. One entry that cannot be understood fails it, for it may be the one that says that something
// has an owner; the others are given nevertheless.
func (f file) Read(ctx context.Context) (collectors.Part, error) {
	data, err := records.Load(ctx, f.path)
	if err != nil {
		return collectors.Part{}, err
	}
	all, bad, err := Parse(data, f.format)
	p := collectors.Part{Unreadable: bad, Partial: err != nil}
	paths := records.NewReal()
	for _, e := range all {
		e.Source = f.source
		if e.Path != "" {
			var sure bool
			if e.Path, sure = paths.Path(e.Path); !sure {
				p.Unreadable++
			}
			p.Named = append(p.Named, e.Path)
		}
		p.Registry = append(p.Registry, e)
	}
	slices.Sort(p.Named)
	p.Named = slices.Compact(p.Named)
	if err != nil {
		return p, fmt.Errorf("read %s: %w", f.path, err)
	}
	return p, nil
}

// Parse reads a registry in the given format. It gives every entry that can be read, sorted by id, how many records cannot be,
// and the first of their errors.
func Parse(data []byte, format string) (all []snapshot.Entry, bad int, err error) {
	var recs []records.Record
	if format == JSONL {
		recs, bad, err = records.Lines(data)
	} else {
		recs, bad, err = document(data)
	}
	s := newStates()
	for _, rec := range recs {
		if e := s.add(rec); e != nil {
			bad++
			if err == nil {
				err = fmt.Errorf("%s: %w", rec.Place, e)
			}
		}
	}
	return s.sorted(), bad, err
}
