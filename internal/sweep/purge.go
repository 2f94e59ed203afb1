package sweep

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	actdirs "github.com/winnow-reaper/winnow/actuators/dirs"
	"github.com/winnow-reaper/winnow/collectors/pressure"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sys/makers"
	"github.com/winnow-reaper/winnow/internal/text"
)

// purge removes for good what was set aside and has been kept for its time: by the wall clock, and by what looks counted since, for
// the one can be set to anything and the other cannot. Then it makes room where the trash is too large, or its file system too full.
func (s *Sweeper) purge(ctx context.Context, r *report.Report, snap *snapshot.Snapshot) {
	failed := func(err error) {
		r.Alarms = append(r.Alarms, report.Alarm{Rule: "trash", Message: fmt.Sprintf("the trash could not be read: %v; it was left untouched", err)})
	}
	if _, err := s.adopt(ctx, snap); err != nil {
		failed(err)
		return
	}
	expired, err := s.Ledger.Expired(ctx, time.Now())
	if err != nil {
		failed(err)
		return
	}
	unsteady := s.unsteady(snap)
	switch {
	case len(expired) == 0:
	case unsteady != "":
		s.Note("%s in the trash that %s past by the clock; %s, so nothing was removed for good", text.Plural(len(expired), "act"), are(len(expired)), unsteady)
	default:
		p := s.purger(snap, r, expired)
		defer s.Hands.Begin()()
		for _, rec := range expired {
			if ctx.Err() == nil && s.Halted() == nil && s.waited(ctx, r, rec) {
				p.purge(ctx, rec, report.PurgedExpired)
			}
		}
	}
	if unsteady != "" {
		return
	}
	kept, err := s.Ledger.Restorable(ctx)
	if err != nil {
		failed(err)
		return
	}
	s.makeRoom(ctx, r, snap, kept)
}

// purger removes acts' things for good and writes that down.
type purger struct {
	*Sweeper
	r      *report.Report
	byKind map[string]actuators.Actuator
}

func (s *Sweeper) purger(snap *snapshot.Snapshot, r *report.Report, recs []ledger.Act) purger {
	intents := text.Map(recs, func(rec ledger.Act) decision.Intent { return rec.Intent })
	return purger{s, r, s.Actuators(snap.Host, intendedRoots(intents))}
}

// purge removes one act's things, and reports whether they are gone.
func (p purger) purge(ctx context.Context, rec ledger.Act, why string) bool {
	restorer, ok := p.byKind[rec.Intent.Kind].(actuators.Restorer)
	if !ok {
		return false
	}
	freed, err := restorer.Purge(context.WithoutCancel(ctx), rec.Intent)
	if err != nil {
		p.r.Alarms = append(p.r.Alarms, report.Alarm{Rule: "trash", Candidate: rec.Intent.Candidate, Message: fmt.Sprintf("%s could not be purged: %v", rec.Intent.ID, err)})
		return false
	}
	if err := p.Ledger.MarkPurged(context.WithoutCancel(ctx), rec.Intent.ID, time.Now()); err != nil {
		p.Log.Warn("record purge", "act", rec.Intent.ID, "error", err)
	}
	p.r.Purged = append(p.r.Purged, report.Purged{Act: rec.Intent.ID, Candidate: rec.Intent.Candidate, Bytes: freed, Why: why})
	return true
}

// thing is a folder in the trash, with what it takes up and for how long it has been there, by the wall clock and by what looks counted: the
// lesser of both.
type thing struct {
	ledger.Act
	bytes int64
	age   time.Duration
	place string
}

