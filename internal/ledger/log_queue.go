package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"
)

// Event is a decision on its way to a decision log.
type Event struct {
	// Sink is where it goes: a word of whoever logs. ID is the decision's: a sink gets it once a sweep.
	Sink string
	ID   string
	// JSON is the event as it is logged, one document.
	JSON []byte
	// N is its number in the queue; set by Events.
	N int64
}

// Dropped says how many events a sink lost for lack of room since that was last said, and when the latest was.
type Dropped struct {
	Sink   string    `json:"sink"`
	Count  int64     `json:"count"`
	LastAt time.Time `json:"last_at"`
}

// QueueEvents has events wait for their sinks, durably. One that waits already takes its newer form, in its place.
// Where all that waits for a sink takes up more than room bytes the oldest go, and are counted.
func (l *Ledger) QueueEvents(ctx context.Context, events []Event, room int64) error {
	if len(events) == 0 {
		return nil
	}
	err := l.write(ctx, func(tx *sql.Tx) error { return queue(ctx, tx, events, room) })
	return l.explain("queue decisions to be logged in", err)
}

func queue(ctx context.Context, tx *sql.Tx, events []Event, room int64) error {
	sinks := map[string]bool{}
	for _, e := range events {
		if _, err := tx.ExecContext(ctx, "INSERT INTO logged (sink, id, event) VALUES (?, ?, ?) ON CONFLICT (sink, id) DO UPDATE SET event = excluded.event", e.Sink, e.ID, string(e.JSON)); err != nil {
			return err
		}
		sinks[e.Sink] = true
	}
	for sink := range sinks {
		n, err := exec(ctx, tx, `DELETE FROM logged WHERE n IN (SELECT n FROM (
				SELECT n, sum(length(event)) OVER (ORDER BY n DESC) AS room FROM logged WHERE sink = ?
			) WHERE room > ?)`, sink, room)
		if err == nil && n > 0 {
			err = drop(ctx, tx, sink, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// drop counts n events that were left out.
func drop(ctx context.Context, tx *sql.Tx, sink string, n int64) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO logged_dropped (sink, count, last_at) VALUES (?, ?, ?)
		ON CONFLICT (sink) DO UPDATE SET count = count + excluded.count, last_at = excluded.last_at`, sink, n, time.Now().UnixNano())
	return err
}

// Events gives the oldest events that wait for a sink and that are later than the number after, most of them at most,
// in their order.
func (l *Ledger) Events(ctx context.Context, sink string, after int64, most int) ([]Event, error) {
	return list(ctx, l, loggedTable, "WHERE sink = ? AND n > ? ORDER BY n LIMIT ?", sink, after, most)
}

var loggedTable = table[int64, Event]{"logged", "n, sink, id, event", func(_ *int64, e *Event) []any {
	return []any{&e.N, &e.Sink, &e.ID, &e.JSON}
}}

// Waiting counts the events that wait for a sink.
func (l *Ledger) Waiting(ctx context.Context, sink string) (n int, err error) {
	err = l.db.QueryRowContext(ctx, "SELECT count(*) FROM logged WHERE sink = ?", sink).Scan(&n)
	return n, l.explain("count decisions to be logged of", err)
}

// Delivered removes events that their sink has, and Refused those that it will never take, which are counted as
// dropped.
func (l *Ledger) Delivered(ctx context.Context, events []Event) error {
	return l.leave(ctx, events, false)
}

// Refused: see Delivered.
func (l *Ledger) Refused(ctx context.Context, events []Event) error {
	return l.leave(ctx, events, true)
}

func (l *Ledger) leave(ctx context.Context, events []Event, refused bool) error {
	err := l.write(ctx, func(tx *sql.Tx) error {
		for _, e := range events {
			n, err := exec(ctx, tx, "DELETE FROM logged WHERE n = ? AND sink = ? AND id = ?", e.N, e.Sink, e.ID)
			if err == nil && refused && n > 0 {
				err = drop(ctx, tx, e.Sink, n)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return l.explain("note which decisions were logged in", err)
}

// TakeDropped says what was left out of logs since the last time that it was asked.
func (l *Ledger) TakeDropped(ctx context.Context) ([]Dropped, error) {
	all, err := list(ctx, l, droppedTable, "ORDER BY sink")
	if err == nil && len(all) > 0 {
		_, err = l.db.ExecContext(ctx, "DELETE FROM logged_dropped")
		err = l.explain("forget what was left out of logs in", err)
	}
	return all, err
}

var droppedTable = table[string, Dropped]{"logged_dropped", "sink, count, last_at", func(_ *string, d *Dropped) []any {
	return []any{&d.Sink, &d.Count, (*unixTime)(&d.LastAt)}
}}

// Verdicts gives what the sweep before the given one decided, by candidate: its verdict, of all that were in scope.
// Cleanups do not count. nil says that no such sweep is kept with its decisions.
func (l *Ledger) Verdicts(ctx context.Context, before string) (map[string]string, error) {
	var all map[string]string
	err := l.reading(ctx, func(tx *sql.Tx) error {
		var saved sql.NullInt64
		found, err := scanOne(ctx, tx, []any{&saved}, `SELECT saved FROM sweeps WHERE pruned = 0 AND sources IS NOT NULL AND mode <> 'cleanup'
			AND n < coalesce((SELECT n FROM sweeps WHERE id = ?), 1 << 62) ORDER BY n DESC LIMIT 1`, before)
		if err != nil || !found {
			return err
		}
		all = map[string]string{}
		return eachRow(ctx, tx, func(row *sql.Rows) error {
			var id, verdict string
			err := row.Scan(&id, &verdict)
			all[id] = verdict
			return err
		}, "SELECT id, verdict FROM standing LEFT JOIN rulings ON rulings.k = ruling WHERE "+standsAt, saved, saved)
	})
	return all, l.explain("read the decisions before in", err)
}

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

// execer is a database or a transaction in it.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// exec runs a statement, and says how many rows it changed.
func exec(ctx context.Context, in execer, query string, args ...any) (int64, error) {
	res, err := in.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
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
