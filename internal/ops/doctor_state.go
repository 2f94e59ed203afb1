package ops

import (
	"context"
	"fmt"

	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/text"
)

// checkKept says what the ledger keeps for others: the chain of acts, recordings, and decisions on their way to a log.
func (o *Ops) checkKept(ctx context.Context, l *ledger.Ledger) []Check {
	var out []Check
	add := func(name, status, format string, args ...any) {
		out = append(out, Check{"state", name, status, fmt.Sprintf(format, args...)})
	}
	switch c, err := l.Verify(ctx, ""); {
	case err != nil:
		add("chain of acts", Broken, "%v", err)
	case !c.Holds():
		add("chain of acts", Broken, "%s; winnow history --verify says all of it", c.Faults[0].Problem)
	case c.Entries > 0:
		add("chain of acts", Healthy, "holds, with %d %s", c.Entries, Entries(c.Entries))
	}
	if all, err := l.Recordings(ctx); err != nil {
		add("recordings", Broken, "%v", err)
	} else if o.Cfg.Record > 0 || len(all) > 0 {
		var stored int64
		for _, r := range all {
			stored += r.Stored
		}
		add("recordings", Healthy, "%d of %d, %s", len(all), o.Cfg.Record, text.Size(stored))
	}
	for _, sink := range o.Sinks() {
		switch n, err := l.Waiting(ctx, sink); {
		case err != nil:
			add("decision log", Broken, "%v", err)
		case n > 0:
			add("decision log", Limited, "%s for the %s; the next sweep tries again", sweep.Waits(n), sink)
		default:
			add("decision log", Healthy, "nothing waits for the %s", sink)
		}
	}
	if c := o.Cfg.DecisionLog; c.Enabled() && c.Mask != "" {
		switch m := o.LoadMask(ctx, c.Mask).(type) {
		case ruleset.NoMask:
			add("decision log", Broken, "%v; neither inputs nor results are logged", m.Err)
		case *sandbox.Masks:
			m.Close()
		}
	}
	return out
}

// Entries is a number of entries in words.
func Entries(n int64) string {
	if n == 1 {
		return "entry"
	}
	return "entries"
}

// checkTrash says what lies in the trash, and whether the ledger knows of it.
func (o *Ops) checkTrash(ctx context.Context, s *snapshot.Snapshot) []Check {
	var out []Check
	if ttl := o.Cfg.Act.TrashTTL; ttl <= 0 {
		out = append(out, Check{"state", "act.trash_ttl", Limited, fmt.Sprintf("is %s: what a sweep sets aside goes for good at its end, and nothing can be brought back", ttl)})
	}
	r, err := o.TrashIndex(ctx)
	if err != nil {
		r = sweep.TrashIndex{} // another check reports what is wrong with it
	}
	asides, wrong := o.AsidesOf(ctx, o.TrashRoots(s, r.Roots), r.Known)
	c := Check{"state", "trash", Healthy, fmt.Sprintf("%s can be brought back", text.Plural(len(r.Kept), "act"))}
	if more := len(sweep.NotInLedger(asides)); more > 0 {
		c.Status = Limited
		c.Detail += fmt.Sprintf("; %s more that the ledger does not know: winnow trash lists them, and the next sweep --apply takes them in", text.Plural(more, "folder"))
	}
	out = append(out, c)
	for _, err := range wrong {
		out = append(out, Check{"state", "trash", Limited, err.Error()})
	}
	return out
}
