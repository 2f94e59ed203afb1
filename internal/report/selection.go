package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
)

// Selection leaves some of what was decided on, in an order. Its zero value leaves everything as it is.
type Selection struct {
	// Repository and Owner are parts of what they are called.
	Repository, Owner string
	// Older is for how long nothing has happened at least; of a process its age.
	Older time.Duration
	// Larger is how many bytes come free at least; of a process its memory.
	Larger int64
	// Sort is one of Orders, "" for the order of a report.
	Sort string
	// Limit is how many are left at most, of those that go before those that wait and stay; 0 for all.
	Limit int
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

// Select leaves of the decisions what was asked for, in that order, and gives their ids; nil where everything was. What is not known of a thing
// does not select it.
func (r *Report) Select(f Selection) []string {
	if f == (Selection{}) {
		return nil
	}
	ds := slices.DeleteFunc(slices.Clone(r.Decisions), func(d decision.Decision) bool { return !f.takes(d) })
	by := func(x, y decision.Decision) int { return cmp.Compare(Label(x), Label(y)) }
	switch f.Sort {
	case "size":
		by = func(x, y decision.Decision) int { return cmp.Compare(bytesOf(y), bytesOf(x)) }
	case "age":
		by = func(x, y decision.Decision) int { return cmp.Compare(ageOf(y), ageOf(x)) }
	}
	slices.SortStableFunc(ds, func(x, y decision.Decision) int { return cmp.Or(cmp.Compare(rank(x), rank(y)), by(x, y)) })
	if f.Limit > 0 && len(ds) > f.Limit {
		ds = ds[:f.Limit]
	}
	ids := []string{}
	for _, d := range ds {
		ids = append(ids, d.ID)
	}
	r.Decisions, r.selection = ds, f
	return ids
}

func (f Selection) takes(d decision.Decision) bool {
	a := d.About
	if a == nil {
		a = &decision.About{}
	}
	places := strings.Join([]string{a.Repository, a.Folder, d.ID}, "\n")
	return strings.Contains(d.Owner, f.Owner) && strings.Contains(places, f.Repository) && (f.Older == 0 || ageOf(d) >= f.Older.Seconds()) && bytesOf(d) >= f.Larger
}

// bytesOf is what comes free with a thing: on a disk, or of memory. It is 0 where that is not known.
func bytesOf(d decision.Decision) int64 {
	if d.Size == nil && d.About != nil && d.About.Memory != nil {
		return *d.About.Memory
	}
	return freed(d)
}

// ageOf is for how many seconds nothing has happened in a thing, of a process how old it is; -1 where that is not known.
func ageOf(d decision.Decision) float64 {
	if d.About == nil {
		return -1
	}
	known := cmp.Or(d.About.Idle, d.About.Age, new(-1.0))
	return *known
}