// makeRoom removes the oldest folders in the trash before their time, where all of them take up more than act.trash_max, or where less
// than act.trash_pressure of their file system is free. What is younger than the floor of either stays, and so does what may hold something that no tool
// makes again: it has its whole time.
func (s *Sweeper) makeRoom(ctx context.Context, r *report.Report, snap *snapshot.Snapshot, kept []ledger.Act) {
	most, pressure := int64(s.Cfg.Act.TrashMax), float64(s.Cfg.Act.TrashPressure)
	if most <= 0 && pressure <= 0 || len(kept) == 0 {
		return
	}
	things, sum := s.things(ctx, kept)
	p := s.purger(snap, r, kept)
	defer s.Hands.Begin()()
	whole := 0
	for _, t := range things {
		if ctx.Err() != nil || s.Halted() != nil {
			return
		}
		why := ""
		if pressure > 0 && t.age >= s.Cfg.Act.TrashPressureKeeps {
			if free, err := freeShare(t.place); err == nil && free < pressure {
				why = report.PurgedPressure
			}
		}
		if most > 0 && sum > most && t.age >= s.Cfg.Act.TrashMaxKeeps {
			why = report.PurgedMax
		}
		if why != "" && !s.remade(ctx, t) {
			whole++
			continue
		}
		if why != "" && p.purge(ctx, t.Act, why) {
			sum -= t.bytes
		}
	}
	if whole > 0 {
		s.Note("%s in the trash may hold files that no tool makes again, so all of act.trash_ttl is kept although there is little room: winnow trash empty removes them",
			text.Plural(whole, "act"))
	}
	if most > 0 && sum > most {
		s.Note("%s lie in the trash and act.trash_max is %s; what is left is younger than act.trash_max_keeps (%s), or may hold files that no tool makes again, so it stays: winnow trash empty removes it",
			text.Size(sum), text.Size(most), text.Span(s.Cfg.Act.TrashMaxKeeps))
	}
}

// remade says whether tools make again all that lies in a folder in the trash and in no commit, by their own records.
func (s *Sweeper) remade(ctx context.Context, t thing) bool {
	tree, part := actdirs.Tree(t.Intent)
	return makers.Rebuildable(ctx, tree, part, s.Sources().Parts(ctx, tree))
}

// things are the folders in the trash whose size and age are known, the oldest first, and what all of them take up.
func (s *Sweeper) things(ctx context.Context, kept []ledger.Act) (out []thing, sum int64) {
	now := time.Now()
	for i, l := range s.AddTrashSize(ctx, kept) {
		rec := kept[i]
		sum += l.Bytes
		place := actdirs.Place(rec.Intent)
		waited, err := s.Ledger.Waited(ctx, rec.Intent.ID)
		if err != nil || place == "" || !l.Known {
			continue
		}
		out = append(out, thing{rec, l.Bytes, min(now.Sub(rec.Intent.At), waited), place})
	}
	slices.SortStableFunc(out, func(a, b thing) int { return a.Intent.At.Compare(b.Intent.At) })
	return out, sum
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// unsteady says why the clocks cannot be relied on now, or nothing.
func (s *Sweeper) unsteady(snap *snapshot.Snapshot) string {
	since, wait := snap.Host.SteadySince, config.Seconds(s.Cfg.Rules.SteadyFor)
	switch {
	case since == nil:
		return "since when its clock is steady is not known"
	case snap.TakenAt.Sub(*since) < wait:
		return fmt.Sprintf("the machine booted, resumed or changed its clock less than rules.steady_for (%s) ago", text.Span(wait))
	}
	return ""
}

// waited reports whether an act's things were kept for their time by what looks counted.
func (s *Sweeper) waited(ctx context.Context, r *report.Report, rec ledger.Act) bool {
	ttl := rec.Intent.RestoreUntil.Sub(rec.Intent.At)
	waited, err := s.Ledger.Waited(ctx, rec.Intent.ID)
	if err != nil {
		r.Alarms = append(r.Alarms, report.Alarm{Rule: "trash", Candidate: rec.Intent.Candidate, Message: fmt.Sprintf("%s could not be purged: %v", rec.Intent.ID, err)})
		return false
	}
	if waited < ttl {
		s.Note("%s in the trash is past its time by the clock, and this machine counted %s of %s since: it is kept until then", rec.Intent.ID, text.Span(waited), text.Span(ttl))
		return false
	}
	return true
}

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
