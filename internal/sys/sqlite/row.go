package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"
)

// Row is one row of a table. SQLite lets any column hold any type, so every value is asked for its own.
type Row struct {
	at     map[string]int
	values []driver.Value
}

var errNotAsked = errors.New("was not asked for; this is a fault in winnow: please report it")

func (r Row) value(column string) (driver.Value, error) {
	i, ok := r.at[column]
	if !ok {
		return nil, fmt.Errorf("%s %w", column, errNotAsked)
	}
	return r.values[i], nil
}

// Null reports whether a column positively holds nothing.
func (r Row) Null(column string) bool {
	v, err := r.value(column)
	return err == nil && v == nil
}

// Text gives the text in a column, "" for NULL.
func (r Row) Text(column string) (string, error) {
	v, err := r.value(column)
	if v == nil {
		return "", err
	}
	s, ok := v.(string)
	switch {
	case !ok:
		return "", fmt.Errorf("%s is not text", column)
	case strings.ContainsRune(s, 0):
		return "", fmt.Errorf("%s has a NUL in it", column)
	case !utf8.ValidString(s):
		return "", fmt.Errorf("%s is not UTF-8", column)
	}
	return s, nil
}

// Path gives the absolute path in a column, cleaned, "" for NULL. A relative one is an error.
func (r Row) Path(column string) (string, error) {
	s, err := r.Text(column)
	if err != nil || s == "" {
		return "", err
	}
	if !filepath.IsAbs(s) {
		return "", fmt.Errorf("%s is not absolute", column)
	}
	return filepath.Clean(s), nil
}

// Int gives the whole number in a column, nil for NULL.
func (r Row) Int(column string) (*int64, error) {
	v, err := r.value(column)
	if v == nil {
		return nil, err
	}
	n, ok := v.(int64)
	if !ok {
		return nil, fmt.Errorf("%s is not a whole number", column)
	}
	return &n, nil
}

// Millis gives the time in a column that holds milliseconds since 1970, nil for NULL. A number that is not one of any
// time from 2001 to 2286 is an error: 0, a negative one, one of seconds.
func (r Row) Millis(column string) (*time.Time, error) {
	n, err := r.Int(column)
	if n == nil {
		return nil, err
	}
	if *n < 1e12 || *n >= 1e13 {
		return nil, fmt.Errorf("%s is no time in milliseconds since 1970", column)
	}
	return new(time.UnixMilli(*n).UTC()), nil
}

// Span gives the times in two columns of milliseconds, of a beginning and an end that may be yet to come. An end is believed
// only after a beginning that is: whole is false where one of the two is not a time, where an end has no beginning or lies before
// it, and then there is no end.
func Span(row Row, begin, end string) (from, to *time.Time, whole bool) {
	from, err := row.Millis(begin)
	to, err2 := row.Millis(end)
	switch {
	case err != nil, err2 != nil:
		return from, nil, false
	case to != nil && (from == nil || to.Before(*from)):
		return from, nil, false
	}
	return from, to, true
}
