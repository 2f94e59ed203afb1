package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Levels says which rules are not on: those that protect, which is worth a warning, and those that reap; "" if all are on.
func Levels(all []subject.RuleLevel) (protect, reap string) {
	var off, rest []string
	for i, l := range all {
		if i > 0 && all[i-1].Rule == l.Rule && all[i-1].Level == l.Level {
			continue // the same of another kind
		}
		var kinds []string
		for _, k := range snapshot.Kinds {
			if slices.Contains(all, subject.RuleLevel{Rule: l.Rule, Kind: k.Name, Level: l.Level}) {
				kinds = append(kinds, k.Plural)
			}
		}
		if !decision.Protects(l.Rule) {
			rest = append(rest, fmt.Sprintf("%s: %s", l.Rule, l.Level))
			continue
		}
		which := strings.Join(kinds, ", ")
		if len(kinds) == len(snapshot.Kinds) {
			which = "everything"
		}
		off = append(off, fmt.Sprintf("%s is off for %s", l.Rule, which))
	}
	if len(off) > 0 {
		protect = strings.Join(off, "; ") + " (rules.levels)"
	}
	if len(rest) > 0 {
		reap = strings.Join(rest, ", ") + " (rules.levels)"
	}
	return protect, reap
}

// Rules are the rules of reasons, in one line.
func Rules(rs []decision.Reason) string {
	return strings.Join(slices.Compact(text.Map(rs, func(r decision.Reason) string { return r.Rule })), ", ")
}

// leveled says why a candidate stays that goes but for the level of the rules.
func leveled(d decision.Decision) string {
	_, counting := d.Counting()
	s := fmt.Sprintf("%s; it would go if %s were on", Messages(counting), Rules(counting))
	if d.Level == decision.Ask {
		s += "; winnow cleanup " + text.Quote(d.ID) + " --safe does it"
	}
	return s
}
