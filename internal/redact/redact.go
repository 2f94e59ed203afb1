// Package redact makes a copy of a snapshot that can be shown to strangers, and that is decided like the original.
package redact

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// Snapshot is a copy of s in which names, paths, labels and values are replaced by stand-ins, and that says what of them was kept. The patterns of
// the configuration and of policies match in it what they match in s.
func (r *Redacter) Snapshot(s *snapshot.Snapshot) *snapshot.Snapshot {
	r.reset(s)
	out := r.copied(s, names)
	r.sightings(s, out)
	out.Redaction = &snapshot.Redaction{StandIns: len(r.made) - len(r.kept) - len(r.whole), Parts: maps.Clone(r.parts),
		Kept: sorted(r.kept), Whole: sorted(r.whole)}
	if r.keyed {
		out.Redaction.Key = KeyName(r.o.Key)
	}
	return out
}

// Secrets is a copy of s with its names, in which only the values of variables of the environment, and what records say of them, are replaced, and without
// command lines.
func (r *Redacter) Secrets(s *snapshot.Snapshot) *snapshot.Snapshot {
	r.reset(s)
	return r.copied(s, secrets)
}

// Config is a copy of c whose exceptions say neither why nor who. What they match is a pattern of the configuration, and stays.
func (r *Redacter) Config(c *subject.Config) *subject.Config {
	out := *c
	out.Exceptions = slices.Clone(c.Exceptions)
	for i := range out.Exceptions {
		e := &out.Exceptions[i]
		e.Why, e.Who, e.Tree, e.File = redacted, r.word(e.Who), r.path(e.Tree), r.path(e.File)
	}
	return &out
}

// reset begins a document: what a name needs depends on the projects that are in it.
func (r *Redacter) reset(s *snapshot.Snapshot) {
	r.shapes = patternsOf(r.o.Config, s.Projects, r.o.Literals, r.o.Own)
	r.kept, r.whole, r.parts = map[string]bool{}, map[string]bool{}, map[string]int{}
	clear(r.made)
}

// ID is the stand-in of the id of a candidate that is in the last snapshot.
func (r *Redacter) ID(id string) string { return r.id(id) }

// sightings gives the sightings of what is still the same thing the identity that it has in the copy; that of all others matches nothing.
func (r *Redacter) sightings(s, out *snapshot.Snapshot) {
	if len(s.Sightings) == 0 {
		return
	}
	config := r.o.Config
	if config == nil {
		config = &subject.Config{}
	}
	before, after := subject.Join(s, config), subject.Join(out, config)
	for id, v := range s.Sightings {
		if was := before.Identity(id).Key; was != "" && was == v.Identity {
			v.Identity = after.Identity(r.id(id)).Key
		} else {
			v.Identity = r.digest(v.Identity)
		}
		out.Sightings[r.id(id)] = v
	}
}

// copied is a copy of s in which the texts of a table are replaced.
func (r *Redacter) copied(s *snapshot.Snapshot, t *table) *snapshot.Snapshot {
	out := *s
	r.replace(reflect.ValueOf(&out).Elem(), t, step{})
	for _, p := range out.Processes {
		p.Argv = nil
	}
	return &out
}

// action gives what stands for a text.
type action func(r *Redacter, text string) string

// actions are those of the tables, by their names. hide leaves of a text only whether there is one, blank nothing, and drop not even that: without the glob
// over ids an entry keeps more;
// glob replaces of the parts between slashes those without a wildcard, which are names. What the others leave is said
// at the methods.
var actions = map[string]action{
	"word": (*Redacter).word, "path": (*Redacter).path, "id": (*Redacter).id,
	"source": (*Redacter).source, "value": (*Redacter).value, "digest": (*Redacter).digest,
	"drop":  func(*Redacter, string) string { return "" },
	"blank": func(*Redacter, string) string { return redacted },
	"hide": func(_ *Redacter, text string) string {
		if text == "" {
			return ""
		}
		return redacted
	},
	"glob": func(r *Redacter, text string) string {
		parts := strings.Split(text, "/")
		for i, part := range parts {
			if part != "~" && !wildcard(part) {
				parts[i] = r.word(part)
			}
		}
		return strings.Join(parts, "/")
	},
}

// redacted stands for a text that may name anything.
const redacted = "redacted"

// names are all texts of a snapshot that may name a person, a machine or a project, secrets those that hold values of variables of the environment. Tags of
// the fields in package snapshot say what is done with their texts, lists and maps of texts, known or unknown; keys before an action does it with the keys
// of a map.
var names, secrets = newTable("redact"), newTable("secret")

// step is what is done with a field: with its texts, and with the keys of a map.
type step struct {
	field     int
	text, key action
}

// table has the steps of each type, as a tag says them. Fields in which nothing is replaced have none.
type table struct {
	tag   string
	known map[reflect.Type][]step
}

func newTable(tag string) *table {
	t := &table{tag: tag, known: map[reflect.Type][]step{}}
	t.steps(reflect.TypeFor[snapshot.Snapshot]())
	return t
}

// steps are those of a struct, or of what a type leads to.
func (t *table) steps(of reflect.Type) []step {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return nil
	}
	if known, ok := t.known[of]; ok {
		return known
	}
	var all []step
	for i := range of.NumField() {
		f := of.Field(i)
		s := step{field: i}
		name, keys := strings.CutPrefix(f.Tag.Get(t.tag), "keys ")
		if keys {
			s.key = actions[name]
		} else {
			s.text = actions[name]
		}
		if name != "" && actions[name] == nil {
			panic(of.Name() + "." + f.Name + " has a tag that names no action: " + name) // it would not be replaced
		}
		if below := t.steps(f.Type); name != "" || len(below) > 0 {
			all = append(all, s)
		}
	}
	t.known[of] = all
	return all
}

// replace puts a changed copy of what v leads to in its place.
func (r *Redacter) replace(v reflect.Value, t *table, s step) {
	switch {
	case v.Kind() == reflect.String:
		if s.text != nil {
			v.SetString(s.text(r, v.String()))
		}
	case v.Kind() == reflect.Struct:
		for _, s := range t.known[v.Type()] {
			r.replace(v.Field(s.field), t, s)
		}
	case v.Kind() != reflect.Pointer && v.Kind() != reflect.Slice && v.Kind() != reflect.Map || v.IsNil():
	case v.Kind() == reflect.Pointer:
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(v.Elem())
		r.replace(out.Elem(), t, s)
		v.Set(out)
	case v.Kind() == reflect.Slice:
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(out, v)
		for i := range v.Len() {
			r.replace(out.Index(i), t, s)
		}
		v.Set(out)
	case v.Kind() == reflect.Map:
		out := reflect.MakeMapWithSize(v.Type(), v.Len())
		for at := v.MapRange(); at.Next(); {
			key, one := at.Key(), reflect.New(v.Type().Elem()).Elem()
			if s.key != nil {
				key = reflect.ValueOf(s.key(r, key.String())).Convert(v.Type().Key())
			}
			one.Set(at.Value())
			r.replace(one, t, s)
			out.SetMapIndex(key, one)
		}
		v.Set(out)
	}
}
