package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// A look sees again most of what the look before saw. Its rows then differ in nothing but when they were seen and how often. So a time that is the
// latest in a table stands in the table saves, once, and in the rows as latest; a count of such a row stands there without what the table was
// saved so far. What was only seen again is not written again.

// latest stands in a row for when its table was saved last. No look was then: it is the year 1677.
var latest = time.Unix(0, math.MinInt64).UTC()

// remembered is a table that every look saves whole. The first keys of its columns are its primary key.
type remembered[V any] struct {
	table[string, V] // the key is in the value too
	keys             int
	// seen gives when a value was seen last, in places that are the value's own; count, which may be nil, how often.
	seen  func(v *V) []*time.Time
	count func(v *V) *int
}

// saved is when and how often a table was saved.
func (r remembered[V]) saved(ctx context.Context, tx *sql.Tx) (at time.Time, times int, err error) {
	err = tx.QueryRowContext(ctx, "SELECT at, count FROM saves WHERE name = ?", r.name).Scan((*instant)(&at), &times)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return at, times, err
}

// all gives every row, in the order of the keys.
func (r remembered[V]) all(ctx context.Context, l *Ledger, add func(v V)) error {
	return l.reading(ctx, func(tx *sql.Tx) error {
		at, times, err := r.saved(ctx, tx)
		if err != nil {
			return err
		}
		return r.each(ctx, tx, func(_ string, v V) {
			r.full(&v, at, times)
			add(v)
		}, "ORDER BY "+r.key())
	})
}

func (r remembered[V]) key() string {
	return strings.Join(strings.SplitN(r.columns, ",", r.keys+1)[:r.keys], ",")
}

// full puts a time and a number of saves in for what stands for them.
func (r remembered[V]) full(v *V, at time.Time, times int) {
	for i, t := range r.seen(v) {
		if !t.Equal(latest) {
			continue
		}
		if *t = at; i == 0 && r.count != nil {
			*r.count(v) += times
		}
	}
}

// short is the other way round.
func (r remembered[V]) short(v *V, at time.Time, times int) {
	for i, t := range r.seen(v) {
		if t.IsZero() || !t.Round(0).Equal(at) {
			continue
		}
		if *t = latest; i == 0 && r.count != nil {
			*r.count(v) -= times
		}
	}
}

// row is a row as the database is given it, with its primary key as one text.
type row[V any] struct {
	id     string
	value  V
	values []driver.Value
}

func (r remembered[V]) row(v V) (row[V], error) {
	out := row[V]{value: v}
	for _, place := range r.places(new(string), &v) {
		x, err := driver.DefaultParameterConverter.ConvertValue(place)
		if err != nil {
			return out, fmt.Errorf("%s: %w", r.name, err)
		}
		out.values = append(out.values, x)
	}
	out.id = fmt.Sprintf("%q", out.values[:r.keys])
	return out, nil
}

// save makes next all that there is in the table, and writes what that changes.
func (r remembered[V]) save(ctx context.Context, l *Ledger, next []V) error {
	return l.write(ctx, func(tx *sql.Tx) error {
		_, times, err := r.saved(ctx, tx)
		if err != nil {
			return err
		}
		times++
		var at time.Time // the latest in the table
		for _, v := range next {
			for _, t := range r.seen(&v) {
				if now := t.Round(0); now.After(at) {
					at = now
				}
			}
		}
		rows := map[string]row[V]{}
		for _, v := range next {
			r.short(&v, at, times)
			one, err := r.row(v)
			if err != nil {
				return err
			}
			rows[one.id] = one
		}
		gone, err := r.unchanged(ctx, tx, rows)
		if err != nil {
			return err
		}
		return inTurn(
			func() error { return r.remove(ctx, tx, gone) },
			func() error {
				changed := slices.SortedFunc(maps.Values(rows), func(a, b row[V]) int { return strings.Compare(a.id, b.id) })
				return insert(ctx, tx, r.table, changed, func(x row[V]) (string, V) { return x.id, x.value })
			},
			func() error {
				if len(next) == 0 {
					return nil // no row stands for it
				}
				_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO saves (name, at, count) VALUES (?, ?, ?)", r.name, (*instant)(&at), times)
				return err
			},
		)
	})
}

// unchanged takes out of rows those that the table has, and gives the keys of what the table has and rows have not.
func (r remembered[V]) unchanged(ctx context.Context, tx *sql.Tx, rows map[string]row[V]) (gone [][]driver.Value, err error) {
	var failed error
	err = r.each(ctx, tx, func(_ string, v V) {
		before, err := r.row(v)
		failed = errors.Join(failed, err)
		switch now, still := rows[before.id]; {
		case !still:
			gone = append(gone, before.values[:r.keys])
		case slices.Equal(before.values, now.values):
			delete(rows, before.id)
		}
	}, "")
	return gone, errors.Join(err, failed)
}

func (r remembered[V]) remove(ctx context.Context, tx *sql.Tx, keys [][]driver.Value) error {
	one := "(?" + strings.Repeat(",?", r.keys-1) + ")"
	return inBatches(ctx, tx, keys, func(n int) string {
		return "DELETE FROM " + r.name + " WHERE (" + r.key() + ") IN (VALUES " + one + strings.Repeat(","+one, n-1) + ")"
	}, func(part [][]driver.Value) (args []any) {
		for _, key := range part {
			for _, x := range key {
				args = append(args, x)
			}
		}
		return args
	})
}
