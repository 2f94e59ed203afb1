package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// table says how values are kept: the table, its columns with the key first, and where a row's values stand in a key and a value, in the
// order of the columns. What is read goes into these places, and what they hold is written.
type table[K, V any] struct {
	name, columns string
	places        func(key *K, v *V) []any
}

// eachRow gives every row that the rest of the query leaves.
func (t table[K, V]) eachRow(ctx context.Context, q querier, add func(key K, v V), rest string, args ...any) error {
	var key K
	var v, zero V
	places := t.places(&key, &v)
	return eachRow(ctx, q, func(row *sql.Rows) error {
		v = zero
		if err := row.Scan(places...); err != nil {
			return fmt.Errorf("%s %v: %w", t.name, key, err)
		}
		add(key, v)
		return nil
	}, "SELECT "+t.columns+" FROM "+t.name+" "+rest, args...)
}

// list gives the values of these rows, never nil but after an error.
func list[K, V any](ctx context.Context, l *Ledger, t table[K, V], rest string, args ...any) ([]V, error) {
	all := []V{}
	if err := t.eachRow(ctx, l.db, func(_ K, v V) { all = append(all, v) }, rest, args...); err != nil {
		return nil, l.explain("read "+t.name+" of", err)
	}
	return all, nil
}

// batch is how many rows go into one statement: preparing and stepping a statement costs more than a row.
const batch = 64

// insert writes rows, each in the place of one with the same key; row gives the key and the value of each.
func insert[R, K, V any](ctx context.Context, tx *sql.Tx, t table[K, V], rows []R, row func(R) (K, V)) error {
	keys, values := make([]K, min(batch, len(rows))), make([]V, min(batch, len(rows)))
	var args []any // the places are the same for every batch
	for i := range keys {
		args = append(args, t.places(&keys[i], &values[i])...)
	}
	columns := 1 + strings.Count(t.columns, ",")
	one := "(?" + strings.Repeat(",?", columns-1) + ")"
	return inBatches(ctx, tx, rows, func(n int) string {
		return "INSERT OR REPLACE INTO " + t.name + " (" + t.columns + ") VALUES " + one + strings.Repeat(","+one, n-1)
	}, func(part []R) []any {
		for i, r := range part {
			keys[i], values[i] = row(r)
		}
		return args[:len(part)*columns]
	})
}

// inBatches runs the statement that text gives for so many rows over all of them, batch at a time; arguments gives those of a batch.
func inBatches[R any](ctx context.Context, tx *sql.Tx, rows []R, text func(n int) string, arguments func(part []R) []any) error {
	var full *sql.Stmt
	for part := range slices.Chunk(rows, batch) {
		args := arguments(part)
		var err error
		switch {
		case len(part) < batch:
			_, err = tx.ExecContext(ctx, text(len(part)), args...)
		case full == nil:
			if full, err = tx.PrepareContext(ctx, text(batch)); err != nil {
				return err
			}
			defer full.Close()
			fallthrough
		default:
			_, err = full.ExecContext(ctx, args...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unixTime keeps a time as nanoseconds; NULL is the zero time.
type unixTime time.Time

func (t *unixTime) Scan(v any) error {
	switch ns := v.(type) {
	case nil:
		*t = unixTime{}
	case int64:
		*t = unixTime(time.Unix(0, ns).UTC())
	default:
		return fmt.Errorf("%v is no time", v)
	}
	return nil
}

func (t *unixTime) Value() (driver.Value, error) {
	if at := time.Time(*t); !at.IsZero() {
		return at.UnixNano(), nil
	}
	return nil, nil
}

// nullTime keeps a time that may be unknown: NULL is nil.
type nullTime struct{ at **time.Time }

func (m nullTime) Scan(v any) error {
	var t unixTime
	err := t.Scan(v)
	if *m.at = nil; v != nil && err == nil {
		*m.at = new(time.Time(t))
	}
	return err
}

func (m nullTime) Value() (driver.Value, error) {
	if *m.at == nil {
		return nil, nil
	}
	return (*unixTime)(*m.at).Value()
}

// document keeps what v points to as JSON text. NULL is a pointer or a map that is nil; a list is never NULL.
type document struct{ v any }

func (d document) Scan(v any) error {
	switch text := v.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(text), d.v)
	case []byte:
		return json.Unmarshal(text, d.v)
	}
	return fmt.Errorf("%v is no text", v)
}

func (d document) Value() (driver.Value, error) {
	switch at := reflect.ValueOf(d.v).Elem(); {
	case (at.Kind() == reflect.Pointer || at.Kind() == reflect.Map) && at.IsNil():
		return nil, nil
	case at.Kind() == reflect.Slice && at.IsNil():
		return "[]", nil
	}
	return encode(d.v)
}

//go:embed schema.sql
var ledgerTables string

//go:embed grants.sql
var grantsTables string

// schema is what makes a file: the version that is written into it (PRAGMA user_version), and the statements.
type schema struct {
	version int
	text    string
}

// What makes a ledger, and what makes the file of grants, which versions of Winnow that lie side by side share.
var (
	ledgerSchema = schema{17, ledgerTables}
	grantsSchema = schema{1, grantsTables}
)

// makeTables makes the tables of a new file. Of two processes that open one at the same time the second finds them:
// the version is read again under the write lock.
func (l *Ledger) makeTables(ctx context.Context) error {
	if v, err := l.version(ctx); err != nil || v == l.schema.version {
		return err
	}
	return l.write(ctx, func(tx *sql.Tx) error {
		var v int
		err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v)
		switch {
		case err != nil || v == l.schema.version:
			return err
		case v != 0:
			return fmt.Errorf("%w: it has become version %d", ErrCorrupt, v)
		}
		_, err = tx.ExecContext(ctx, fmt.Sprintf("%s; PRAGMA user_version = %d", l.schema.text, l.schema.version))
		return err
	})
}
