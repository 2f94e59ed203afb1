package ledger

import (
	"context"
	"database/sql"

	"winnow/engine/snapshot"
)

// Owners gives which builders were seen with which terminals, sorted by source and terminal.
func (l *Ledger) Owners(ctx context.Context) ([]snapshot.Owner, error) {
	all := []snapshot.Owner{}
	err := l.read(ctx, func(row *sql.Rows) error {
		var o snapshot.Owner
		var first, last int64
		if err := row.Scan(&o.Source, &o.Terminal, &o.Workspace, &o.Builder, &o.Worktree, &first, &last); err != nil {
			return err
		}
		o.FirstAt, o.LastAt = moment(first), moment(last)
		all = append(all, o)
		return nil
	}, "SELECT source, terminal, workspace, builder, worktree, first_at, last_at FROM owners ORDER BY source, terminal")
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
		put, err := tx.PrepareContext(ctx, `INSERT OR REPLACE INTO owners (source, terminal, workspace, builder, worktree, first_at, last_at)
			VALUES (?, ?, ?, ?, ?, ?, ?)`)
		if err != nil {
			return err
		}
		defer put.Close()
		for _, o := range next {
			if _, err := put.ExecContext(ctx, o.Source, o.Terminal, o.Workspace, o.Builder, o.Worktree, o.FirstAt.UnixNano(), o.LastAt.UnixNano()); err != nil {
				return err
			}
		}
		return nil
	})
	return l.explain("save owners in", err)
}
