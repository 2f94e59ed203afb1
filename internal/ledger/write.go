package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"
)

// write runs f in one transaction, durable once write returns nil; after an error nothing of it is there.
func (l *Ledger) write(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		if back := tx.Rollback(); back != nil && !errors.Is(back, sql.ErrTxDone) {
			return errors.Join(err, back)
		}
		return err
	}
	return tx.Commit()
}

// reading runs f in one transaction that sees the ledger as it is at one moment, and may change nothing.
func (l *Ledger) reading(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := l.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	err = f(tx)
	if end := tx.Rollback(); end != nil && !errors.Is(end, sql.ErrTxDone) {
		err = errors.Join(err, end)
	}
	return err
}

// querier is a database or a transaction in it.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// eachRow runs a query and gives each row to scan.
func eachRow(ctx context.Context, q querier, scan func(row *sql.Rows) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// scanOne reads the only row of a query into places, and reports whether there is one.
func scanOne(ctx context.Context, q querier, places []any, query string, args ...any) (found bool, err error) {
	err = eachRow(ctx, q, func(row *sql.Rows) error {
		found = true
		return row.Scan(places...)
	}, query, args...)
	return found, err
}

// texts gives the rows of a query for one text, never nil.
func texts(ctx context.Context, q querier, query string, args ...any) ([]string, error) {
	all := []string{}
	err := eachRow(ctx, q, func(row *sql.Rows) error {
		var text string
		err := row.Scan(&text)
		all = append(all, text)
		return err
	}, query, args...)
	return all, err
}

// nanos is a time as it is kept; nil is NULL.
func nanos(t *time.Time) any {
	if t == nil || t.IsZero() {
		return nil
	}
	return t.UnixNano()
}

// encode gives v as JSON text.
func encode(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}
