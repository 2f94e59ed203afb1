package codev

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/tower"
)

// Owners gives what is to be remembered after a look at everything: which terminal belongs to which builder, as far as this look or an
// earlier one knew. It changes neither s nor prev. It is asked for before anything is done on the look, for closing one terminal of a
// builder takes away what says whose the others are.
//
// What is remembered stays until it is positively otherwise: the terminal is another builder's, an architect's or a shell; or it is
// neither in the Tower's list nor in the store, both of which were read whole, and its process has ended. A list of nothing is no such
// list. What no look sees any more, neither itself nor its process, is remembered for span. A look that was narrowed to some candidates
// knows nothing of the others and must not be remembered.
func Owners(s *snapshot.Snapshot, prev []snapshot.Owner, span time.Duration) []snapshot.Owner {
	w := watch{Snapshot: s, at: s.TakenAt.Round(0).UTC(), listing: map[string]bool{}}
	now := map[[2]string]snapshot.Owner{}
	for _, t := range s.Terminals {
		w.listing[t.Source] = w.listing[t.Source] || t.Listed != nil && *t.Listed
		if o, ok := w.owner(&t); ok {
			now[[2]string{t.Source, t.ID}] = o
		}
	}
	for _, p := range prev {
		where := [2]string{p.Source, p.Terminal}
		o, found := now[where]
		switch {
		case !found:
			if w.keeps(&p, span) {
				now[where] = p
			}
		case o.Builder == p.Builder && o.Workspace == p.Workspace:
			now[where] = both(p, o)
		}
	}
	return slices.SortedFunc(maps.Values(now), func(a, b snapshot.Owner) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Terminal, b.Terminal))
	})
}

// watch is a look at everything; listing are the sources whose Tower listed anything.
type watch struct {
	*snapshot.Snapshot
	at      time.Time
	listing map[string]bool
}

// owner is what this look knows of a terminal's owner. A source that was not read whole tells nothing, and a process has no id to remember.
func (w *watch) owner(t *snapshot.Terminal) (snapshot.Owner, bool) {
	o := t.Owner
	if w.Sources[t.Source].Status != snapshot.OK || o == nil || o.Recorded == nil || t.Workspace == "" || !tower.ID.MatchString(t.ID) {
		return snapshot.Owner{}, false
	}
	if !*o.Recorded && o.Worktree == "" {
		return snapshot.Owner{}, false
	}
	out := snapshot.Owner{Source: t.Source, Terminal: t.ID, Workspace: t.Workspace, Builder: o.ID, Worktree: o.Worktree, Kind: t.RoleKind,
		FirstAt: w.at, LastAt: w.at}
	if *o.Recorded {
		out.RowAt = &w.at
	}
	if t.PID != nil && t.StartTicks != nil && w.Host.BootID != "" {
		out.BootID, out.PID, out.StartTicks = w.Host.BootID, *t.PID, *t.StartTicks
	}
	return out, true
}

// both is what an earlier look and this one know of the same owner.
func both(p, o snapshot.Owner) snapshot.Owner {
	o.FirstAt, o.LastAt = slices.MinFunc([]time.Time{p.FirstAt, o.FirstAt}, time.Time.Compare), later(p.LastAt, o.LastAt)
	o.RowAt = cmp.Or(o.RowAt, p.RowAt)
	o.Worktree = cmp.Or(o.Worktree, p.Worktree)
	if o.PID == 0 {
		o.BootID, o.PID, o.StartTicks = p.BootID, p.PID, p.StartTicks
	}
	return o
}

// keeps reports whether what is remembered of a terminal stays although this look does not know its owner, and notes that it is still there.
func (w *watch) keeps(p *snapshot.Owner, span time.Duration) bool {
	t, seen := w.Terminals[ID(p.Source, p.Terminal)]
	_, runs := w.Processes[snapshot.ProcessID(p.PID, p.StartTicks)]
	runs = runs && p.PID > 0 && p.BootID == w.Host.BootID
	ended := !runs && p.PID > 0 && p.BootID != "" && w.Host.BootID != "" && w.Sources[snapshot.Proc].Status == snapshot.OK
	whole := w.Sources[p.Source].Status == snapshot.OK
	switch {
	case whole && seen && (t.RoleKind == tower.KindArchitect || t.RoleKind == tower.KindShell):
		return false
	case whole && seen && t.Owner != nil && (tower.RoleKey(t.Owner.ID) != tower.RoleKey(p.Builder) || t.Workspace != "" && t.Workspace != p.Workspace):
		return false
	case seen || runs:
		p.LastAt = later(p.LastAt, w.at)
		return true
	case whole && w.listing[p.Source] && ended:
		return false
	}
	return w.at.Sub(p.LastAt) <= span
}

func later(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }
