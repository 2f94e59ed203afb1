package ledger

import (
	"context"
	"database/sql"
	"time"

	"winnow/engine/snapshot"
)

// Sightings gives all sightings by candidate id.
func (l *Ledger) Sightings(ctx context.Context) (map[string]snapshot.Sighting, error) {
	all := map[string]snapshot.Sighting{}
	err := l.read(ctx, func(row *sql.Rows) error {
		var id string
		var s snapshot.Sighting
		var first, last int64
		var idle sql.NullInt64
		var work sql.NullString
		if err := row.Scan(&id, &s.Rule, &s.Identity, &first, &last, &s.Count, &idle, &work); err != nil {
			return err
		}
		s.FirstAt, s.LastAt, s.IdleSince = moment(first), moment(last), momentOrNil(idle)
		err := unpack(work, &s.Work)
		all[id] = s
		return err
	}, "SELECT id, rule, identity, first_at, last_at, count, idle_since, work FROM sightings")
	if err != nil {
		return nil, l.explain("read sightings of", err)
	}
	return all, nil
}

// SaveSightings makes next all the sightings that there are.
func (l *Ledger) SaveSightings(ctx context.Context, next map[string]snapshot.Sighting) error {
	err := l.write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM sightings"); err != nil {
			return err
		}
		put, err := tx.PrepareContext(ctx, "INSERT INTO sightings (id, rule, identity, first_at, last_at, count, idle_since, work) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
		if err != nil {
			return err
		}
		defer put.Close()
		for id, s := range next {
			work, err := pack(s.Work)
			if err != nil {
				return err
			}
			if _, err := put.ExecContext(ctx, id, s.Rule, s.Identity, s.FirstAt.UnixNano(), s.LastAt.UnixNano(), s.Count, nanos(s.IdleSince), work); err != nil {
				return err
			}
		}
		return nil
	})
	return l.explain("save sightings in", err)
}

// Holds gives all holds, lapsed ones among them, sorted by candidate id and owner.
func (l *Ledger) Holds(ctx context.Context) ([]snapshot.Hold, error) {
	all := []snapshot.Hold{}
	err := l.read(ctx, func(row *sql.Rows) error {
		var h snapshot.Hold
		var since int64
		var until sql.NullInt64
		if err := row.Scan(&h.ID, &h.Owner, &h.Reason, &since, &until); err != nil {
			return err
		}
		h.Since, h.Until = moment(since), momentOrNil(until)
		all = append(all, h)
		return nil
	}, "SELECT id, owner, reason, since, until FROM holds ORDER BY id, owner")
	if err != nil {
		return nil, l.explain("read holds of", err)
	}
	return all, nil
}

// Hold places a hold. A second one of the same owner on the same candidate takes the first one's place; those of different
// owners stand side by side.
func (l *Ledger) Hold(ctx context.Context, h snapshot.Hold) error {
	_, err := l.db.ExecContext(ctx, `INSERT INTO holds (id, owner, reason, since, until) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (id, owner) DO UPDATE SET reason = excluded.reason, since = excluded.since, until = excluded.until`,
		h.ID, h.Owner, h.Reason, h.Since.UnixNano(), nanos(h.Until))
	return l.explain("place a hold in", err)
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

// DropLapsed forgets the holds that lapsed before now.
func (l *Ledger) DropLapsed(ctx context.Context, now time.Time) error {
	_, err := l.db.ExecContext(ctx, "DELETE FROM holds WHERE until < ?", now.UnixNano())
	return l.explain("drop lapsed holds of", err)
}
