package ops

import (
	"context"
	"fmt"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/text"
)

// checkTrash says what lies in the trash, and whether the ledger knows of it.
func (o *Ops) checkTrash(ctx context.Context, s *snapshot.Snapshot) []Check {
	var out []Check
	if ttl := o.Cfg.Act.TrashTTL; ttl <= 0 {
		out = append(out, Check{"state", "act.trash_ttl", Limited, fmt.Sprintf("is %s: what o sweep sets aside goes for good at its end, and nothing can be brought back", ttl)})
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
