package ledger

import (
	"context"
	"database/sql"

	"winnow/engine/snapshot"
)

var descentsTable = table[int, snapshot.Descent]{"descents", "pid, boot_id, start_ticks, agents, last_at", func(pid *int, d *snapshot.Descent) []any {
	return []any{pid, &d.BootID, &d.StartTicks, document{&d.Agents}, (*instant)(&d.LastAt)}
}}

// Descents gives which processes earlier looks saw below which agents, sorted by pid.
func (l *Ledger) Descents(ctx context.Context) ([]snapshot.Descent, error) {
	all := []snapshot.Descent{}
	err := descentsTable.each(ctx, l.db, func(pid int, d snapshot.Descent) {
		d.PID = pid
		all = append(all, d)
	}, "ORDER BY pid")
	if err != nil {
		return nil, l.explain("read descents of", err)
	}
	return all, nil
}

// SaveDescents makes next all that is remembered of which processes are below agents.
func (l *Ledger) SaveDescents(ctx context.Context, next []snapshot.Descent) error {
	err := l.replace(ctx, descentsTable.name, func(tx *sql.Tx) error {
		return insert(ctx, tx, descentsTable, next, func(d snapshot.Descent) (int, snapshot.Descent) { return d.PID, d })
	})
	return l.explain("save descents in", err)
}
