package ledger

import (
	"context"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

var ownersTable = remembered[snapshot.Owner]{
	table[string, snapshot.Owner]{"owners",
		"source, terminal, workspace, builder, worktree, kind, boot_id, pid, start_ticks, first_at, last_at, row_at",
		func(_ *string, o *snapshot.Owner) []any {
			return []any{&o.Source, &o.Terminal, &o.Workspace, &o.Builder, &o.Worktree, &o.Kind, &o.BootID, &o.PID, &o.StartTicks,
				(*instant)(&o.FirstAt), (*instant)(&o.LastAt), maybe{&o.RowAt}}
		}},
	2,
	func(o *snapshot.Owner) []*time.Time {
		if o.RowAt == nil {
			return []*time.Time{&o.LastAt}
		}
		o.RowAt = new(*o.RowAt) // others may have the one that it pointed to
		return []*time.Time{&o.LastAt, o.RowAt}
	},
	nil,
}

// Owners gives which terminals belong to which builders as earlier looks found it, sorted by source and terminal.
func (l *Ledger) Owners(ctx context.Context) ([]snapshot.Owner, error) {
	all := []snapshot.Owner{}
	if err := ownersTable.all(ctx, l, func(o snapshot.Owner) { all = append(all, o) }); err != nil {
		return nil, l.explain("read owners of", err)
	}
	return all, nil
}

// SaveOwners makes next all the owners that are remembered.
func (l *Ledger) SaveOwners(ctx context.Context, next []snapshot.Owner) error {
	return l.explain("save owners in", ownersTable.save(ctx, l, next))
}
