package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/text"
)

// sharedNotes says once for each source what keeps things that would go but for that, where the METADATA of the rule has a short message for each.
func sharedNotes(ds []decision.Decision) (out []string) {
	kept, why, kind := map[string]int{}, map[string]string{}, map[string]string{}
	var order []string
	for _, d := range ds {
		m := d.Main
		if len(d.Findings) == 0 || m == nil || m.Once == "" ||
			slices.ContainsFunc(d.Objections, func(o decision.Reason) bool { return o.Rule != m.Rule && o.Rule != decision.RuleDebounce }) {
			continue
		}
		source := strings.TrimPrefix(d.ID[:max(0, strings.LastIndexByte(d.ID, '/'))], d.Kind+":")
		if kept[source] == 0 {
			order = append(order, source)
		}
		kept[source]++
		kind[source] = d.Kind
		why[source] = d.Main.Once
	}
	for _, source := range order {
		out = append(out, fmt.Sprintf("%s of %s would go, but %s", text.Plural(kept[source], kind[source]), source, why[source]))
	}
	return out
}

// UnheardNotes says in one line which agents run that nothing speaks with.
func UnheardNotes(ds []decision.Decision) []string {
	var each []string
	for _, d := range ds {
		if d.Unheard() {
			c := cells(d)
			each = append(each, fmt.Sprintf("%s, %s old, %s, in %s", Label(d), c[0], c[1], c[3]))
		}
	}
	if len(each) == 0 {
		return nil
	}
	run := []string{"agent runs", "agents run"}[min(len(each), 2)-1]
	return []string{fmt.Sprintf("%d %s that nothing speaks with: %s; winnow cleanup ID ends one", len(each), run, strings.Join(each, "; "))}
}
