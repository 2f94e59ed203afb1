package main

import (
	"context"
	"fmt"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/text"
)

// checkKept says what the ledger keeps for others: the chain of acts, recordings, and decisions on their way to a log.
func (a *core) checkKept(ctx context.Context, l *ledger.Ledger) []Check {
	var out []Check
	add := func(name, status, format string, args ...any) {
		out = append(out, Check{"state", name, status, fmt.Sprintf(format, args...)})
	}
	switch c, err := l.Verify(ctx, ""); {
	case err != nil:
		add("chain of acts", broken, "%v", err)
	case !c.Holds():
		add("chain of acts", broken, "%s; winnow history --verify says all of it", c.Faults[0].Problem)
	case c.Entries > 0:
		add("chain of acts", healthy, "holds, with %d %s", c.Entries, entries(c.Entries))
	}
	if all, err := l.Recordings(ctx); err != nil {
		add("recordings", broken, "%v", err)
	} else if a.Cfg.Record > 0 || len(all) > 0 {
		var stored int64
		for _, r := range all {
			stored += r.Stored
		}
		add("recordings", healthy, "%d of %d, %s", len(all), a.Cfg.Record, text.Size(stored))
	}
	for _, sink := range a.Sinks() {
		switch n, err := l.Waiting(ctx, sink); {
		case err != nil:
			add("decision log", broken, "%v", err)
		case n > 0:
			add("decision log", limited, "%s for the %s; the next sweep tries again", sweep.Waits(n), sink)
		default:
			add("decision log", healthy, "nothing waits for the %s", sink)
		}
	}
	if c := a.Cfg.DecisionLog; c.On() && c.Mask != "" {
		switch m := a.LoadMask(ctx, c.Mask).(type) {
		case ruleset.NoMask:
			add("decision log", broken, "%v; neither inputs nor results are logged", m.Err)
		case *eval.Masks:
			m.Close()
		}
	}
	return out
}
