package ledger

import (
	"context"
	"database/sql"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

var sightingsTable = remembered[sighting]{
	table[string, sighting]{"sightings", "id, rule, identity, first_at, last_at, count, idle_since, work",
		func(_ *string, s *sighting) []any {
			return []any{&s.id, &s.Rule, &s.Identity, (*instant)(&s.FirstAt), (*instant)(&s.LastAt), &s.Count, maybe{&s.IdleSince}, document{&s.Work}}
		}},
	1,
	func(s *sighting) []*time.Time { return []*time.Time{&s.LastAt} },
	func(s *sighting) *int { return &s.Count },
}

// sighting is a sighting of a candidate.
type sighting struct {
	id string
	snapshot.Sighting
}

// Sightings gives all sightings by candidate id.
func (l *Ledger) Sightings(ctx context.Context) (map[string]snapshot.Sighting, error) {
	all := map[string]snapshot.Sighting{}
	if err := sightingsTable.all(ctx, l, func(s sighting) { all[s.id] = s.Sighting }); err != nil {
		return nil, l.explain("read sightings of", err)
	}
	return all, nil
}

// SaveSightings makes next all the sightings that there are.
func (l *Ledger) SaveSightings(ctx context.Context, next map[string]snapshot.Sighting) error {
	rows := make([]sighting, 0, len(next))
	for id, s := range next {
		rows = append(rows, sighting{id, s})
	}
	err := sightingsTable.save(ctx, l, rows)
	return l.explain("save sightings in", err)
}

var holdsTable = table[string, snapshot.Hold]{"holds", "id, owner, reason, since, until", func(_ *string, h *snapshot.Hold) []any {
	return []any{&h.ID, &h.Owner, &h.Reason, (*instant)(&h.Since), maybe{&h.Until}}
}}

// Holds gives all holds, lapsed ones among them, sorted by candidate id and owner.
func (l *Ledger) Holds(ctx context.Context) ([]snapshot.Hold, error) {
	return list(ctx, l, holdsTable, "ORDER BY id, owner")
}

// Hold places a hold. A second one of the same owner on the same candidate takes the first one's place; those of different
// owners stand side by side.
func (l *Ledger) Hold(ctx context.Context, h snapshot.Hold) error {
	return l.explain("place a hold in", hold(ctx, l.db, h))
}

// hold places a hold by a database or a transaction in it.
func hold(ctx context.Context, in interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}, h snapshot.Hold) error {
	_, err := in.ExecContext(ctx, `INSERT INTO holds (id, owner, reason, since, until) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (id, owner) DO UPDATE SET reason = excluded.reason, since = excluded.since, until = excluded.until`,
		h.ID, h.Owner, h.Reason, h.Since.UnixNano(), nanos(h.Until))
	return err
}

// HoldLonger places a hold, unless one of the same owner on the same candidate lasts as long or longer: that one stays as it is. It gives the one that stands.
func (l *Ledger) HoldLonger(ctx context.Context, h snapshot.Hold) (stands snapshot.Hold, err error) {
	err = l.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO holds (id, owner, reason, since, until) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (id, owner) DO UPDATE SET reason = excluded.reason, since = excluded.since, until = excluded.until
			WHERE holds.until IS NOT NULL AND (excluded.until IS NULL OR excluded.until > holds.until)`,
			h.ID, h.Owner, h.Reason, h.Since.UnixNano(), nanos(h.Until))
		if err != nil {
			return err
		}
		return each(ctx, tx, func(row *sql.Rows) error {
			return row.Scan(&stands.ID, &stands.Owner, &stands.Reason, (*instant)(&stands.Since), maybe{&stands.Until})
		}, "SELECT id, owner, reason, since, until FROM holds WHERE id = ? AND owner = ?", h.ID, h.Owner)
	})
	return stands, l.explain("place a hold in", err)
}

// PutOff gives holds, of which ID and Owner count, another end, all of them or none. It says of each whether there is such a hold.
func (l *Ledger) PutOff(ctx context.Context, holds []snapshot.Hold, until time.Time) (there []bool, err error) {
	there = make([]bool, len(holds))
	err = l.write(ctx, func(tx *sql.Tx) error {
		for i, h := range holds {
			res, err := tx.ExecContext(ctx, "UPDATE holds SET until = ? WHERE id = ? AND owner = ?", until.UnixNano(), h.ID, h.Owner)
			if err != nil {
				return err
			}
			n, err := res.RowsAffected()
			if err != nil {
				return err
			}
			there[i] = n > 0
		}
		return nil
	})
	return there, l.explain("put off a hold in", err)
}

// Release lifts the holds of one owner on a candidate, or of all owners where owner is "", and says how many there were.
func (l *Ledger) Release(ctx context.Context, id, owner string) (int, error) {
	res, err := l.db.ExecContext(ctx, "DELETE FROM holds WHERE id = ? AND (owner = ? OR ? = '')", id, owner, owner)
	if err != nil {
		return 0, l.explain("lift a hold in", err)
	}
	n, err := res.RowsAffected()
	return int(n), l.explain("lift a hold in", err)
}
