package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"winnow/engine/decision"
)

// batch is how many decisions go into one statement: preparing and stepping a statement costs more than a row.
const batch = 64

const decisionColumns = "(n, id, kind, verdict, label, owner, findings, objections, first_sighting)"

// SaveDecisions records what a sweep decided of the candidates in scope, durably and all at once. Those out of scope are left
// out. ErrNone says that the sweep never began.
func (l *Ledger) SaveDecisions(ctx context.Context, sweep string, decisions []decision.Decision) error {
	err := l.write(ctx, func(tx *sql.Tx) error {
		var n int64
		err := tx.QueryRowContext(ctx, "SELECT n FROM sweeps WHERE id = ?", sweep).Scan(&n)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("sweep %s: %w", sweep, ErrNone)
		}
		if err != nil {
			return err
		}
		w := decisionWriter{ctx: ctx, tx: tx, sweep: n}
		defer w.close()
		for i := range decisions {
			if err := w.add(&decisions[i]); err != nil {
				return err
			}
		}
		return w.flush()
	})
	return l.explain("save decisions in", err)
}

// decisionWriter gathers rows into statements of batch rows each.
type decisionWriter struct {
	ctx   context.Context
	tx    *sql.Tx
	sweep int64
	full  *sql.Stmt // inserts batch rows
	args  []any
}

func (w *decisionWriter) add(d *decision.Decision) error {
	if !d.InScope {
		return nil
	}
	findings, err := encode(notNull(d.Findings))
	if err != nil {
		return fmt.Errorf("findings of %s: %w", d.ID, err)
	}
	objections, err := encode(notNull(d.Objections))
	if err != nil {
		return fmt.Errorf("objections of %s: %w", d.ID, err)
	}
	w.args = append(w.args, w.sweep, d.ID, d.Kind, d.Verdict, d.Label, d.Owner, findings, objections, d.FirstSighting)
	if len(w.args) < batch*9 {
		return nil
	}
	if w.full == nil {
		if w.full, err = w.tx.PrepareContext(w.ctx, insert(batch)); err != nil {
			return err
		}
	}
	_, err = w.full.ExecContext(w.ctx, w.args...)
	w.args = w.args[:0]
	return err
}

func (w *decisionWriter) flush() error {
	if len(w.args) == 0 {
		return nil
	}
	_, err := w.tx.ExecContext(w.ctx, insert(len(w.args)/9), w.args...)
	return err
}

func (w *decisionWriter) close() {
	if w.full != nil {
		w.full.Close()
	}
}

func insert(rows int) string {
	return "INSERT INTO decisions " + decisionColumns + " VALUES (?,?,?,?,?,?,?,?,?)" + strings.Repeat(",(?,?,?,?,?,?,?,?,?)", rows-1)
}

// notNull keeps a list that is empty from being written as null.
func notNull(r []decision.Reason) []decision.Reason {
	if r == nil {
		return []decision.Reason{}
	}
	return r
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
