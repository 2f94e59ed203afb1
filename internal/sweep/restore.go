package sweep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Restored is an act whose thing was brought back.
type Restored struct {
	Restored  string `json:"restored"`
	Candidate string `json:"candidate"`
	Detail    string `json:"detail"`
	// Again says when a folder or a session goes again, and NextCommand what keeps it, or prints the id by which it can be kept.
	Again       string `json:"again,omitempty"`
	NextCommand string `json:"next_command,omitempty"`
}

// RestoreOne brings one thing back, and writes that down. What came back in part is an actuators.ErrPart.
func (s *Sweeper) RestoreOne(ctx context.Context, actuator actuators.Actuator, in decision.Intent) (*Restored, error) {
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
	one := &Restored{Restored: in.ID, Candidate: in.Candidate, Detail: where}
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
