package ledger

import (
	"context"
	"database/sql"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/winnow-reaper/winnow/internal/sys/sqlite"
)

// Keep says how much Prune leaves.
type Keep struct {
	// Decisions is of how many of the latest sweeps decisions are kept. What led to an act is kept for good with the act.
	Decisions int
	// Sweeps is how many of the latest sweeps are kept. Those that led to an act are kept for good.
	Sweeps int
}

// Prune bounds the ledger's growth. A file that has become mostly empty is made small again, unless others use it just then.
func (l *Ledger) Prune(ctx context.Context, keep Keep) error {
	err := l.write(ctx, func(tx *sql.Tx) error {
		// The n of a sweep counts up, so the last so many are those above a bound.
		var latest int64
		if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(n), 0) FROM sweeps").Scan(&latest); err != nil {
			return err
		}
		bound := latest - int64(keep.Decisions)
		for _, s := range []struct {
			text string
			to   int64
		}{
			{`UPDATE sweeps SET pruned = 1 WHERE pruned = 0 AND n <= ?`, bound},
			// What ended before all sweeps that are left.
			{`DELETE FROM standing WHERE until <= coalesce((SELECT min(saved) FROM sweeps WHERE n > ?), 1 << 62)`, bound},
			{`DELETE FROM sweeps WHERE n <= ? AND NOT EXISTS (SELECT 1 FROM acts WHERE acts.sweep = sweeps.id)`, latest - int64(max(keep.Sweeps, keep.Decisions))},
		} {
			if _, err := tx.ExecContext(ctx, s.text, s.to); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = l.shrink(ctx)
	}
	return l.explain("prune", err)
}

// emptyPages is from how many empty pages on, of 4 KiB each, a file is made small again; then three in four are empty. SQLite uses empty pages again, and
// a file shrinks by being written again: that is worth it only where much is empty, as after a program that wrote much more has been replaced.
const emptyPages = 4096

// shrink writes the file again where it is mostly empty.
func (l *Ledger) shrink(ctx context.Context) error {
	var pages, empty int64
	if err := l.db.QueryRowContext(ctx, "SELECT c.page_count, f.freelist_count FROM pragma_page_count c, pragma_freelist_count f").Scan(&pages, &empty); err != nil {
		return err
	}
	if empty < emptyPages || empty < pages/4*3 {
		return nil
	}
	_, err := l.db.ExecContext(ctx, "PRAGMA temp_store = MEMORY; VACUUM") // no copy of it lies in the folder for temporary files
	if sqlite.Code(err)&0xff == sqlite3.SQLITE_BUSY {
		return nil // another time
	}
	return err
}
