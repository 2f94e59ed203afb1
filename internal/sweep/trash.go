package sweep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	actdirs "github.com/winnow-reaper/winnow/actuators/dirs"
	"github.com/winnow-reaper/winnow/collectors/pressure"
	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/sys/makers"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Sized adds to acts what they take up in the trash.
func (m *Machine) Sized(ctx context.Context, kept []ledger.Act) (all []document.SetAside) {
	for i, l := range m.AddTrashSize(ctx, kept) {
		one := document.SetAside{Act: kept[i]}
		if l.Known {
			one.Bytes = new(l.Bytes)
		}
		all = append(all, one)
	}
	return all
}

// Empty removes all that still lies in the trash of what is given, by the rules of purging: only what is unchanged and that no process uses.
func (s *Sweeper) Empty(ctx context.Context, all []document.SetAside) (document.Emptied, error) {
	out := document.Emptied{Removed: []report.Purged{}, Left: []document.Left{}}
	if len(all) == 0 {
		return out, nil
	}
	still, lost := s.OpenTrash(ctx)
	if lost != nil {
		s.Note("%v; that something was removed is not recorded", lost)
	}
	intents := text.Map(all, func(x document.SetAside) decision.Intent { return x.Intent })
	host, err := host.Read(s.Cfg.Collect.Processes.Root, host.KnownNames())
	if err != nil {
		return out, fmt.Errorf("empty the trash: %w; nothing was removed", err)
	}
	by := s.Actuators(host, intendedRoots(intents))
	defer s.Hands.Begin()()
	for _, in := range intents {
		if !slices.ContainsFunc(still, func(k ledger.Act) bool { return k.Intent.ID == in.ID }) {
			continue // another command brought it back or removed it meanwhile
		}
		freed, err := s.removeOne(ctx, by[in.Kind], in)
		if err != nil {
			out.Left = append(out.Left, document.Left{Act: in.ID, Candidate: in.Candidate, Why: err.Error()})
			continue
		}
		out.Removed = append(out.Removed, report.Purged{Act: in.ID, Candidate: in.Candidate, Bytes: freed})
		out.Freed += freed
	}
	return out, nil
}

// removeOne removes for good what one act set aside, and gives how many bytes came free.
func (s *Sweeper) removeOne(ctx context.Context, actuator actuators.Actuator, in decision.Intent) (int64, error) {
	restorer, ok := actuator.(actuators.Restorer)
	if !ok {
		return 0, fmt.Errorf("nothing here can remove what an act on a %s set aside", in.Kind)
	}
	if ctx.Err() != nil {
		return 0, fmt.Errorf("%w; it was not removed", context.Cause(ctx))
	}
	ctx = context.WithoutCancel(ctx)
	freed, err := restorer.Purge(ctx, in)
	if err != nil {
		return 0, err
	}
	if s.Ledger != nil {
		if err := s.Ledger.MarkPurged(ctx, in.ID, time.Now()); err != nil {
			return freed, fmt.Errorf("record that it was removed, which was done: %w", err)
		}
	}
	return freed, nil
}

// Hold places a hold on a candidate, and gives the one that stands.
type Hold func(ctx context.Context, id string) (snapshot.Hold, error)

// Restore brings things back, each by itself, and gives those that came back, also beside an error. Each is held, if hold is not nil, before
// any sweep can take it again.
func (s *Sweeper) Restore(ctx context.Context, wanted []decision.Intent, hold Hold) (back []document.Restored, err error) {
	host, err := host.Read(s.Cfg.Collect.Processes.Root, host.KnownNames())
	if err != nil {
		return nil, fmt.Errorf("restore: %w; nothing was restored", err)
	}
	by := s.Actuators(host, intendedRoots(wanted))
	defer s.Hands.Begin()()
	code, failed := exit.Done, error(nil)
	for _, in := range wanted {
		one, err := s.restoreOne(ctx, by[in.Kind], in, hold)
		switch {
		case err == nil:
			back = append(back, *one)
			continue
		case errors.Is(err, actuators.ErrPart) || errors.Is(err, actuators.ErrRefused):
			code = max(code, exit.Part)
		default:
			code = exit.Failed
		}
		failed = errors.Join(failed, fmt.Errorf("restore %s: %w", in.ID, err))
	}
	if code == exit.Part {
		return back, exit.Error{Code: code, Err: failed}
	}
	return back, failed
}

