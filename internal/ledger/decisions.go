package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
)

// standing is a decision as it is written: once for all sweeps that decide so, by the same rules. Messages and
// evidence are of one look; what was acted on has them in the intent of its act.
type standing struct {
	k, since  int64
	id, label string
	ruling    int64
}

var standingTable = table[int64, standing]{"standing", "since, id, label, ruling", func(since *int64, s *standing) []any {
	return []any{since, &s.id, &s.label, &s.ruling}
}}

// ruling is what decisions of many things have in common: most things stay for one of a few reasons.
type ruling struct {
	kind, verdict, owner string
	findings, objections string // the ids of rules, with spaces between
	firstSighting        bool
}

var rulingsTable = table[int64, ruling]{"rulings", "k, kind, verdict, owner, findings, objections, first_sighting", func(k *int64, r *ruling) []any {
	return []any{k, &r.kind, &r.verdict, &r.owner, &r.findings, &r.objections, &r.firstSighting}
}}

// SaveDecisions records what a sweep decided of the candidates in scope, durably and all at once: each verdict with
// its rules. Those out of scope are left out. What the sweep before decided by the same rules is not written again.
// ErrNone says that the sweep never began; saving the decisions of a sweep twice is an error.
func (l *Ledger) SaveDecisions(ctx context.Context, sweep string, decisions []decision.Decision) error {
	return l.explain("save decisions in", l.write(ctx, func(tx *sql.Tx) error { return saveStanding(ctx, tx, sweep, decisions) }))
}

// byRules are reasons that are known by their rules alone.
func byRules(ids string) []decision.Reason {
	reasons := []decision.Reason{}
	for _, id := range strings.Fields(ids) {
		reasons = append(reasons, decision.Reason{Rule: id})
	}
	return reasons
}

func saveStanding(ctx context.Context, tx *sql.Tx, sweep string, decisions []decision.Decision) error {
	var n int64
	var saved sql.NullInt64
	switch found, err := scanOne(ctx, tx, []any{&n, &saved}, "SELECT n, saved FROM sweeps WHERE id = ?", sweep); {
	case err != nil:
		return err
	case !found:
		return fmt.Errorf("sweep %s: %w", sweep, ErrNone)
	case saved.Valid:
		return fmt.Errorf("sweep %s: its decisions were saved before", sweep)
	}
	var err error
	if saved.Int64, err = nextSave(ctx, tx); err != nil {
		return err
	}
	now, err := rule(ctx, tx, decisions)
	if err != nil {
		return err
	}
	gone, fresh, err := compare(ctx, tx, now)
	if err != nil {
		return err
	}
	return firstError(
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
			_, err := tx.ExecContext(ctx, "UPDATE sweeps SET saved = ? WHERE n = ?", saved.Int64, n)
			return err
		},
	)
}

