package main

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
	"github.com/winnow-reaper/winnow/internal/text"
)

// capFlags lift caps for one sweep.
type capFlags struct {
	max   int
	allOf []string
}

func (f *capFlags) check() error {
	if f.max < 0 {
		return config.Mistakef("--max is %d; it is a number of acts, and 0 leaves act.caps as they are", f.max)
	}
	return checkKinds(decision.FlagAllOf, f.allOf)
}

// checkKinds refuses what is no kind.
func checkKinds(flag string, kinds []string) error {
	for _, k := range kinds {
		if !slices.Contains(snapshot.KindNames(), k) {
			return config.Mistakef("%s: unknown kind %q%s", flag, k, text.Hint(k, snapshot.KindNames()))
		}
	}
	return nil
}

// caps are those of the configuration, as the flags leave them. --max stands for a sweep and for each owner in it: it never makes a cap smaller
// than a person asked for, nor lets more through in all.
func (f *capFlags) caps(c *config.Config) actuators.Caps {
	caps := c.Act.Caps.Floor()
	if f.max > 0 {
		caps.PerSweep, caps.PerOwner = f.max, max(f.max, caps.PerOwner)
	}
	caps.AllOf = f.allOf
	return caps
}

// touched are the kinds that a sweep may act on, in the order of acts.
func (a *machineCore) touched(kinds []string) []string {
	return slices.DeleteFunc(snapshot.KindNames(), func(k string) bool {
		return !slices.Contains(kinds, k) || !slices.Contains(a.Cfg.Act.Kinds, k)
	})
}

// past is what earlier sweeps tell of an accident at this one. A sweep that cannot be compared says so: it has no ledger.
func (s *sweeper) past(ctx context.Context, snap *snapshot.Snapshot) (actuators.Past, error) {
	past := actuators.Past{Now: look.Speakers(snap)}
	if s.ledger == nil {
		return past, nil
	}
	caps := s.Cfg.Act.Caps
	before, err := s.ledger.Before(ctx, ledger.Asked{
		Rules: s.rulesName(os.Environ()), BootID: snap.Host.BootID, InBoot: []string{snapshot.Proc},
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
