package sweep

import (
	"context"
	"slices"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/report"
)

// Options say what one sweep does.
type Options struct {
	Apply, Confirm bool
	Fetch          bool
	// Only are the ids of what may be acted on, nil for everything that the decisions reap.
	Only []string
	Show Listing
	CapOptions
}

// chosen are all decisions, but only the chosen ones reap: the caps take their shares of everything that was seen.
func (f Options) chosen(ds []decision.Decision) []decision.Decision {
	if f.Only == nil {
		return ds
	}
	out := slices.Clone(ds)
	for i := range out {
		if !slices.Contains(f.Only, out[i].ID) {
			out[i].Verdict = decision.Spare
		}
	}
	return out
}

// among leaves of decisions those that were chosen.
func (f Options) among(ds []decision.Decision) []decision.Decision {
	if f.Only == nil {
		return ds
	}
	return slices.DeleteFunc(ds, func(d decision.Decision) bool { return !slices.Contains(f.Only, d.ID) })
}

// Listing are what sweep and decide share.
type Listing struct {
	Kinds    []string
	All      bool
	ExitCode bool
	Explain  bool
}

// Check refuses kinds that there are not, and takes all where none is named.
func (f *Listing) Check() error {
	if err := checkKinds("--kind", f.Kinds); err != nil {
		return err
	}
	if len(f.Kinds) == 0 {
		f.Kinds = snapshot.KindNames()
	}
	return nil
}

// Explain adds what would turn it to what the last sweep listed, or to every decision, where that was asked for.
func (s *Sweeper) Explain(ctx context.Context, r *report.Report, f Listing, every bool) error {
	if !f.Explain {
		return nil
	}
	return s.FindCounterfactuals(ctx, s.Engine, s.Seen, r, every || f.All)
}

// Waits reports whether a second look, rules.confirm_after from now, could reap something that this one could not.
func (m *Machine) Waits(r *report.Report) bool {
	next := r.TakenAt.Add(config.Seconds(m.Cfg.Rules.ConfirmAfter))
	return slices.ContainsFunc(r.Decisions, func(d decision.Decision) bool {
		at, known := report.Due(d, r.TakenAt)
		return d.Verdict == decision.Spare && d.Waits() && (!known || !at.After(next))
	})
}
