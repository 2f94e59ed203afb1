package look

import (
	"context"
	"errors"
	"time"

	actdirs "github.com/winnow-reaper/winnow/actuators/dirs"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sys/du"
)

// errSizes is why a measuring ends before all was counted.
var errSizes = errors.New("collect.dirs.sizes has passed")

// AddSizes fills in what the wanted folders take up. It takes collect.dirs.sizes at most; what was not counted by then is a size that is not
// complete.
func (l *Looker) AddSizes(ctx context.Context, s *snapshot.Snapshot, ds []decision.Decision, wanted func(decision.Decision) bool) {
	within := l.Cfg.Collect.Dirs.Sizes
	if within <= 0 {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, errSizes)
	defer cancel()
	now := time.Now().UTC()
	var trees []du.Tree
	var of []int
	for i := range ds {
		d, seen := s.Dirs[ds[i].ID]
		switch {
		case !seen || !wanted(ds[i]):
		case d.Content != nil:
			if b := d.Content.Bytes; b != nil { // the look that found it has counted it
				ds[i].Size = &decision.Size{Bytes: *b, Rebuildable: *b, In: d.Name, Complete: true, MeasuredAt: s.TakenAt}
			}
		case d.Gone != nil: // a few kilobytes in its repository
		case d.Symlink != nil && !*d.Symlink:
			trees = append(trees, du.Tree{Path: d.Path, Part: l.Sources().Parts(ctx, d.Path)})
			of = append(of, i)
		}
	}
	for k, u := range du.Measure(ctx, trees) {
		z := &decision.Size{Bytes: u.Bytes, Rebuildable: u.PartBytes(), Shared: u.Shared, Complete: u.Complete, MeasuredAt: now}
		if big, ok := u.Largest(); ok {
			z.In = big.Path
		}
		ds[of[k]].Size = z
	}
}

// AddTrashSize is what the acts in the trash take up there: as their plans say, or measured where those do not.
func (l *Looker) AddTrashSize(ctx context.Context, acts []ledger.Act) []report.Lying {
	out := make([]report.Lying, len(acts))
	var trees []du.Tree
	var of []int
	for i, act := range acts {
		out[i].Until = act.Intent.RestoreUntil
		if act.Intent.Identity.Dir == nil { // the text of a pane: a few kilobytes
			out[i].Known = true
			continue
		}
		if out[i].Bytes, out[i].Known = actdirs.Bytes(act.Intent); out[i].Known {
			continue
		}
		if place := actdirs.Place(act.Intent); place != "" {
			trees, of = append(trees, du.Tree{Path: place}), append(of, i)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, max(l.Cfg.Collect.Dirs.Sizes, time.Second), errSizes)
	defer cancel()
	for k, u := range du.Measure(ctx, trees) {
		out[of[k]].Bytes, out[of[k]].Known = u.Bytes, u.Complete
	}
	return out
}
