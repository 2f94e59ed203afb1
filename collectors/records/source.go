package records

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"winnow/collectors"
)

// Kind is what sets one kind of records apart from another.
type Kind[T any] struct {
	// Name is the kind of the sources, and the key under collect in config.yaml.
	Name string
	// Forms are the formats that are read.
	Forms []Form[T]
	// Fields gives where a record keeps the name of its source and its path.
	Fields func(*T) (source, path *string)
	// Put lays the records into the part.
	Put func(*collectors.Part, []T)
}

// Form is one format in which records are written.
type Form[T any] struct {
	Name string
	// Read gives every record in the file at path that can be read, how many cannot be read whole, and the first error that
	// makes the file one that is not known whole.
	Read func(ctx context.Context, path string) (all []T, bad int, err error)
}

// File is a form that is read from a file's bytes at once, as Load gives them.
func File[T any](name string, parse func(data []byte, format string) (all []T, bad int, err error)) Form[T] {
	return Form[T]{name, func(ctx context.Context, path string) ([]T, int, error) {
		data, err := Load(ctx, path)
		if err != nil {
			return nil, 0, err
		}
		all, bad, err := parse(data, name)
		if err != nil {
			err = fmt.Errorf("read %s: %w", path, err)
		}
		return all, bad, err
	}}
}

// Source gives the source <kind>/<name> for the file at path, an absolute path. A format that is none of the kind's is an error.
func (k Kind[T]) Source(name, format, path string) (collectors.Source, error) {
	form := slices.IndexFunc(k.Forms, func(f Form[T]) bool { return f.Name == format })
	switch {
	case name == "":
		return collectors.Source{}, fmt.Errorf("configure %s: one of collect.%s has no name; give it one", k.Name, k.Name)
	case form < 0:
		return collectors.Source{}, fmt.Errorf("configure %s %s: this version does not read the format %q; it reads %s, see docs/input.md",
			k.Name, name, format, k.formats())
	case !filepath.IsAbs(path):
		return collectors.Source{}, fmt.Errorf("configure %s %s: the path %q is not absolute; begin it with / or ~", k.Name, name, path)
	}
	full := k.Name + "/" + name
	r := reader[T]{Kind: k, source: full, path: path, form: k.Forms[form]}
	return collectors.Source{Name: full, Kind: k.Name, Path: path, Format: format, Reader: r}, nil
}

// formats names the formats: "a, b and c".
func (k Kind[T]) formats() string {
	names := make([]string, len(k.Forms))
	for i, f := range k.Forms {
		names[i] = f.Name
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

type reader[T any] struct {
	Kind[T]
	source, path string
	form         Form[T]
}

// Read reads the whole file. One record that cannot be understood fails it, for it may be the one that says that something is
// in use or has an owner; the others are given nevertheless.
func (r reader[T]) Read(ctx context.Context) (collectors.Part, error) {
	all, bad, err := r.form.Read(ctx, r.path)
	p := collectors.Part{Unreadable: bad, Partial: err != nil && bad > 0}
	paths := NewReal()
	for i := range all {
		source, path := r.Fields(&all[i])
		*source = r.source
		if *path == "" {
			continue
		}
		var sure bool
		if *path, sure = paths.Path(*path); !sure {
			p.Unreadable++
		}
		p.Named = append(p.Named, *path)
	}
	slices.Sort(p.Named)
	p.Named = slices.Compact(p.Named)
	r.Put(&p, all)
	return p, err
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
