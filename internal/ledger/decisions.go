package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
)

// decisionsTable has decisions as they were, by the n of their sweep.
var decisionsTable = table[int64, decision.Decision]{"decisions", "n, id, kind, verdict, label, owner, findings, objections, first_sighting",
	func(sweep *int64, d *decision.Decision) []any {
		return []any{sweep, &d.ID, &d.Kind, &d.Verdict, &d.Label, &d.Owner, document{&d.Findings}, document{&d.Objections}, &d.FirstSighting}
	}}

// standing is a decision as it is written: once for all sweeps that decide so.
type standing struct {
	k, since             int64
	decision             decision.Decision // without its reasons
	findings, objections string            // JSON
}

// separator stands between the texts of a standing decision; JSON as it is written here has no such byte.
const separator = "\n"

func (s *standing) text() string { return s.findings + separator + s.objections }

// same says whether s decides what d decides but for numbers in the reasons, and by which these differ.
func (s *standing) same(d *standing) ([]change, bool) {
	a, b := &s.decision, &d.decision
	if a.ID != b.ID || a.Verdict != b.Verdict || a.FirstSighting != b.FirstSighting || a.Kind != b.Kind || a.Label != b.Label || a.Owner != b.Owner {
		return nil, false
	}
	return differ(s.text(), d.text())
}

var standingTable = table[int64, standing]{"standing", "since, id, kind, verdict, label, owner, findings, objections, first_sighting",
	func(since *int64, s *standing) []any {
		d := &s.decision
		return []any{since, &d.ID, &d.Kind, &d.Verdict, &d.Label, &d.Owner, &s.findings, &s.objections, &d.FirstSighting}
	}}

// SaveDecisions records what a sweep decided of the candidates in scope, durably and all at once. Those out of scope are left
// out. A decision that is the one of the sweep before, but for numbers in its reasons, is not written again: what is written grows with what changed.
// ErrNone says that the sweep never began; saving the decisions of a sweep twice is an error.
func (l *Ledger) SaveDecisions(ctx context.Context, sweep string, decisions []decision.Decision) error {
	now := make([]standing, 0, len(decisions))
	for _, d := range decisions {
		if !d.InScope {
			continue
		}
		s := standing{decision: decision.Decision{ID: d.ID, Kind: d.Kind, Verdict: d.Verdict, Label: d.Label, Owner: d.Owner, FirstSighting: d.FirstSighting}}
		var err error
		if s.findings, err = reasons(d.Findings); err == nil {
			s.objections, err = reasons(d.Objections)
		}
		if err != nil {
			return l.explain("save decisions in", fmt.Errorf("%s: %w", d.ID, err))
		}
		now = append(now, s)
	}
	slices.SortStableFunc(now, func(a, b standing) int { return strings.Compare(a.decision.ID, b.decision.ID) })
	err := l.write(ctx, func(tx *sql.Tx) error { return saveStanding(ctx, tx, sweep, now) })
	return l.explain("save decisions in", err)
}

func reasons(all []decision.Reason) (string, error) {
	if all == nil {
		return "[]", nil
	}
	return encode(all)
}

func saveStanding(ctx context.Context, tx *sql.Tx, sweep string, now []standing) error {
	var n int64
	var saved sql.NullInt64
	switch err := tx.QueryRowContext(ctx, "SELECT n, saved FROM sweeps WHERE id = ?", sweep).Scan(&n, &saved); {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("sweep %s: %w", sweep, ErrNone)
	case err != nil:
		return err
	case saved.Valid:
		return fmt.Errorf("sweep %s: its decisions were saved before", sweep)
	}
	var err error
	if saved.Int64, err = nextSave(ctx, tx); err != nil {
		return err
	}
	kept, gone, fresh, err := compare(ctx, tx, now)
	if err != nil {
		return err
	}
	slices.SortFunc(kept, func(a, b keptDecision) int { return int(a.k - b.k) })
	changes := make([][]change, len(kept)+len(fresh)) // in the order of k, which those that are new come last in
	for i, d := range kept {
		changes[i] = d.changes
	}
	packed, err := pack(changes)
	if err != nil {
		return err
	}
	return inTurn(
		func() error {
			return inBatches(ctx, tx, gone, func(n int) string {
				return "UPDATE standing SET until = ? WHERE k IN (?" + strings.Repeat(",?", n-1) + ")"
			}, func(part []int64) []any {
				args := []any{saved.Int64}
				for _, k := range part {
					args = append(args, k)
				}
				return args
			})
		},
		func() error {
			return insert(ctx, tx, standingTable, fresh, func(s standing) (int64, standing) { return saved.Int64, s })
		},
		func() error {
			if packed == nil {
				return nil
			}
			_, err := tx.ExecContext(ctx, "INSERT INTO ticks (saved, changes) VALUES (?, ?)", saved.Int64, packed)
			return err
		},
		func() error {
			_, err := tx.ExecContext(ctx, "UPDATE sweeps SET saved = ? WHERE n = ?", saved.Int64, n)
			return err
		},
	)
}

