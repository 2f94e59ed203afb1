package ledger

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
)

//go:embed schema.sql
var ledgerTables string

//go:embed grants.sql
var grantsTables string

// schema is what makes a file: the version that is written into it (PRAGMA user_version), and the statements.
type schema struct {
	version int
	text    string
}

// What makes a ledger, and what makes the file of grants, which versions of Winnow that lie side by side share.
var (
	ledgerSchema = schema{15, ledgerTables}
	grantsSchema = schema{1, grantsTables}
)

// makeTables makes the tables of a new file. Of two processes that open one at the same time the second finds them:
// the version is read again under the write lock.
func (l *Ledger) makeTables(ctx context.Context) error {
	if v, err := l.version(ctx); err != nil || v == l.schema.version {
		return err
	}
	return l.write(ctx, func(tx *sql.Tx) error {
		var v int
		err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v)
		switch {
		case err != nil || v == l.schema.version:
			return err
		case v != 0:
			return fmt.Errorf("%w: it has become version %d", ErrCorrupt, v)
		}
		_, err = tx.ExecContext(ctx, fmt.Sprintf("%s; PRAGMA user_version = %d", l.schema.text, l.schema.version))
		return err
	})
}
