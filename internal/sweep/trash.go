package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Sized adds to acts what they take up in the trash.
func (m *Machine) Sized(ctx context.Context, kept []ledger.Act) []document.SetAside {
	var all []document.SetAside
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
	var intents []decision.Intent
	for _, x := range all {
		intents = append(intents, x.Intent)
	}
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

// Restore brings things back, each by itself, and gives those that came back, also beside an error.
func (s *Sweeper) Restore(ctx context.Context, wanted []decision.Intent) (back []document.Restored, err error) {
	host, err := host.Read(s.Cfg.Collect.Processes.Root, host.KnownNames())
	if err != nil {
		return nil, fmt.Errorf("restore: %w; nothing was restored", err)
	}
	by := s.Actuators(host, intendedRoots(wanted))
	defer s.Hands.Begin()()
	code, failed := exit.Done, error(nil)
	for _, in := range wanted {
		one, err := s.restoreOne(ctx, by[in.Kind], in)
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
func (s *Sweeper) restoreOne(ctx context.Context, actuator actuators.Actuator, in decision.Intent) (*document.Restored, error) {
	restorer, ok := actuator.(actuators.Restorer)
	if !ok {
		return nil, fmt.Errorf("a %s cannot be brought back", in.Kind)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%w; it was not restored", context.Cause(ctx))
	}
	ctx = context.WithoutCancel(ctx) // half a restore is worse than a late one
	where, err := restorer.Restore(ctx, in)
	if err != nil && !errors.Is(err, actuators.ErrPart) {
		return nil, err
	}
	if s.Ledger != nil { // what came back in part is not in the trash any more either
		if err := s.Ledger.MarkRestored(ctx, in.ID, time.Now()); err != nil {
			return nil, fmt.Errorf("record that it was restored, which was done: %w", err)
		}
	}
	if err != nil {
		return nil, err
	}
	one := &document.Restored{Restored: in.ID, Candidate: in.Candidate, Detail: where}
	const again = "where its reason still holds, a sweep %s again after %s (%s), unless it is retained"
	switch in.Kind {
	case snapshot.KindDir:
		one.Again = fmt.Sprintf(again, "sets it aside", "grace.dir", text.Span(config.Seconds(s.Cfg.Rules.Grace.Dir)))
		one.NextCommand = "winnow retain " + text.Quote(in.Candidate) + " --reason restored"
	case snapshot.KindSession: // it has another id now, which the next look tells
		one.Again = fmt.Sprintf(again, "closes it", "grace.session", text.Span(config.Seconds(s.Cfg.Rules.Grace.Session))) + "; this prints its id"
		one.NextCommand = "winnow sweep --kind session --all" // prints its id
	}
	return one, nil
}
