package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// Holds are those in a ledger, and the leases, which count for every state folder. A nil ledger has none.
func (f *Folder) Holds(ctx context.Context, l *ledger.Ledger) ([]snapshot.Hold, error) {
	all, err := ledger.Leases(ctx, f.Acting, f.Cfg.State)
	if err != nil || l == nil {
		return all, err
	}
	holds, err := l.Holds(ctx)
	all = append(holds, all...)
	slices.SortStableFunc(all, func(x, y snapshot.Hold) int { return strings.Compare(x.ID, y.ID) })
	return all, err
}

// Lift lifts the holds and the leases on a candidate, and says how many there were.
func (f *Folder) Lift(ctx context.Context, l *ledger.Ledger, id string) (n int, err error) {
	if n, err = l.Release(ctx, id, ""); err != nil {
		return n, err
	}
	leases, err := ledger.Leases(ctx, f.Acting, f.Cfg.State)
	if err != nil || !slices.ContainsFunc(leases, func(h snapshot.Hold) bool { return h.ID == id }) {
		return n, err
	}
	g, err := f.OpenGrants()
	if err != nil {
		return n, err
	}
	more, err := g.Release(ctx, id, "")
	return n + more, errors.Join(err, g.Close())
}

// Place places a hold unless an act has begun that takes it: the error is a *ledger.Begun then.
func (f *Folder) Place(ctx context.Context, id string, place func() error) error {
	g, err := f.OpenGrants()
	if err != nil {
		return err
	}
	return errors.Join(g.Place(ctx, id, place), g.Close())
}

// OpenGrants opens the order of grants and acts of this user.
func (f *Folder) OpenGrants() (*ledger.Grants, error) {
	root := f.Cfg.Collect.Processes.Root
	return ledger.OpenGrants(f.Acting, f.Cfg.State, func(id string) ([]int, error) { return LineOf(root, id) })
}

// LineOf gives the process of a candidate's id and all above it; none where that process has ended.
func LineOf(root, id string) ([]int, error) {
	var pid int
	var ticks uint64
	if _, err := fmt.Sscanf(strings.TrimPrefix(id, snapshot.KindProcess+":"), "%d@%d", &pid, &ticks); err != nil {
		return nil, nil // it names no process that ever was
	}
	h, err := proc.Hold(root, pid)
	if errors.Is(err, proc.ErrEnded) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer h.Close()
	if h.Was.Start != ticks {
		return nil, nil
	}
	line, err := proc.Lineage(root, pid)
	if h.Ended() {
		return nil, nil
	}
	return line, err
}

// ReadHolds reads the holds and the leases.
func (f *Folder) ReadHolds(ctx context.Context) (holds []snapshot.Hold, err error) {
	none := true
	err = f.ReadLedger(func(l *ledger.Ledger) (err error) {
		none = false
		holds, err = f.Holds(ctx, l)
		return err
	})
	if err == nil && none {
		holds, err = f.Holds(ctx, nil)
	}
	return holds, err
}
