package ledger

import (
	"context"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

var descentsTable = remembered[snapshot.Descent]{
	table[string, snapshot.Descent]{"descents", "pid, boot_id, start_ticks, agents, last_at", func(_ *string, d *snapshot.Descent) []any {
		return []any{&d.PID, &d.BootID, &d.StartTicks, document{&d.Agents}, (*instant)(&d.LastAt)}
	}},
	1,
	func(d *snapshot.Descent) []*time.Time { return []*time.Time{&d.LastAt} },
	nil,
}

// Descents gives which processes earlier looks saw below which agents, sorted by pid.
func (l *Ledger) Descents(ctx context.Context) ([]snapshot.Descent, error) {
	all := []snapshot.Descent{}
	if err := descentsTable.all(ctx, l, func(d snapshot.Descent) { all = append(all, d) }); err != nil {
		return nil, l.explain("read descents of", err)
	}
	return all, nil
}

// SaveDescents makes next all that is remembered of which processes are below agents.
func (l *Ledger) SaveDescents(ctx context.Context, next []snapshot.Descent) error {
	return l.explain("save descents in", descentsTable.save(ctx, l, next))
}
