package ledger

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"winnow/engine/alarm"
	"winnow/engine/decision"
)

// AlarmMemory gives what the alarms of a look are told from.
func (l *Ledger) AlarmMemory(ctx context.Context) (alarm.Memory, error) {
	var m alarm.Memory
	err := inTurn(
		func() (err error) { m.Rules, err = l.rules(ctx); return err },
		func() (err error) { m.Scope, err = l.scope(ctx); return err },
		func() (err error) { m.Peaks, err = l.peaks(ctx); return err },
		func() (err error) { m.Sources, err = l.sources(ctx); return err },
		func() (err error) { m.Refusals, err = refusalsOf(ctx, l.db); return err },
		func() (err error) { m.Capped, err = cappedOf(ctx, l.db); return err },
	)
	if err != nil {
		return alarm.Memory{}, l.explain("read the memory of alarms in", err)
	}
	return m, nil
}

// inTurn runs steps up to the first that fails: after some errors SQLite has ended the transaction, and what came next would be
// written outside of it.
func inTurn(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (l *Ledger) rules(ctx context.Context) (rules string, err error) {
	err = l.db.QueryRowContext(ctx, "SELECT rules FROM scope_rules").Scan(&rules)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return rules, err
}

func (l *Ledger) scope(ctx context.Context) (map[string]alarm.Scoped, error) {
	all := map[string]alarm.Scoped{}
	names := map[string]string{} // one string a source, not one a candidate
	var id string
	var source sql.RawBytes
	var born, out, unseen sql.NullInt64
	return all, l.read(ctx, func(row *sql.Rows) error {
		if err := row.Scan(&id, &source, &born, &out, &unseen); err != nil {
			return err
		}
		name, ok := names[string(source)]
		if !ok {
			name = string(source)
			names[name] = name
		}
		all[id] = alarm.Scoped{Source: name, Born: timeOf(born), OutSince: timeOf(out), UnseenSince: timeOf(unseen)}
		return nil
	}, "SELECT id, source, born, out_since, unseen_since FROM scope")
}

func (l *Ledger) peaks(ctx context.Context) (map[string]alarm.Peak, error) {
	all := map[string]alarm.Peak{}
	return all, l.read(ctx, func(row *sql.Rows) error {
		var kind string
		var p alarm.Peak
		var at int64
		var low sql.NullInt64
		if err := row.Scan(&kind, &at, &p.Seen, &p.InScope, &low); err != nil {
			return err
		}
		p.At, p.LowSince = moment(at), timeOf(low)
		all[kind] = p
		return nil
	}, "SELECT kind, at, seen, in_scope, low_since FROM peaks")
}

func (l *Ledger) sources(ctx context.Context) (map[string]alarm.Source, error) {
	all := map[string]alarm.Source{}
	return all, l.read(ctx, func(row *sql.Rows) error {
		var name string
		var x alarm.Source
		var okAt, bad sql.NullInt64
		if err := row.Scan(&name, &okAt, &bad, &x.Looks); err != nil {
			return err
		}
		x.OKAt, x.BadSince = timeOf(okAt), timeOf(bad)
		all[name] = x
		return nil
	}, "SELECT name, ok_at, bad_since, looks FROM sources")
}

// SaveAlarmMemory writes down what a look changes in the memory of alarms, durably and all at once.
func (l *Ledger) SaveAlarmMemory(ctx context.Context, c alarm.Change) error {
	err := l.write(ctx, func(tx *sql.Tx) error {
		return inTurn(
			func() error { return saveRules(ctx, tx, c.Rules) },
			func() error { return save(ctx, tx, scopeTable, c.Scope) },
			func() error { return save(ctx, tx, peaksTable, c.Peaks) },
			func() error { return save(ctx, tx, sourcesTable, c.Sources) },
			func() error { return save(ctx, tx, refusalsTable, c.Refusals) },
			func() error { return save(ctx, tx, cappedTable, c.Capped) },
		)
	})
	return l.explain("save the memory of alarms in", err)
}

func saveRules(ctx context.Context, tx *sql.Tx, rules string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO scope_rules (one, rules) VALUES (1, ?)
		ON CONFLICT (one) DO UPDATE SET rules = excluded.rules WHERE rules <> excluded.rules`, rules)
	return err
}

// table says how one part of the memory is kept: its columns, the key first, and a value's fields in the order of the others.
type table[V any] struct {
	name    string
	columns []string
	fields  func(V) []any
}

var (
	scopeTable = table[alarm.Scoped]{"scope", []string{"id", "source", "born", "out_since", "unseen_since"}, func(x alarm.Scoped) []any {
		return []any{x.Source, nanos(&x.Born), nanos(&x.OutSince), nanos(&x.UnseenSince)}
	}}
	peaksTable = table[alarm.Peak]{"peaks", []string{"kind", "at", "seen", "in_scope", "low_since"}, func(p alarm.Peak) []any {
		return []any{p.At.UnixNano(), p.Seen, p.InScope, nanos(&p.LowSince)}
	}}
	sourcesTable = table[alarm.Source]{"sources", []string{"name", "ok_at", "bad_since", "looks"}, func(x alarm.Source) []any {
		return []any{nanos(&x.OKAt), nanos(&x.BadSince), x.Looks}
	}}
	cappedTable = table[alarm.Capped]{"capped", []string{"kind", "detail", "first_at", "last_at", "count"}, func(c alarm.Capped) []any {
		return []any{c.Detail, c.FirstAt.UnixNano(), c.LastAt.UnixNano(), c.Count}
	}}
	refusalsTable = table[alarm.Refusal]{"refusals",
		[]string{"candidate", "kind", "label", "identity", "outcome", "detail", "first_at", "last_at", "count"}, func(r alarm.Refusal) []any {
			return []any{r.Kind, r.Label, r.Identity, r.Outcome, r.Detail, r.FirstAt.UnixNano(), r.LastAt.UnixNano(), r.Count}
		}}
)

// save carries a delta out, many rows a statement, in the order of the keys, in which the table is kept.
func save[V any](ctx context.Context, tx *sql.Tx, t table[V], d alarm.Delta[V]) error {
	gone := slices.Sorted(slices.Values(d.Forget))
	err := inBatches(ctx, tx, gone, func(n int) string {
		return "DELETE FROM " + t.name + " WHERE " + t.columns[0] + " IN (?" + strings.Repeat(",?", n-1) + ")"
	}, func(args []any, key string) []any { return append(args, key) })
	if err != nil {
		return err
	}
	put := make([]string, 0, len(d.Put))
	for key := range d.Put {
		put = append(put, key)
	}
	slices.Sort(put)
	row := "(?" + strings.Repeat(",?", len(t.columns)-1) + ")"
	return inBatches(ctx, tx, put, func(n int) string {
		return "INSERT OR REPLACE INTO " + t.name + " (" + strings.Join(t.columns, ", ") + ") VALUES " + row + strings.Repeat(","+row, n-1)
	}, func(args []any, key string) []any { return append(append(args, key), t.fields(d.Put[key])...) })
}

// inBatches runs the statement that text gives for so many keys over all of them, batch at a time; add appends a key's arguments.
func inBatches(ctx context.Context, tx *sql.Tx, keys []string, text func(n int) string, add func(args []any, key string) []any) error {
	if len(keys) == 0 {
		return nil
	}
	var full *sql.Stmt
	var args []any
	for part := range slices.Chunk(keys, batch) {
		args = args[:0]
		for _, key := range part {
			args = add(args, key)
		}
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

// Refusals gives what was to be reaped and was not, at every act that was tried on it, by candidate id. It has the acts too whose
// intent was never written down because nothing was begun.
func (l *Ledger) Refusals(ctx context.Context) (map[string]alarm.Refusal, error) {
	all, err := refusalsOf(ctx, l.db)
	if err != nil {
		return nil, l.explain("read refusals of", err)
	}
	return all, nil
}

// NoteActs writes down how the acts of a sweep went that came to nothing, and forgets refusals of what is gone now. identities
// are the keys of the candidates' identities, by candidate. It is done also when ctx has ended by now: it has happened.
func (l *Ledger) NoteActs(ctx context.Context, at time.Time, acts []decision.Act, identities map[string]string) error {
	if len(acts) == 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	err := l.write(ctx, func(tx *sql.Tx) error {
		refusals, err := refusalsOf(ctx, tx)
		if err != nil {
			return err
		}
		capped, err := cappedOf(ctx, tx)
		if err != nil {
			return err
		}
		rs, cs := alarm.Acts(refusals, capped, at, acts, identities)
		if err := save(ctx, tx, refusalsTable, rs); err != nil {
			return err
		}
		return save(ctx, tx, cappedTable, cs)
	})
	return l.explain("note acts in", err)
}

func refusalsOf(ctx context.Context, q querier) (map[string]alarm.Refusal, error) {
	all := map[string]alarm.Refusal{}
	return all, each(ctx, q, func(row *sql.Rows) error {
		var id string
		var r alarm.Refusal
		var first, last int64
		if err := row.Scan(&id, &r.Kind, &r.Label, &r.Identity, &r.Outcome, &r.Detail, &first, &last, &r.Count); err != nil {
			return err
		}
		r.FirstAt, r.LastAt = moment(first), moment(last)
		all[id] = r
		return nil
	}, "SELECT candidate, kind, label, identity, outcome, detail, first_at, last_at, count FROM refusals")
}

func cappedOf(ctx context.Context, q querier) (map[string]alarm.Capped, error) {
	all := map[string]alarm.Capped{}
	return all, each(ctx, q, func(row *sql.Rows) error {
		var kind string
		var c alarm.Capped
		var first, last int64
		if err := row.Scan(&kind, &c.Detail, &first, &last, &c.Count); err != nil {
			return err
		}
		c.FirstAt, c.LastAt = moment(first), moment(last)
		all[kind] = c
		return nil
	}, "SELECT kind, detail, first_at, last_at, count FROM capped")
}

// timeOf is a time that may not be set.
func timeOf(ns sql.NullInt64) time.Time {
	if !ns.Valid {
		return time.Time{}
	}
	return moment(ns.Int64)
}
