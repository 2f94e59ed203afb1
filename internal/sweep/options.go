package sweep

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/look"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
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

// CapOptions lift caps for one sweep.
type CapOptions struct {
	Max   int
	AllOf []string
}

// Check refuses a number of acts below zero, and kinds that there are not.
func (f *CapOptions) Check() error {
	if f.Max < 0 {
		return config.Usagef("--max is %d; it is a number of acts, and 0 leaves act.caps as they are", f.Max)
	}
	return checkKinds(decision.FlagAllOf, f.AllOf)
}

// checkKinds refuses what is no kind.
func checkKinds(flag string, kinds []string) error {
	for _, k := range kinds {
		if !slices.Contains(snapshot.KindNames(), k) {
			return config.Usagef("%s: unknown kind %q%s", flag, k, spelling.Hint(k, snapshot.KindNames()))
		}
	}
	return nil
}

// Caps are those of the configuration, as the flags leave them. --max stands for a sweep and for each owner in it: it never makes a cap smaller
// than a person asked for, nor lets more through in all.
func (f *CapOptions) Caps(c *config.Config) actuators.Caps {
	caps := c.Act.Caps.Floor()
	if f.Max > 0 {
		caps.PerSweep, caps.PerOwner = f.Max, max(f.Max, caps.PerOwner)
	}
	caps.AllOf = f.AllOf
	return caps
}

// Touched are the kinds that a sweep may act on, in the order of acts.
func (m *Machine) Touched(kinds []string) []string {
	return slices.DeleteFunc(snapshot.KindNames(), func(k string) bool {
		return !slices.Contains(kinds, k) || !slices.Contains(m.Cfg.Act.Kinds, k)
	})
}

// Past is what earlier sweeps tell of an accident at this one. A sweep that cannot be compared says so: it has no ledger.
func (s *Sweeper) Past(ctx context.Context, snap *snapshot.Snapshot) (actuators.Past, error) {
	past := actuators.Past{Now: look.Speakers(snap)}
	if s.Ledger == nil {
		return past, nil
	}
	caps := s.Cfg.Act.Caps
	before, err := s.Ledger.Census(ctx, ledger.Asked{
		Rules: s.RulesName(os.Environ()), BootID: snap.Host.BootID, InBoot: []string{snapshot.Proc},
		Jump: snap.TakenAt.Add(-caps.JumpWithin), Shrunk: snap.TakenAt.Add(-caps.ShrunkWithin),
	})
	if err != nil {
		return past, fmt.Errorf("%w; nothing was done", err)
	}
	past.At, past.Used, past.Most = before.At, before.Used, map[string]actuators.Count{}
	for name, m := range before.Most {
		past.Most[name] = actuators.Count{Seen: m.Seen, At: m.At}
	}
	return past, nil
}
