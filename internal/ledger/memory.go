package ledger

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// remember makes v all that is remembered by that name: each look writes it whole, as compressed JSON.
func (l *Ledger) remember(ctx context.Context, name string, v any) error {
	return l.explain("save "+name+" in", remember(ctx, l.db, name, v))
}

// remember does the same by a database or a transaction in it.
func remember(ctx context.Context, in execer, name string, v any) error {
	var packed bytes.Buffer
	z, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err == nil {
		err = errors.Join(json.NewEncoder(z).Encode(v), z.Close())
	}
	if err == nil {
		_, err = in.ExecContext(ctx, "INSERT OR REPLACE INTO remembered (name, value) VALUES (?, ?)", name, packed.Bytes())
	}
	return err
}

// recalled is what is remembered by that name, and empty before anything was.
func recalled[T any](ctx context.Context, l *Ledger, name string, empty T) (T, error) {
	all, err := recall(ctx, l.db, name, empty)
	return all, l.explain("read "+name+" of", err)
}

// recall does the same by a database or a transaction in it.
func recall[T any](ctx context.Context, q querier, name string, empty T) (T, error) {
	var packed []byte
	all := empty
	found, err := scanOne(ctx, q, []any{&packed}, "SELECT value FROM remembered WHERE name = ?", name)
	if found && err == nil {
		var text []byte
		if text, err = io.ReadAll(flate.NewReader(bytes.NewReader(packed))); err == nil {
			err = json.Unmarshal(text, &all)
		}
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	}
	if err != nil {
		var none T
		return none, err
	}
	return all, nil
}

// Sightings gives all sightings by candidate id.
func (l *Ledger) Sightings(ctx context.Context) (map[string]snapshot.Sighting, error) {
	return recalled(ctx, l, "sightings", map[string]snapshot.Sighting{})
}

// SaveSightings makes next all the sightings that there are.
func (l *Ledger) SaveSightings(ctx context.Context, next map[string]snapshot.Sighting) error {
	if next == nil {
		next = map[string]snapshot.Sighting{}
	}
	return l.remember(ctx, "sightings", next)
}

// Owners gives which terminals belong to which builders as earlier looks found it, sorted by source and terminal.
func (l *Ledger) Owners(ctx context.Context) ([]snapshot.Owner, error) {
	return recalled(ctx, l, "owners", []snapshot.Owner{})
}

// SaveOwners makes next all the owners that are remembered.
func (l *Ledger) SaveOwners(ctx context.Context, next []snapshot.Owner) error {
	next = append([]snapshot.Owner{}, next...)
	slices.SortFunc(next, func(a, b snapshot.Owner) int {
		return cmp.Or(strings.Compare(a.Source, b.Source), strings.Compare(a.Terminal, b.Terminal))
	})
	return l.remember(ctx, "owners", next)
}

// Ancestries gives which processes earlier looks saw below which agents, sorted by pid.
func (l *Ledger) Ancestries(ctx context.Context) ([]snapshot.Ancestry, error) {
	return recalled(ctx, l, "descents", []snapshot.Ancestry{})
}

// SaveAncestries makes next all that is remembered of which processes are below agents.
func (l *Ledger) SaveAncestries(ctx context.Context, next []snapshot.Ancestry) error {
	next = append([]snapshot.Ancestry{}, next...)
	slices.SortFunc(next, func(a, b snapshot.Ancestry) int { return cmp.Compare(a.PID, b.PID) })
	return l.remember(ctx, "descents", next)
}

// maxNamespaces is for how many pid namespaces mount points are remembered: each container has one of its own.
const maxNamespaces = 16

// Mounts gives the mount points on which earlier looks in a pid namespace saw folders, those that were seen last
// first: what is mounted in a container says nothing of the disks of its host.
func (l *Ledger) Mounts(ctx context.Context, namespace string) ([]string, error) {
	all, err := recalled(ctx, l, "mounts", map[string][]string{})
	return all[namespace], err
}

// SaveMounts makes next all the mount points that are remembered of a pid namespace.
func (l *Ledger) SaveMounts(ctx context.Context, namespace string, next []string) error {
	all, err := recalled(ctx, l, "mounts", map[string][]string{})
	if err != nil {
		return err
	}
	kept := map[string][]string{namespace: next}
	for other, points := range all {
		if other != namespace && (len(kept) <= maxNamespaces || other == proc.FirstNamespace) {
			kept[other] = points
		}
	}
	return l.remember(ctx, "mounts", kept)
}

// Connected gives since when looks have found processes connected, by candidate id.
func (l *Ledger) Connected(ctx context.Context) (map[string]time.Time, error) {
	return recalled(ctx, l, "connected", map[string]time.Time{})
}

