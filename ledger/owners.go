package ledger

import (
	"context"
	"database/sql"

	"winnow/engine/snapshot"
)

// ownerColumns are in the order in which they are read and written.
const ownerColumns = "source, terminal, workspace, builder, worktree, kind, boot_id, pid, start_ticks, first_at, last_at, row_at"

// Owners gives which terminals belong to which builders as earlier looks found it, sorted by source and terminal.
func (l *Ledger) Owners(ctx context.Context) ([]snapshot.Owner, error) {
	all := []snapshot.Owner{}
	err := l.read(ctx, func(row *sql.Rows) error {
		var o snapshot.Owner
		var first, last, ticks int64
		var rowAt sql.NullInt64
		if err := row.Scan(&o.Source, &o.Terminal, &o.Workspace, &o.Builder, &o.Worktree, &o.Kind, &o.BootID, &o.PID, &ticks, &first, &last, &rowAt); err != nil {
			return err
		}
		o.StartTicks, o.FirstAt, o.LastAt, o.RowAt = uint64(ticks), moment(first), moment(last), momentOrNil(rowAt)
		all = append(all, o)
		return nil
	}, "SELECT "+ownerColumns+" FROM owners ORDER BY source, terminal")
	if err != nil {
		return nil, l.explain("read owners of", err)
	}
	return all, nil
}

// SaveOwners makes next all the owners that are remembered.
func (l *Ledger) SaveOwners(ctx context.Context, next []snapshot.Owner) error {
	err := l.write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM owners"); err != nil {
			return err
		}
		put, err := tx.PrepareContext(ctx, "INSERT OR REPLACE INTO owners ("+ownerColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
		if err != nil {
			return err
		}
		defer put.Close()
		for _, o := range next {
			if _, err := put.ExecContext(ctx, o.Source, o.Terminal, o.Workspace, o.Builder, o.Worktree, o.Kind, o.BootID, o.PID, int64(o.StartTicks),
				o.FirstAt.UnixNano(), o.LastAt.UnixNano(), nanos(o.RowAt)); err != nil {
				return err
			}
		}
		return nil
	})
	return l.explain("save owners in", err)
}
