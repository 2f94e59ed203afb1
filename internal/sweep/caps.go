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
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
)

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
