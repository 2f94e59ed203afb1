package sweep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Restore brings things back, each by itself, and gives those that came back, also beside an error.
func (s *Sweeper) Restore(ctx context.Context, wanted []decision.Intent) (back []document.Restored, err error) {
	host, err := processes.Host(s.Cfg.Collect.Processes.Root, processes.KnownNames())
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