// restoreOne brings one thing back, and writes that down. What came back in part is an actuators.ErrPart.
func (s *Sweeper) restoreOne(ctx context.Context, actuator actuators.Actuator, in decision.Intent, hold Hold) (*document.Restored, error) {
	restorer, ok := actuator.(actuators.Restorer)
	if !ok {
		return nil, fmt.Errorf("a %s cannot be brought back", in.Kind)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%w; it was not restored", context.Cause(ctx))
	}
	ctx = context.WithoutCancel(ctx) // half a restore is worse than a late one
	there, err := restorer.Restore(ctx, in)
	if err != nil && !errors.Is(err, actuators.ErrPart) {
		return nil, err
	}
	one := &document.Restored{Restored: in.ID, Candidate: in.Candidate, Detail: there.Where}
	if hold != nil && there.Candidate != "" && s.Ledger != nil {
		if h, unheld := hold(ctx, there.Candidate); unheld == nil {
			one.Held, one.NextCommand = &h, "winnow release "+text.Quote(h.ID)
		} else {
			s.Note("%s is back, and is not held: %v", there.Candidate, unheld)
		}
	}
	if s.Ledger != nil { // what came back in part is not in the trash any more either
		if err := s.Ledger.MarkRestored(ctx, in.ID, time.Now()); err != nil {
			return nil, fmt.Errorf("record that it was restored, which was done: %w", err)
		}
	}
	switch {
	case err != nil && one.Held != nil:
		return nil, fmt.Errorf("%w; it is held, so that no sweep takes it: %s lifts the hold", err, one.NextCommand)
	case err != nil || one.Held != nil:
		return one, err
	}
	const again = "where its reason still holds, a sweep %s again after %s (%s), unless it is retained"
	switch in.Kind {
	case snapshot.KindDir:
		one.Again = fmt.Sprintf(again, "sets it aside", "grace.dir", text.Span(config.Seconds(s.Cfg.Rules.Grace.Dir)))
	case snapshot.KindSession:
		one.Again = fmt.Sprintf(again, "closes it", "grace.session", text.Span(config.Seconds(s.Cfg.Rules.Grace.Session)))
	default:
		return one, nil
	}
	one.NextCommand = "winnow retain " + text.Quote(there.Candidate) + " --reason restored"
	return one, nil
}

// Restorable lists what can be brought back: what the ledger says, and what it does not know and the manifests in the trash do. An error
// says that the ledger could not be read; what the manifests say is then the answer.
func (m *Machine) Restorable(ctx context.Context) ([]ledger.Act, error) {
	r, err := m.TrashIndex(ctx)
	return append(r.Kept, NotInLedger(m.asides(ctx, m.TrashRoots(nil, r.Roots), r.Known))...), err
}

// TrashIndex is what a ledger knows of the trash.
type TrashIndex struct {
	// Kept are the acts that can be brought back, roots the folders below which acts were begun.
	Kept  []ledger.Act
	Roots []string
	// Known are the acts whose manifests need not be read: those that can be brought back, and those that were cut short, which are for the next sweep to settle.
	Known map[string]bool
}

func trashIndex(ctx context.Context, l *ledger.Ledger) (r TrashIndex, err error) {
	unsettled, err := l.Unsettled(ctx) // first: an act that is settled in between is then in both
	if err != nil {
		return TrashIndex{}, err
	}
	if r.Kept, err = l.Restorable(ctx); err != nil {
		return TrashIndex{}, err
	}
	if r.Roots, err = l.Roots(ctx); err != nil {
		return TrashIndex{}, err
	}
	r.Known = map[string]bool{}
	for _, act := range r.Kept {
		r.Known[act.Intent.ID] = true
	}
	for _, in := range unsettled {
		r.Known[in.ID] = true
	}
	return r, nil
}

// TrashIndex is what the ledger knows of the trash, nothing where it cannot be read.
func (m *Machine) TrashIndex(ctx context.Context) (r TrashIndex, err error) {
	err = m.ReadLedger(func(l *ledger.Ledger) (err error) {
		r, err = trashIndex(ctx, l)
		return err
	})
	return r, err
}

// NotInLedger are acts that only a manifest tells of, but for those that cannot be brought back any more.
func NotInLedger(asides []actdirs.Aside) (out []ledger.Act) {
	for _, x := range asides {
		if !x.Half {
			out = append(out, ledger.Act{Intent: x.Intent})
		}
	}
	return out
}

// asides reads the manifests in every trash that this user may have, and says which of them were passed over.
func (m *Machine) asides(ctx context.Context, roots []string, known map[string]bool) []actdirs.Aside {
	found, wrong := m.AsidesOf(ctx, roots, known)
	for _, err := range wrong {
		m.Note("passed over in the trash: %v", err)
	}
	return found
}

// AsidesOf lists by their manifests what lies in the trashes of roots, without the acts that are known, and the errors of those that could not be read.
func (m *Machine) AsidesOf(ctx context.Context, roots []string, known map[string]bool) ([]actdirs.Aside, []error) {
	dirs, ok := m.Actuators(snapshot.Host{}, roots)[snapshot.KindDir].(*actdirs.Actuator)
	if !ok {
		return nil, nil
	}
	return dirs.Asides(ctx, known)
}

