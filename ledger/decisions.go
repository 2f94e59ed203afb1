package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"winnow/engine/decision"
)

var decisionsTable = table[int64, decision.Decision]{"decisions", "n, id, kind, verdict, label, owner, findings, objections, first_sighting",
	func(sweep *int64, d *decision.Decision) []any {
		return []any{sweep, &d.ID, &d.Kind, &d.Verdict, &d.Label, &d.Owner, document{&d.Findings}, document{&d.Objections}, &d.FirstSighting}
	}}

// SaveDecisions records what a sweep decided of the candidates in scope, durably and all at once. Those out of scope are left
// out. ErrNone says that the sweep never began.
func (l *Ledger) SaveDecisions(ctx context.Context, sweep string, decisions []decision.Decision) error {
	inScope := slices.DeleteFunc(slices.Clone(decisions), func(d decision.Decision) bool { return !d.InScope })
	err := l.write(ctx, func(tx *sql.Tx) error {
		var n int64
		err := tx.QueryRowContext(ctx, "SELECT n FROM sweeps WHERE id = ?", sweep).Scan(&n)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("sweep %s: %w", sweep, ErrNone)
		}
		if err != nil {
			return err
		}
		return insert(ctx, tx, decisionsTable, inScope, func(d decision.Decision) (int64, decision.Decision) { return n, d })
	})
	return l.explain("save decisions in", err)
}

// Keep says how much Prune leaves.
type Keep struct {
	// Decisions is of how many of the latest sweeps all decisions are kept. Those that led to an act are kept for good.
	Decisions int
	// Sweeps is how many of the latest sweeps are kept. Those that led to an act are kept for good.
	Sweeps int
}

// Prune bounds the ledger's growth.
func (l *Ledger) Prune(ctx context.Context, keep Keep) error {
	err := l.write(ctx, func(tx *sql.Tx) error {
		// The n of a sweep counts up, so the last so many are those above a bound.
		for _, s := range []struct {
			text string
			keep int
		}{
			{`DELETE FROM decisions WHERE n IN (SELECT n FROM sweeps WHERE pruned = 0 AND n <= (SELECT max(n) FROM sweeps) - ?)
				AND NOT EXISTS (SELECT 1 FROM acts a JOIN sweeps s ON s.id = a.sweep WHERE s.n = decisions.n AND a.candidate = decisions.id)`, keep.Decisions},
			{`UPDATE sweeps SET pruned = 1 WHERE pruned = 0 AND n <= (SELECT max(n) FROM sweeps) - ?`, keep.Decisions},
			{`DELETE FROM sweeps WHERE n <= (SELECT max(n) FROM sweeps) - ? AND NOT EXISTS (SELECT 1 FROM acts WHERE acts.sweep = sweeps.id)`, max(keep.Sweeps, keep.Decisions)},
		} {
			if _, err := tx.ExecContext(ctx, s.text, s.keep); err != nil {
				return err
			}
		}
		return nil
	})
	return l.explain("prune", err)
}
