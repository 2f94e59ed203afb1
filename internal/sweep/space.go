package sweep

import (
	"context"

	"github.com/winnow-reaper/winnow/collectors/pressure"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/report"
)

// MayGo says whether a decision is one to tell a person the size of: nothing objects, or the wait alone.
func MayGo(d decision.Decision) bool { return d.Stands() }

// Weigh adds to the report what it means for the disk.
func (s *Sweeper) Weigh(ctx context.Context, r *report.Report) {
	if s.Ledger == nil {
		return
	}
	kept, err := s.Ledger.Restorable(ctx)
	if err != nil {
		s.Log.Warn("read what lies in the trash", "error", err)
		return
	}
	r.Weigh(s.AddTrashSize(ctx, kept), s.Cfg.Act.TrashTTL)
}

// freeShare is the share of the file system at path that this user may still fill, of its blocks or its inodes, the lesser of both.
func freeShare(path string) (float64, error) {
	disk, inodes, err := pressure.Free(path)
	return min(disk, inodes), err
}