// TrashRoots are the folders in which there may be a trash: the roots and repositories that the configuration and the place where the
// command runs lead to, those that a look found, and those that are on record. A worktree's root is the folder that it lies in.
func (m *Machine) TrashRoots(s *snapshot.Snapshot, recorded []string) []string {
	roots := map[string]bool{}
	add := func(path string) {
		if real, err := filepath.EvalSymlinks(path); err == nil && filepath.IsAbs(real) {
			roots[real] = true
		}
	}
	around := func(path string) {
		for _, at := range []string{path, filepath.Dir(path)} {
			add(at)
			for _, name := range m.Cfg.Rules.WorktreeFolders {
				add(filepath.Join(at, name))
			}
		}
		entries, err := filepath.Glob(filepath.Join(path, ".git", "worktrees", "*", "gitdir"))
		if err != nil { // a path that is a bad pattern names no entries
			entries = nil
		}
		for _, entry := range entries {
			if text, err := os.ReadFile(entry); err == nil {
				add(filepath.Dir(filepath.Dir(strings.TrimSpace(string(text)))))
			}
		}
	}
	for _, src := range m.Sources().Dirs(sources.Scope{}) {
		around(src.Path)
	}
	if s != nil {
		for _, root := range rootsOf(s) {
			add(root)
		}
	}
	for _, root := range recorded {
		add(root)
	}
	return slices.Sorted(maps.Keys(roots))
}

// OpenTrash opens the ledger and lists what can be brought back, once the ledger has taken in what it did not know. lost is why there
// is no ledger.
func (s *Sweeper) OpenTrash(ctx context.Context) (kept []ledger.Act, lost error) {
	l, err := ledger.Open(s.LedgerPath())
	if err == nil {
		if _, err = l.Restorable(ctx); err != nil {
			_ = l.Close()
		}
	}
	if err != nil {
		return NotInLedger(s.asides(ctx, s.TrashRoots(nil, nil), nil)), fmt.Errorf("read ledger: %w", err)
	}
	s.Ledger = l
	if err := s.adopt(ctx, nil); err != nil {
		s.Note("%v", err)
	}
	kept, err = l.Restorable(ctx)
	return kept, err
}

// adopt writes what lies in the trash and is not on record into the ledger.
func (s *Sweeper) adopt(ctx context.Context, snap *snapshot.Snapshot) error {
	r, err := trashIndex(ctx, s.Ledger)
	if err != nil {
		return fmt.Errorf("read ledger: %w", err)
	}
	n := 0
	for _, x := range s.asides(ctx, s.TrashRoots(snap, r.Roots), r.Known) {
		until := x.Intent.RestoreUntil
		if until.IsZero() {
			until = x.Intent.At.Add(s.Cfg.Act.TrashTTL)
		}
		added, err := s.Ledger.Adopt(ctx, x.Intent, decision.Outcome{Outcome: decision.Done, RestoreUntil: &until,
			Detail: "by the manifest in the trash: the ledger did not know of it"})
		if err != nil {
			return fmt.Errorf("write down what lies in the trash: %w", err)
		}
		if added {
			n++
		}
	}
	if n > 0 {
		s.Note("%s in the trash were not in the ledger, or marked as gone there; act.trash_ttl begins for them now", text.Plural(n, "folder"))
	}
	return nil
}

// purge removes for good what was set aside and has been kept for its time: by the wall clock, and by what looks counted since, for
// the one can be set to anything and the other cannot. Then it makes room where the trash is too large, or its file system too full.
func (s *Sweeper) purge(ctx context.Context, r *report.Report, snap *snapshot.Snapshot) {
	failed := func(err error) {
		r.Alarms = append(r.Alarms, report.Alarm{Rule: "trash", Message: fmt.Sprintf("the trash could not be read: %v; it was left untouched", err)})
	}
	if err := s.adopt(ctx, snap); err != nil {
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
		s.Note("%s in the trash that %s past by the clock; %s, so nothing was removed for good", text.Plural(len(expired), "act"), []string{"is", "are"}[min(len(expired), 2)-1], unsteady)
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
	most, least := int64(s.Cfg.Act.TrashMax), float64(s.Cfg.Act.TrashPressure)
	if most <= 0 && least <= 0 || len(kept) == 0 {
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
		if least > 0 && t.age >= s.Cfg.Act.TrashPressureKeeps {
			// What this user may still fill of the file system: of its blocks or its inodes, the lesser of both.
			if disk, inodes, err := pressure.Free(t.place); err == nil && min(disk, inodes) < least {
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
		s.Note("%s in the trash may hold files that no tool makes again: they stay for act.trash_ttl, although room is short: winnow trash empty removes them",
			text.Plural(whole, "act"))
	}
	if most > 0 && sum > most {
		s.Note("%s lie in the trash, more than act.trash_max (%s): what is younger than act.trash_max_keeps (%s) or may not be made again stays: winnow trash empty removes it",
			text.Size(sum), text.Size(most), text.Span(s.Cfg.Act.TrashMaxKeeps))
	}
}

// remade says whether tools make again all that lies in a folder in the trash and in no commit, by their own records.
func (s *Sweeper) remade(ctx context.Context, t thing) bool {
	tree, part := actdirs.Tree(t.Intent)
	return makers.Rebuildable(ctx, tree, part, s.Sources().Parts(ctx)(tree))
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
