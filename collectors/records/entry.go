package records

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

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

// maxNumber is the most bytes that a number or a time takes up.
const maxNumber = 64

// readField gives what read finds under key. It keeps the first error of several readings in err, after which it reads nothing.
func readField[T any](err *error, read func(key string) (T, error), key string) (v T) {
	if *err == nil {
		v, *err = read(key)
	}
	return v
}

// known gives what stands under key, and false where nothing does or null.
func (r Record) known(key string) (json.RawMessage, bool) {
	raw, ok := r.Fields[key]
	return raw, ok && string(raw) != "null"
}

// Text gives the text under key, "" where it is missing.
func (r Record) Text(key string) (string, error) {
	raw, ok := r.known(key)
	if !ok {
		return "", nil
	}
	s, err := text(raw, maxText)
	if err == nil && strings.ContainsRune(s, 0) {
		err = errors.New("has a NUL in it")
	}
	if err != nil {
		return "", fmt.Errorf("%s %w", key, err)
	}
	return s, nil
}

// Name gives the text or the whole number under key as text, for ids are written as either.
func (r Record) Name(key string) (string, error) {
	if n, err := r.Int(key); err == nil && n != nil {
		return strconv.FormatInt(*n, 10), nil
	}
	s, err := r.Text(key)
	if errors.Is(err, errNoText) {
		return "", fmt.Errorf("%s is neither text nor a whole number", key)
	}
	return s, err
}

// Path gives the absolute path under key, cleaned, "" where it is missing. A relative one is an error: relative to what, the
// record does not say.
func (r Record) Path(key string) (string, error) {
	s, err := r.Text(key)
	if err != nil || s == "" {
		return "", err
	}
	if !filepath.IsAbs(s) {
		return "", fmt.Errorf("%s is not absolute; it must begin with /", key)
	}
	return filepath.Clean(s), nil
}

// Bool gives the truth value under key, nil where it is missing.
func (r Record) Bool(key string) (*bool, error) {
	raw, ok := r.known(key)
	if !ok {
		return nil, nil
	}
	var b bool
	if err := json.Unmarshal(raw, &b); err != nil {
		return nil, fmt.Errorf("%s is neither true nor false", key)
	}
	return &b, nil
}

// Int gives the whole number under key, nil where it is missing.
func (r Record) Int(key string) (*int64, error) {
	raw, ok := r.known(key)
	if !ok {
		return nil, nil
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || len(raw) > maxNumber {
		return nil, fmt.Errorf("%s is not a whole number", key)
	}
	return &n, nil
}

// Time gives the time under key in UTC, nil where it is missing or "". See ParseTime.
func (r Record) Time(key string) (*time.Time, error) {
	raw, ok := r.known(key)
	if !ok || string(raw) == `""` {
		return nil, nil
	}
	t, err := ParseTime(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return &t, nil
}

// The times that are believed: from the first ten-digit second (2001-09-09) until the last (2286-11-20). Within them a number
// of seconds and one of milliseconds cannot be taken for one another, and a "zero" time of some language is refused.
var (
	earliest = time.Unix(1e9, 0)
	latest   = time.Unix(1e10, 0)
)

// ParseTime reads RFC 3339 text with its zone, or a number: seconds since 1970 between 1e9 and 1e10, milliseconds between 1e12
// and 1e13, both may have a fraction. Everything else is an error, for it could mean two things.
func ParseTime(raw json.RawMessage) (time.Time, error) {
	if len(raw) > maxNumber*6 {
		return time.Time{}, errors.New("it is longer than any time")
	}
	var text string
	if err := json.Unmarshal(raw, &text); err == nil {
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return time.Time{}, errors.New("it is not an RFC 3339 time with a zone, such as 2026-01-31T18:00:00Z")
		}
		if t.Before(earliest) || !t.Before(latest) {
			return time.Time{}, errors.New("it lies before 2001 or after 2286; leave the field out where there is no time")
		}
		return t.UTC(), nil
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err != nil:
		return time.Time{}, errors.New("it is neither text nor a number")
	case n >= 1e9 && n < 1e10:
		return fromMicros(n * 1e6), nil
	case n >= 1e12 && n < 1e13:
		return fromMicros(n * 1e3), nil
	}
	return time.Time{}, errors.New("the number is neither seconds nor milliseconds since 1970 of any time from 2001 to 2286")
}

// fromMicros rounds to the microsecond: a float64 of today's seconds is no finer.
func fromMicros(us float64) time.Time { return time.UnixMicro(int64(us + 0.5)).UTC() }
