package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/text"
)

// untriedRule keeps the tabs of a server that closing was not tried with.
const untriedRule = "protect.untried"

// untried says once for each server what keeps tabs that would go but for that.
func untried(ds []decision.Decision) (out []string) {
	kept, why := map[string]int{}, map[string]string{}
	var order []string
	for _, d := range ds {
		if len(d.Findings) == 0 || slices.ContainsFunc(d.Objections, func(o decision.Reason) bool { return o.Rule != untriedRule && o.Rule != decision.RuleSeenOnce }) {
			continue
		}
		at := slices.IndexFunc(d.Objections, func(o decision.Reason) bool { return o.Rule == untriedRule })
		if at < 0 {
			continue
		}
		source := strings.TrimPrefix(d.ID[:max(0, strings.LastIndexByte(d.ID, '/'))], d.Kind+":")
		if kept[source] == 0 {
			order = append(order, source)
		}
		kept[source]++
		why[source] = d.Objections[at].Message
	}
	for _, source := range order {
		out = append(out, fmt.Sprintf("%s of %s would go, but %s", text.Plural(kept[source], "tab"), source, why[source]))
	}
	return out
}
