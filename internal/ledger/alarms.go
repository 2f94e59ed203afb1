package ledger

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/alarm"
	"github.com/winnow-reaper/winnow/engine/decision"
)

// AlarmMemory gives what the alarms of a look are made from.
func (l *Ledger) AlarmMemory(ctx context.Context) (alarm.Memory, error) {
	var m alarm.Memory
	err := inTurn(
		func() (err error) { m.Rules, err = l.rules(ctx); return err },
		func() (err error) { m.Scope, err = byKey(ctx, l.db, scopeTable); return err },
		func() (err error) { m.Peaks, err = byKey(ctx, l.db, peaksTable); return err },
		func() (err error) { m.Sources, err = byKey(ctx, l.db, sourcesTable); return err },
		func() (err error) { m.Refusals, err = byKey(ctx, l.db, refusalsTable); return err },
		func() (err error) { m.Capped, err = byKey(ctx, l.db, cappedTable); return err },
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
	_, err = scanOne(ctx, l.db, []any{&rules}, "SELECT rules FROM scope_rules")
	return rules, err
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

var (
	scopeTable = table[string, alarm.Scoped]{"scope", "id, source, born, out_since, unseen_since", func(id *string, x *alarm.Scoped) []any {
		return []any{id, &x.Source, (*unixTime)(&x.Born), (*unixTime)(&x.OutSince), (*unixTime)(&x.UnseenSince)}
	}}
	peaksTable = table[string, alarm.Peak]{"peaks", "kind, at, seen, in_scope, low_since", func(kind *string, p *alarm.Peak) []any {
		return []any{kind, (*unixTime)(&p.At), &p.Seen, &p.InScope, (*unixTime)(&p.LowSince)}
	}}
	sourcesTable = table[string, alarm.Source]{"sources", "name, ok_at, bad_since, looks", func(name *string, x *alarm.Source) []any {
		return []any{name, (*unixTime)(&x.OKAt), (*unixTime)(&x.BadSince), &x.Looks}
	}}
	cappedTable = table[string, alarm.Capped]{"capped", "kind, detail, first_at, last_at, count", func(kind *string, c *alarm.Capped) []any {
		return []any{kind, &c.Detail, (*unixTime)(&c.FirstAt), (*unixTime)(&c.LastAt), &c.Count}
	}}
	refusalsTable = table[string, alarm.Refusal]{"refusals", "candidate, kind, label, identity, outcome, detail, first_at, last_at, count",
		func(candidate *string, r *alarm.Refusal) []any {
			return []any{candidate, &r.Kind, &r.Label, &r.Identity, &r.Outcome, &r.Detail, (*unixTime)(&r.FirstAt), (*unixTime)(&r.LastAt), &r.Count}
		}}
)

// save carries a delta out, in the order of the keys, in which the table is kept.
func save[V any](ctx context.Context, tx *sql.Tx, t table[string, V], d alarm.Delta[V]) error {
	key, _, _ := strings.Cut(t.columns, ",")
	err := inBatches(ctx, tx, slices.Sorted(slices.Values(d.Forget)), func(n int) string {
		return "DELETE FROM " + t.name + " WHERE " + key + " IN (?" + strings.Repeat(",?", n-1) + ")"
	}, func(part []string) (args []any) {
		for _, key := range part {
			args = append(args, key)
		}
		return args
	})
	if err != nil {
		return err
	}
	return insert(ctx, tx, t, slices.Sorted(maps.Keys(d.Put)), func(key string) (string, V) { return key, d.Put[key] })
}

// Refusals gives what was to be reaped and was not, at every act that was tried on it, by candidate id. It has the acts too whose
// intent was never written down because nothing was begun.
func (l *Ledger) Refusals(ctx context.Context) (map[string]alarm.Refusal, error) {
	all, err := byKey(ctx, l.db, refusalsTable)
	return all, l.explain("read refusals of", err)
}

// NoteActs writes down how the acts of a sweep went that came to nothing, and forgets refusals of what is gone now. identities
// are the keys of the candidates' identities, by candidate. It is done also when ctx has ended by now: it has happened.
func (l *Ledger) NoteActs(ctx context.Context, at time.Time, acts []decision.Act, identities map[string]string) error {
	if len(acts) == 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	err := l.write(ctx, func(tx *sql.Tx) error {
		refusals, err := byKey(ctx, tx, refusalsTable)
		if err != nil {
			return err
		}
		capped, err := byKey(ctx, tx, cappedTable)
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
