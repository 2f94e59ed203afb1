package records

import (
	"errors"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// slack is how far a completion may lie before its spawn: clocks are written down in whole seconds by some.
const slack = time.Second

// join brings together the records that speak of one spawn: the same id at the same path, or, without ids, the same path,
// session, label and time. What a later record says replaces what an earlier one says; what it leaves out stays, but for
// completed_at: a spawn is completed only when the last record about it says so.
type join struct {
	all    []snapshot.Record
	byKey  map[key]int
	latest map[string]int // by id: the latest spawn that a record without a path may mean
}

// key tells one spawn from another. Without an id, all that a record says of the start belongs to it.
type key struct {
	id, path, session, label string
	at                       int64
}

// add takes one record. A record that cannot be understood changes nothing.
func (j *join) add(rec Record) error {
	var err error
	s := snapshot.Record{
		ID: readField(&err, rec.Name, "id"), Path: readField(&err, rec.Path, "path"), Kind: readField(&err, rec.Text, "kind"), Label: readField(&err, rec.Text, "label"),
		Session: readField(&err, rec.Text, "session"), SpawnedAt: readField(&err, rec.Time, "spawned_at"), CompletedAt: readField(&err, rec.Time, "completed_at"),
	}
	if err != nil {
		return err
	}
	i, known := j.find(s)
	if !known {
		if s.Path == "" && s.Session == "" && s.Label == "" {
			return errors.New("it names neither a path nor a session nor a label, and no earlier record has its id")
		}
		if err := Full(len(j.all)); err != nil {
			return err
		}
		i = len(j.all)
		j.all = append(j.all, snapshot.Record{})
		j.byKey[keyOf(s)] = i
	}
	if s.ID != "" {
		j.latest[s.ID] = i
	}
	update(&j.all[i], s)
	return nil
}

func (j *join) find(s snapshot.Record) (int, bool) {
	if s.ID != "" && s.Path == "" {
		i, ok := j.latest[s.ID]
		return i, ok
	}
	i, ok := j.byKey[keyOf(s)]
	return i, ok
}

func keyOf(s snapshot.Record) key {
	if s.ID != "" {
		return key{id: s.ID, path: s.Path}
	}
	k := key{path: s.Path, session: s.Session, label: s.Label}
	if s.SpawnedAt != nil {
		k.at = s.SpawnedAt.UnixNano()
	}
	return k
}

// update writes what the later record says over the earlier.
func update(into *snapshot.Record, s snapshot.Record) {
	for _, f := range []struct{ to, from *string }{
		{&into.ID, &s.ID}, {&into.Kind, &s.Kind}, {&into.Path, &s.Path}, {&into.Label, &s.Label}, {&into.Session, &s.Session},
	} {
		if *f.from != "" {
			*f.to = *f.from
		}
	}
	if s.SpawnedAt != nil {
		into.SpawnedAt = s.SpawnedAt
	}
	into.CompletedAt = s.CompletedAt
	if into.CompletedAt != nil && into.SpawnedAt != nil && into.SpawnedAt.Sub(*into.CompletedAt) > slack {
		// Completed before it was spawned: that was another run, or one of the clocks is wrong. Neither says it has ended.
		into.CompletedAt = nil
	}
}
