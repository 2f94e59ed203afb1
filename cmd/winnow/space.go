package main

import (
	"context"
	"errors"
	"time"

	actdirs "github.com/winnow-reaper/winnow/actuators/dirs"
	"github.com/winnow-reaper/winnow/collectors/dirs"
	"github.com/winnow-reaper/winnow/collectors/pressure"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sys/usage"
)

// errSizes is why a measuring ends before all was counted.
var errSizes = errors.New("collect.dirs.sizes has passed")

// measure fills in what the wanted folders take up. It takes collect.dirs.sizes at most; what was not counted by then is a size that is not
// complete.
func (a *looker) measure(ctx context.Context, s *snapshot.Snapshot, ds []decision.Decision, wanted func(decision.Decision) bool) {
	within := a.Cfg.Collect.Dirs.Sizes
	if within <= 0 {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, errSizes)
	defer cancel()
	now := time.Now().UTC()
	var trees []usage.Tree
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
			trees = append(trees, usage.Tree{Path: d.Path, Part: func(rel string) bool { return dirs.Rebuildable(a.Cfg.Rules.Rebuildable, rel) }})
			of = append(of, i)
		}
	}
	for k, u := range usage.Measure(ctx, trees) {
		z := &decision.Size{Bytes: u.Bytes, Rebuildable: u.PartBytes(), Shared: u.Shared, Complete: u.Complete, MeasuredAt: now}
		if big, ok := u.Largest(); ok {
			z.In = big.Path
		}
		ds[of[k]].Size = z
	}
}

// mayGo says whether a decision is one to tell a person the size of: nothing objects, or the wait alone.
func mayGo(d decision.Decision) bool { return d.Stands() }

// lying is what the acts in the trash take up there: as their plans say, or measured where those do not.
func (a *looker) lying(ctx context.Context, acts []ledger.Act) []report.Lying {
	out := make([]report.Lying, len(acts))
	var trees []usage.Tree
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
			trees, of = append(trees, usage.Tree{Path: place}), append(of, i)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, max(a.Cfg.Collect.Dirs.Sizes, time.Second), errSizes)
	defer cancel()
	for k, u := range usage.Measure(ctx, trees) {
		out[of[k]].Bytes, out[of[k]].Known = u.Bytes, u.Complete
	}
	return out
}

// weigh adds to the report what it means for the disk.
func (s *sweeper) weigh(ctx context.Context, r *report.Report) {
	if s.ledger == nil {
		return
	}
	kept, err := s.ledger.Restorable(ctx)
	if err != nil {
		s.Log.Warn("read what lies in the trash", "error", err)
		return
	}
	r.Weigh(s.lying(ctx, kept), s.Cfg.Act.TrashTTL)
}

// freeShare is the share of the file system at path that this user may still fill, of its blocks or its inodes, the lesser of both.
func freeShare(path string) (float64, error) {
	disk, inodes, err := pressure.Free(path)
	return min(disk, inodes), err
}
