package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/text"
)

// UsageSchema names the shape of what winnow df --format json prints.
const UsageSchema = "winnow.usage/v1"

// Usage is what would come free, in groups, the largest first. docs/reference/schemas/usage.json is generated from it.
type Usage struct {
	Schema  string       `json:"schema" jsonschema:"enum=winnow.usage/v1"`
	TakenAt time.Time    `json:"taken_at"`
	Groups  []UsageGroup `json:"groups"`
	// Bytes and Memory are the sums of all groups that go; Trash is what lies in the trash and comes free later.
	Bytes  int64 `json:"bytes"`
	Memory int64 `json:"memory"`
	Trash  int64 `json:"trash_bytes"`
	// NotRead are the sources that failed: what they would have told of is in no group.
	NotRead []string `json:"not_read,omitempty"`
}

// UsageGroup is what has one place, kind and reason.
type UsageGroup struct {
	// Place is the path of a repository, or of the folder in which folders lie; "" for all else.
	Place string `json:"place"`
	Kind  string `json:"kind"`
	// State is go; after for what goes once the things that use it are gone; ask or observe where a rule's level holds it back; wait for what needs a
	// second look.
	State  string `json:"state" jsonschema:"enum=go,enum=after,enum=ask,enum=observe,enum=wait"`
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
	Things int    `json:"things"`
	// Bytes come free on a disk as far as they were measured, Memory is that of processes.
	Bytes  int64 `json:"bytes"`
	Memory int64 `json:"memory"`
	// Members are the decisions on its things, those with the most bytes first.
	Members []decision.Decision `json:"-"`
	order   int
}

// Usage sums up what goes and what waits.
func (r *Report) Usage() Usage {
	u := Usage{Schema: UsageSchema, TakenAt: r.TakenAt, Groups: []UsageGroup{}, NotRead: NotRead(r.Sources)}
	if r.Space != nil {
		u.Trash = r.Space.Trash
	}
	for _, kind := range snapshot.Kinds {
		listed := slices.DeleteFunc(slices.Clone(r.Decisions), func(d decision.Decision) bool { return d.Kind != kind.Name || rank(d) > rankWait })
		for _, g := range (page{}).groupsOf(listed, r.TakenAt, false) {
			first := g.members[0]
			one := UsageGroup{Place: g.place, Kind: kind.Name, State: g.Lead, Rule: MainOf(first).Rule, Reason: g.Text,
				Things: len(g.members), Bytes: g.bytes, Members: g.members, order: rank(first)}
			for _, d := range g.members {
				if d.Kind == snapshot.KindProcess && d.About != nil && d.About.Memory != nil {
					one.Memory += *d.About.Memory
				}
			}
			if one.order == rankReap {
				one.State = "go"
			}
			if one.order <= rankAfter {
				u.Bytes, u.Memory = u.Bytes+one.Bytes, u.Memory+one.Memory
			}
			u.Groups = append(u.Groups, one)
		}
	}
	slices.SortStableFunc(u.Groups, func(x, y UsageGroup) int {
		return cmp.Or(cmp.Compare(x.order, y.order), cmp.Compare(y.Bytes+y.Memory, x.Bytes+x.Memory))
	})
	return u
}

// Write is the usage for a person.
func (u Usage) Write(w io.Writer, p text.Paint) {
	fmt.Fprintln(w, p.Bold(text.Size(u.Bytes)+" of disk and "+text.Size(u.Memory)+" of memory would come free")+"; "+text.Size(u.Trash)+" in the trash")
	p.Rows(w, text.Map(u.NotRead, func(name string) text.Row {
		return text.Row{Lead: "failed", Color: p.Red, Label: name, Text: "could not be read, so that this is not all; winnow sweep says why"}
	})...)
	p.Rows(w, text.Map(u.Groups, func(g UsageGroup) text.Row {
		label := Things(g.Things, g.Kind)
		if g.Place != "" {
			label += " of " + text.Home(g.Place)
		}
		return text.Row{Lead: g.State, Color: p.Yellow, Label: label, Cells: []string{text.Size(g.Bytes + g.Memory)}, Text: g.Reason}
	})...)
}
