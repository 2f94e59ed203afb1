package ledger

import (
	"context"
	"database/sql"

	"winnow/engine/snapshot"
)

var ownersTable = table[string, snapshot.Owner]{"owners",
	"source, terminal, workspace, builder, worktree, kind, boot_id, pid, start_ticks, first_at, last_at, row_at",
	func(_ *string, o *snapshot.Owner) []any {
		return []any{&o.Source, &o.Terminal, &o.Workspace, &o.Builder, &o.Worktree, &o.Kind, &o.BootID, &o.PID, &o.StartTicks,
			(*instant)(&o.FirstAt), (*instant)(&o.LastAt), maybe{&o.RowAt}}
	}}

// Owners gives which terminals belong to which builders as earlier looks found it, sorted by source and terminal.
func (l *Ledger) Owners(ctx context.Context) ([]snapshot.Owner, error) {
	return list(ctx, l, ownersTable, "ORDER BY source, terminal")
}

// SaveOwners makes next all the owners that are remembered.
func (l *Ledger) SaveOwners(ctx context.Context, next []snapshot.Owner) error {
	err := l.replace(ctx, ownersTable.name, func(tx *sql.Tx) error {
		return insert(ctx, tx, ownersTable, next, func(o snapshot.Owner) (string, snapshot.Owner) { return "", o })
	})
	return l.explain("save owners in", err)
}
