package records

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

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
