package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Selection leaves some of what was decided on, in an order. Its zero value leaves everything as it is.
type Selection struct {
	// Repository is a part of a folder's path or of its repository's, Owner of an owner's name.
	Repository string `json:"repo,omitempty"`
	Owner      string `json:"owner,omitempty"`
	// Older is for how many nanoseconds nothing has happened at least; of a process its age.
	Older time.Duration `json:"older_ns,omitempty"`
	// Larger is how many bytes come free at least; of a process its memory.
	Larger int64 `json:"larger_bytes,omitempty"`
	// Sort is one of Orders, "" for the order of a report.
	Sort string `json:"sort,omitempty"`
	// Limit is how many are left at most, of those that go before those that wait and stay; 0 for all.
	Limit int `json:"limit,omitempty"`
}

// Orders are what a selection can be sorted by: the largest, the oldest and the first in the alphabet come first.
var Orders = []string{"size", "age", "name"}

// Check refuses what is no order and no number.
func (f Selection) Check() error {
	switch {
	case f.Limit < 0:
		return config.Usagef("--limit is %d; it is a number of things, and 0 is all of them", f.Limit)
	case f.Sort != "" && !slices.Contains(Orders, f.Sort):
		return config.Usagef("--sort: want one of %s, not %q%s", strings.Join(Orders, ", "), f.Sort, spelling.Hint(f.Sort, Orders))
	}
	return nil
}

// narrows says whether a selection leaves out more than a limit does.
func (f *Selection) narrows() bool {
	return f != nil && *f != (Selection{Sort: f.Sort, Limit: f.Limit})
}

// Select leaves of the decisions what was asked for, in that order, and gives their ids; nil where everything was, at most in another order. What
// is not known of a thing does not select it.
func (r *Report) Select(f Selection) []string {
	if f == (Selection{}) {
		return nil
	}
	r.Selection = &f
	ds := slices.DeleteFunc(slices.Clone(r.Decisions), func(d decision.Decision) bool { return !f.takes(d) })
	by := cmp.Or(f.Sort, "name")
	slices.SortStableFunc(ds, func(x, y decision.Decision) int { return cmp.Or(cmp.Compare(rank(x), rank(y)), Compare(by, x, y)) })
	if f.Limit > 0 && len(ds) > f.Limit {
		ds = ds[:f.Limit]
	}
	if r.Decisions = ds; f == (Selection{Sort: f.Sort}) {
		return nil
	}
	return append([]string{}, text.Map(ds, func(d decision.Decision) string { return d.ID })...) // nil would be everything
}

// Compare says which of two things comes first in one of Orders.
func Compare(order string, x, y decision.Decision) int {
	switch order {
	case "size":
		return cmp.Compare(BytesOf(y), BytesOf(x))
	case "age":
		return cmp.Compare(AgeOf(y), AgeOf(x))
	case "name":
		return cmp.Compare(Label(x), Label(y))
	}
	return 0
}

func (f Selection) takes(d decision.Decision) bool {
	a := d.About
	if a == nil {
		a = &decision.About{}
	}
	folder, _ := strings.CutPrefix(d.ID, snapshot.KindDir+":")
	if d.Kind != snapshot.KindDir {
		folder = a.Folder
	}
	places := a.Repository + "\n" + folder
	return strings.Contains(d.Owner, f.Owner) && strings.Contains(places, f.Repository) && (f.Older == 0 || AgeOf(d) >= f.Older.Seconds()) && BytesOf(d) >= f.Larger
}

// BytesOf is what comes free with a thing: on a disk, or of memory. It is 0 where that is not known.
func BytesOf(d decision.Decision) int64 {
	if d.Size == nil && d.About != nil && d.About.Memory != nil {
		return *d.About.Memory
	}
	return freed(d)
}

// AgeOf is for how many seconds nothing has happened in a thing, of a process how old it is; -1 where that is not known.
func AgeOf(d decision.Decision) float64 {
	if d.About == nil {
		return -1
	}
	known := cmp.Or(d.About.Idle, d.About.Age, new(-1.0))
	return *known
}
