package records

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// states gathers entries. A registry is a state, not a log: two records of one id that differ in what they say of its owner
// cannot both be true, and neither is believed.
type states struct {
	all  []snapshot.Record
	byID map[string][]int // the entries of an id, the first one first
}

func newStates() *states { return &states{byID: map[string][]int{}} }

// maxSame is how many entries that differ one id may have. Each more is compared with all of them.
const maxSame = 256

func (s *states) add(e snapshot.Record) error {
	same := s.byID[e.ID]
	if slices.ContainsFunc(same, func(i int) bool { return reflect.DeepEqual(s.all[i], e) }) {
		return nil
	}
	if len(same) == maxSame {
		return fmt.Errorf("the registry has more than %d records of %q; keep one record an id", maxSame, e.ID)
	}
	if err := Full(len(s.all)); err != nil {
		return err
	}
	s.byID[e.ID] = append(same, len(s.all))
	s.all = append(s.all, e)
	if len(same) == 0 {
		return nil
	}
	if f := s.all[same[0]]; f.Status != e.Status || !reflect.DeepEqual(f.Terminal, e.Terminal) || !reflect.DeepEqual(f.Retained, e.Retained) {
		return fmt.Errorf("the registry contradicts itself about %q: status %q and status %q; keep one record an id", e.ID, f.Status, e.Status)
	}
	return nil
}

func (s *states) sorted() []snapshot.Record {
	slices.SortStableFunc(s.all, func(a, b snapshot.Record) int { return cmp.Compare(a.ID, b.ID) })
	return s.all
}

// entry reads one record. Its status is lower-cased, for the configured words are compared letter by letter. In these formats the path is
// the folder that the owner owns, and no other.
func entry(rec Record, _ Options) (e snapshot.Record, err error) {
	id := readField(&err, rec.Name, "id")
	switch {
	case err != nil:
		return e, err
	case id != "" && rec.Key != "" && id != rec.Key:
		return e, fmt.Errorf("its key is %q and its id is %q", rec.Key, id)
	case id == "" && rec.Key == "":
		return e, errors.New("it has no id")
	}
	e = snapshot.Record{
		ID: cmp.Or(id, rec.Key), Path: readField(&err, rec.Path, "path"), Status: status(readField(&err, rec.Text, "status")),
		Session: readField(&err, rec.Text, "session"), Role: readField(&err, rec.Text, "role"), Marker: readField(&err, rec.Text, "marker"),
		StartedAt: readField(&err, rec.Time, "started_at"), EndedAt: readField(&err, rec.Time, "ended_at"),
		Terminal: readField(&err, rec.Bool, "terminal"), Retained: readField(&err, rec.Bool, "retained"),
	}
	if e.Path != "" {
		e.Own = new(true)
	}
	pid := readField(&err, rec.Int, "pid")
	if err != nil || pid == nil {
		return e, err
	}
	if *pid < 1 || *pid > math.MaxInt32 {
		return e, fmt.Errorf("pid %d is not a valid process id", *pid)
	}
	e.PID = new(int(*pid))
	return e, nil
}

// status is a status as the configured words spell it.
func status(text string) string { return strings.ToLower(strings.TrimSpace(text)) }

// worker reads one record of Kapi's. Whether its owner has ended its status always says, by the words of o.
func worker(rec Record, o Options) (snapshot.Record, error) {
	e, err := entry(rec, o)
	e.Terminal = new(o.ended(e.Status))
	return e, err
}