// firstError runs steps up to the first that fails: after some errors SQLite has ended the transaction, and what came next would be
// written outside of it.
func firstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// nextSave is the number of the next save of decisions: later than all that is there, also after pruning.
func nextSave(ctx context.Context, tx *sql.Tx) (n int64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT 1 + max(coalesce((SELECT max(saved) FROM sweeps), 0), coalesce((SELECT max(until) FROM standing WHERE until IS NOT NULL), 0),
		coalesce((SELECT since FROM standing ORDER BY k DESC LIMIT 1), 0))`).Scan(&n)
	return n, err
}

// rule gives decisions in scope as they are written, sorted by candidate, and writes the rulings that are new.
func rule(ctx context.Context, tx *sql.Tx, decisions []decision.Decision) (now []standing, err error) {
	known, last, added := map[ruling]int64{}, int64(0), []ruling{}
	if err := rulingsTable.eachRow(ctx, tx, func(k int64, r ruling) { known[r], last = k, max(last, k) }, ""); err != nil {
		return nil, err
	}
	for _, d := range decisions {
		if !d.InScope {
			continue
		}
		r := ruling{d.Kind, d.Verdict, d.Owner, strings.Join(decision.RulesOf(d.Findings), " "), strings.Join(decision.RulesOf(d.Objections), " "), d.FirstSighting}
		if known[r] == 0 {
			last++
			known[r], added = last, append(added, r)
		}
		now = append(now, standing{id: d.ID, label: d.Label, ruling: known[r]})
	}
	slices.SortStableFunc(now, func(a, b standing) int { return strings.Compare(a.id, b.id) })
	return now, insert(ctx, tx, rulingsTable, added, func(r ruling) (int64, ruling) { return known[r], r })
}

// compare says of what stands and of what was decided now what does not stand any more, and what is to be written.
func compare(ctx context.Context, q querier, now []standing) (gone []int64, fresh []standing, err error) {
	left := make(map[string]standing, len(now))
	for _, s := range now {
		left[s.id] = s
	}
	err = eachStanding(ctx, q, func(s *standing) error {
		if d, there := left[s.id]; there && d.label == s.label && d.ruling == s.ruling {
			delete(left, s.id)
		} else {
			gone = append(gone, s.k)
		}
		return nil
	}, "WHERE until IS NULL")
	return gone, slices.DeleteFunc(now, func(s standing) bool { _, is := left[s.id]; return !is }), err
}

// eachStanding gives every standing decision that the rest of the query leaves. It is valid until add returns.
func eachStanding(ctx context.Context, q querier, add func(s *standing) error, rest string, args ...any) error {
	var s standing
	places := append([]any{&s.k}, standingTable.places(&s.since, &s)...)
	return eachRow(ctx, q, func(row *sql.Rows) error {
		if err := row.Scan(places...); err != nil {
			return fmt.Errorf("standing %d: %w", s.k, err)
		}
		return add(&s)
	}, "SELECT k, "+standingTable.columns+" FROM standing "+rest, args...)
}

// Decisions gives what a sweep decided, sorted by candidate id, as far as it is still kept: verdicts, and of their
// reasons the rules.
func (l *Ledger) Decisions(ctx context.Context, sweep string) ([]decision.Decision, error) {
	all := []decision.Decision{}
	err := l.reading(ctx, func(tx *sql.Tx) error {
		var n int64
		found, err := scanOne(ctx, tx, []any{&n}, "SELECT n FROM sweeps WHERE id = ?", sweep)
		if err != nil || !found {
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

// decided are the decisions of the sweep n, sorted by candidate id. q is a transaction: nothing may be pruned between
// two questions.
func decided(ctx context.Context, q *sql.Tx, n int64) ([]decision.Decision, error) {
	all := []decision.Decision{}
	var saved sql.NullInt64
	_, err := scanOne(ctx, q, []any{&saved}, "SELECT saved FROM sweeps WHERE n = ? AND pruned = 0", n)
	if err != nil || !saved.Valid {
		return all, err
	}
	rulings := map[int64]ruling{}
	if err := rulingsTable.eachRow(ctx, q, func(k int64, r ruling) { rulings[k] = r }, ""); err != nil {
		return all, err
	}
	err = eachStanding(ctx, q, func(s *standing) error {
		r, there := rulings[s.ruling]
		if !there {
			return fmt.Errorf("standing %d: %w: its ruling is missing", s.k, ErrCorrupt)
		}
		all = append(all, decision.Decision{ID: s.id, Kind: r.kind, InScope: true, Verdict: r.verdict, Label: s.label, Owner: r.owner,
			FirstSighting: r.firstSighting, Findings: byRules(r.findings), Objections: byRules(r.objections)})
		return nil
	}, "WHERE "+standsAt+" ORDER BY id, k", saved, saved)
	return all, err
}

// standsAt leaves what stood when decisions were saved; its two arguments are sweeps.saved.
const standsAt = "since <= ? AND (until IS NULL OR until > ?)"

// latestSweeps is in how many of the latest sweeps a repository is looked for.
const latestSweeps = 20

// Repositories gives the owners of the folders that the latest sweeps decided on, sorted: most are the main checkouts
// of repositories.
func (l *Ledger) Repositories(ctx context.Context) ([]string, error) {
	out, err := texts(ctx, l.db, `WITH latest AS (SELECT saved, pruned FROM sweeps WHERE n > (SELECT COALESCE(MAX(n), 0) FROM sweeps) - ?)
		SELECT DISTINCT owner FROM standing s JOIN rulings ON rulings.k = ruling WHERE kind = 'dir' AND owner <> ''
			AND EXISTS (SELECT 1 FROM latest WHERE pruned = 0 AND s.since <= saved AND (s.until IS NULL OR s.until > saved))
		ORDER BY owner`, latestSweeps)
	return out, l.explain("read repositories from", err)
}
