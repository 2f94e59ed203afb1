// Package redact makes a copy of a snapshot that can be shown to strangers, and that is decided like the original.
package redact

import (
	"reflect"
	"slices"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// Snapshot is a copy of s in which names, paths, labels and values are replaced by stand-ins, and that says what of them was kept. The patterns of
// the configuration and of policies match in it what they match in s.
func (r *Redacter) Snapshot(s *snapshot.Snapshot) *snapshot.Snapshot {
	r.reset(s)
	out := r.copied(s, names)
	r.sightings(s, out)
	out.Redaction = r.header()
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

// Begin does what Snapshot does before it copies: ID then gives the stand-ins of a copy of s, or of what s is a copy of.
func (r *Redacter) Begin(s *snapshot.Snapshot) { r.reset(s) }

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
