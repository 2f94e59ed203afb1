// Package story groups what a look found into stories: what belongs together for a person. A story is a worktree with the processes in it, the
// session whose panes stand in it with what runs in those panes, and all processes of one agent session.
package story

import (
	"cmp"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/text"
)

// How an item of a review stands.
const (
	// Goes would go by a sweep, Ask is left to a person by the level of its rule.
	Goes = "reap"
	Ask  = "ask"
	// Waits has a reason to go, and needs a later look; Near has one, and one other thing that passes with time keeps it.
	Waits = "wait"
	Near  = "near"
	// After goes in the same sweep as what uses it, and after that.
	After = "after"
	// Stay is what stays. A review lists it where a person asks for it.
	Stay = "stay"
)

// Item is a candidate that would go, or nearly.
type Item struct {
	// State is one of Goes, After, Ask, Waits and Near.
	State string `json:"state" jsonschema:"enum=reap,enum=after,enum=ask,enum=wait,enum=near"`
	// Takeable is true for what a person may take: what a sweep would reap, at once or after what uses it, and what the level of its rule leaves
	// to a person.
	Takeable bool              `json:"takeable"`
	Decision decision.Decision `json:"decision"`
}

// Story is what belongs together.
type Story struct {
	// Title names it for a person: a folder, a session, an agent session.
	Title string `json:"title"`
	Items []Item `json:"items"`
}

// StateOf says how a decision stands in a review, "" for one that does not belong there.
func StateOf(d decision.Decision) string {
	objections := report.Real(d.Objections)
	switch {
	case d.Verdict == decision.Reap:
		return Goes
	case d.Level == decision.Ask:
		return Ask
	case len(d.After) > 0:
		return After
	case d.Level != "" || len(d.Findings) == 0 || len(objections) != 1:
		return ""
	case d.Waits():
		return Waits
	case report.MainOf(d).Passes:
		return Near
	}
	return ""
}

// Build gives the stories of a report, those in which something would go first, then by title. s is the snapshot that was decided on. rest is the
// state of what does not belong in a review, "" where it is left out.
func Build(s *snapshot.Snapshot, r *report.Report, rest string) []Story {
	var items []Item
	for _, d := range r.Decisions {
		if state := cmp.Or(StateOf(d), rest); state != "" {
			items = append(items, Item{State: state, Takeable: state == Goes || state == Ask, Decision: d})
		}
	}
	goes := map[string]bool{}
	for _, it := range items {
		goes[it.Decision.ID] = it.State == Goes
	}
	for i, it := range items {
		if it.State == After {
			items[i].Takeable = !slices.ContainsFunc(it.Decision.After, func(id string) bool { return !goes[id] })
		}
	}
	groups := Group(s, items, func(it Item) decision.Decision { return it.Decision })
	var out []Story
	for _, g := range groups {
		slices.SortStableFunc(g, func(x, y Item) int {
			return cmp.Or(cmp.Compare(place(x.Decision.Kind), place(y.Decision.Kind)), cmp.Compare(x.Decision.ID, y.Decision.ID))
		})
		out = append(out, Story{Title: title(g), Items: g})
	}
	slices.SortStableFunc(out, func(x, y Story) int {
		return cmp.Or(cmp.Compare(first(x), first(y)), cmp.Compare(x.Title, y.Title))
	})
	return out
}

// place orders the kinds of a story: the folder, then what lives in it.
func place(kind string) int {
	return slices.Index([]string{snapshot.KindDir, snapshot.KindSession, snapshot.KindTab, snapshot.KindTerminal, snapshot.KindProcess}, kind)
}

// first is 0 for a story in which something can be taken.
func first(s Story) int {
	if slices.ContainsFunc(s.Items, func(it Item) bool { return it.Takeable }) {
		return 0
	}
	return 1
}

func title(items []Item) string {
	d := items[0].Decision
	if d.Kind == snapshot.KindProcess && d.Owner != "" && len(items) > 1 {
		return "agent session " + report.Short(d.Owner)
	}
	return report.Label(d)
}

// Group joins what belongs together. of gives the decision of an element. The groups are in the order of their first elements.
func Group[T any](s *snapshot.Snapshot, elements []T, of func(T) decision.Decision) [][]T {
	u := union{}
	var dirs []string
	for _, e := range elements {
		if d := of(e); d.Kind == snapshot.KindDir {
			dirs = append(dirs, strings.TrimPrefix(d.ID, snapshot.KindDir+":"))
		}
	}
	slices.SortFunc(dirs, func(x, y string) int { return cmp.Compare(len(y), len(x)) }) // the innermost folder first
	stands := func(id, folder string) {
		for _, dir := range dirs {
			if folder == dir || strings.HasPrefix(folder, strings.TrimSuffix(dir, "/")+"/") {
				u.join(id, snapshot.KindDir+":"+dir)
				return
			}
		}
	}
	panes := map[int]string{} // the session, tab or terminal that a process belongs to
	for _, e := range elements {
		d := of(e)
		for _, p := range slices.Concat(s.Sessions[d.ID].Panes, s.Tabs[d.ID].Panes) {
			stands(d.ID, p.Cwd)
			for _, pid := range p.SessionPIDs {
				panes[pid] = d.ID
			}
			for _, below := range p.Descendants {
				panes[below.PID] = d.ID
			}
		}
		if t, ok := s.Terminals[d.ID]; ok {
			folder := t.Cwd
			if t.Owner != nil {
				folder = cmp.Or(t.Owner.Worktree, folder)
			}
			stands(d.ID, folder)
		}
	}
	for _, e := range elements {
		d := of(e)
		p, ok := s.Processes[d.ID]
		if !ok {
			continue
		}
		if in := panes[p.PID]; in != "" {
			u.join(d.ID, in)
		}
		if p.Cwd != nil {
			stands(d.ID, *p.Cwd)
		}
		if len(d.Owner) > 2 { // a flag's value, such as 1, names no owner
			u.join(d.ID, "owner:"+d.Owner)
		}
	}
	places, out := map[string]int{}, [][]T(nil)
	for _, e := range elements {
		top := u.find(of(e).ID)
		i, ok := places[top]
		if !ok {
			i = len(out)
			places[top], out = i, append(out, nil)
		}
		out[i] = append(out[i], e)
	}
	return out
}

// union joins names into sets.
type union map[string]string

func (u union) find(x string) string {
	for u[x] != "" && u[x] != x {
		x = u[x]
	}
	return x
}

func (u union) join(x, y string) {
	if x, y = u.find(x), u.find(y); x != y {
		u[x] = y
	}
}

// Size is what is known of how much a candidate frees: a folder's place on the disk, a process's memory; "" where that is not known.
func Size(d decision.Decision) string {
	switch n := report.BytesOf(d); {
	case d.Size != nil && !d.Size.Complete:
		return ">" + text.Size(n)
	case d.Size != nil || n > 0:
		return text.Size(n)
	}
	return ""
}