// nextSave is the number of the next save of decisions: later than all that is there, whatever of it was pruned.
func nextSave(ctx context.Context, tx *sql.Tx) (n int64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT 1 + max(coalesce((SELECT max(saved) FROM sweeps), 0), coalesce((SELECT max(until) FROM standing WHERE until IS NOT NULL), 0),
		coalesce((SELECT since FROM standing ORDER BY k DESC LIMIT 1), 0))`).Scan(&n)
	return n, err
}

type keptDecision struct {
	k       int64
	changes []change
}

// compare goes through what stands and through what was decided now, both by candidate: what stays, what does not stand any more, and what
// is to be written.
func compare(ctx context.Context, q querier, now []standing) (kept []keptDecision, gone []int64, fresh []standing, err error) {
	i := 0
	err = eachStanding(ctx, q, func(s *standing) error {
		for i < len(now) && now[i].decision.ID < s.decision.ID {
			fresh = append(fresh, now[i])
			i++
		}
		if i < len(now) && now[i].decision.ID == s.decision.ID {
			d := &now[i]
			i++
			if changes, same := s.same(d); same {
				kept = append(kept, keptDecision{s.k, changes})
				return nil
			}
			fresh = append(fresh, *d)
		}
		gone = append(gone, s.k)
		return nil
	}, "WHERE until IS NULL ORDER BY id, k")
	return kept, gone, append(fresh, now[i:]...), err
}

// eachStanding gives every standing decision that the rest of the query leaves. It is valid until add returns.
func eachStanding(ctx context.Context, q querier, add func(s *standing) error, rest string, args ...any) error {
	var s standing
	places := append([]any{&s.k}, standingTable.places(&s.since, &s)...)
	return each(ctx, q, func(row *sql.Rows) error {
		if err := row.Scan(places...); err != nil {
			return fmt.Errorf("standing %d: %w", s.k, err)
		}
		return add(&s)
	}, "SELECT k, "+standingTable.columns+" FROM standing "+rest, args...)
}

// Decisions gives what a sweep decided, sorted by candidate id, as far as it is still kept.
func (l *Ledger) Decisions(ctx context.Context, sweep string) ([]decision.Decision, error) {
	all := []decision.Decision{}
	err := l.reading(ctx, func(tx *sql.Tx) error {
		var n int64
		err := tx.QueryRowContext(ctx, "SELECT n FROM sweeps WHERE id = ?", sweep).Scan(&n)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		all, err = decided(ctx, tx, n)
		return err
	})
	if err != nil {
		return nil, l.explain("read decisions of", err)
	}
	return all, nil
}

// decided are the decisions of the sweep n, sorted by candidate id. q is a transaction: nothing may be pruned between two questions.
func decided(ctx context.Context, q *sql.Tx, n int64) ([]decision.Decision, error) {
	all := []decision.Decision{}
	if err := decisionsTable.each(ctx, q, func(_ int64, d decision.Decision) { all = append(all, d) }, "WHERE n = ? ORDER BY id", n); err != nil {
		return nil, err
	}
	var saved sql.NullInt64
	var packed []byte
	err := q.QueryRowContext(ctx, `SELECT s.saved, t.changes FROM sweeps s LEFT JOIN ticks t ON t.saved = s.saved WHERE s.n = ? AND s.pruned = 0`, n).Scan(&saved, &packed)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && !saved.Valid:
	case err != nil:
		return nil, err
	default:
		var stood []decision.Decision
		if stood, err = stoodAt(ctx, q, saved.Int64, packed); err != nil {
			return nil, err
		}
		all = append(all, stood...)
		slices.SortStableFunc(all, func(a, b decision.Decision) int { return strings.Compare(a.ID, b.ID) })
	}
	for i := range all {
		all[i].InScope = true
	}
	return all, nil
}

// stoodAt are the decisions that stood at a sweep, with the numbers of that sweep.
func stoodAt(ctx context.Context, q querier, saved int64, packed []byte) ([]decision.Decision, error) {
	var stood []standing
	err := eachStanding(ctx, q, func(s *standing) error {
		stood = append(stood, *s)
		return nil
	}, "WHERE "+standsAt+" ORDER BY k", saved, saved)
	if err != nil {
		return nil, err
	}
	changes, err := unpack(packed, len(stood))
	if err != nil {
		return nil, fmt.Errorf("%w: decisions of the save %d: %w", ErrCorrupt, saved, err)
	}
	all := make([]decision.Decision, 0, len(stood))
	for i := range stood {
		d, err := stood[i].then(changes[i])
		if err != nil {
			return nil, fmt.Errorf("%w: %s at the save %d: %w", ErrCorrupt, stood[i].decision.ID, saved, err)
		}
		all = append(all, d)
	}
	return all, nil
}

// standsAt leaves what stood when decisions were saved; its two arguments are sweeps.saved.
const standsAt = "since <= ? AND (until IS NULL OR until > ?)"

// then is the decision with its numbers changed so.
func (s *standing) then(changes []change) (decision.Decision, error) {
	text, err := apply(s.text(), changes)
	if err != nil {
		return decision.Decision{}, err
	}
	findings, objections, _ := strings.Cut(text, separator)
	d := s.decision
	err = errors.Join(document{&d.Findings}.Scan(findings), document{&d.Objections}.Scan(objections))
	return d, err
}