// SaveConnected makes what a look found all that is remembered of connected processes.
func (l *Ledger) SaveConnected(ctx context.Context, s *snapshot.Snapshot) error {
	next := map[string]time.Time{}
	for id, p := range s.Processes {
		if p.ConnectedSince != nil {
			next[id] = *p.ConnectedSince
		}
	}
	return l.remember(ctx, "connected", next)
}

var holdsTable = table[string, snapshot.Hold]{"holds", "id, owner, reason, since, until", func(_ *string, h *snapshot.Hold) []any {
	return []any{&h.ID, &h.Owner, &h.Reason, (*unixTime)(&h.Since), nullTime{&h.Until}}
}}

// Holds gives all holds, lapsed ones among them, sorted by candidate id and owner.
func (l *Ledger) Holds(ctx context.Context) ([]snapshot.Hold, error) {
	return list(ctx, l, holdsTable, "ORDER BY id, owner")
}

// Hold places a hold. A second one of the same owner on the same candidate takes the first one's place; those of
// different owners stand side by side.
func (l *Ledger) Hold(ctx context.Context, h snapshot.Hold) error {
	return l.explain("place a hold in", hold(ctx, l.db, h))
}

// hold places a hold by a database or a transaction in it.
func hold(ctx context.Context, in execer, h snapshot.Hold) error {
	_, err := in.ExecContext(ctx, placeHold, h.ID, h.Owner, h.Reason, h.Since.UnixNano(), nanos(h.Until))
	return err
}

const placeHold = `INSERT INTO holds (id, owner, reason, since, until) VALUES (?, ?, ?, ?, ?)
	ON CONFLICT (id, owner) DO UPDATE SET reason = excluded.reason, since = excluded.since, until = excluded.until`

// HoldLonger places a hold, unless one of the same owner on the same candidate lasts as long or longer: that one stays
// as it is. It gives the one that stands.
func (l *Ledger) HoldLonger(ctx context.Context, h snapshot.Hold) (stands snapshot.Hold, err error) {
	err = l.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, placeHold+` WHERE holds.until IS NOT NULL
			AND (excluded.until IS NULL OR excluded.until > holds.until)`, h.ID, h.Owner, h.Reason, h.Since.UnixNano(), nanos(h.Until))
		if err != nil {
			return err
		}
		take := func(_ string, s snapshot.Hold) { stands = s }
		return holdsTable.eachRow(ctx, tx, take, "WHERE id = ? AND owner = ?", h.ID, h.Owner)
	})
	return stands, l.explain("place a hold in", err)
}

// PutOff gives holds, of which ID and Owner count, another end, all of them or none. It says of each whether there is
// such a hold.
func (l *Ledger) PutOff(ctx context.Context, holds []snapshot.Hold, until time.Time) (there []bool, err error) {
	there = make([]bool, len(holds))
	err = l.write(ctx, func(tx *sql.Tx) error {
		for i, h := range holds {
			n, err := exec(ctx, tx, "UPDATE holds SET until = ? WHERE id = ? AND owner = ?",
				until.UnixNano(), h.ID, h.Owner)
			if err != nil {
				return err
			}
			there[i] = n > 0
		}
		return nil
	})
	return there, l.explain("put off a hold in", err)
}

// Release lifts the holds of one owner on a candidate, or of all owners where owner is "", and says how many there
// were.
func (l *Ledger) Release(ctx context.Context, id, owner string) (int, error) {
	n, err := exec(ctx, l.db, "DELETE FROM holds WHERE id = ? AND (owner = ? OR ? = '')", id, owner, owner)
	return int(n), l.explain("lift a hold in", err)
}

// Brakes reads what the daemon remembers of its brakes into m; m stays as it is where nothing is remembered.
func (l *Ledger) Brakes(ctx context.Context, m any) error {
	var text string
	there, err := scanOne(ctx, l.db, []any{&text}, "SELECT memory FROM brakes")
	if there && err == nil {
		err = json.Unmarshal([]byte(text), m)
	}
	return l.explain("read the brakes from", err)
}

// SaveBrakes makes m what the daemon remembers of its brakes.
func (l *Ledger) SaveBrakes(ctx context.Context, m any) error {
	text, err := encode(m)
	if err == nil {
		_, err = l.db.ExecContext(ctx, `INSERT INTO brakes (one, memory) VALUES (1, ?)
			ON CONFLICT (one) DO UPDATE SET memory = excluded.memory WHERE memory <> excluded.memory`, text)
	}
	return l.explain("save the brakes in", err)
}
