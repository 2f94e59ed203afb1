package subject

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/winnow-reaper/winnow/engine/keep"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// Excepted is an exception that matches a candidate, or may: one that has passed too, since what that means is for the policies to say.
type Excepted struct {
	Why   string `json:"why,omitempty"`
	Who   string `json:"who,omitempty"`
	Until string `json:"until,omitempty"`
	// Left is in seconds, negative for one that has passed; absent for one without an end, and where the time is not known.
	Left *float64 `json:"left,omitempty"`
	// Rules are the only rules that it keeps against; [] is all of them.
	Rules *[]string `json:"rules,omitempty"`
	// File and Line are where it stands: Line 0 is not known.
	File  string         `json:"file,omitempty"`
	Line  int            `json:"line"`
	Tree  string         `json:"tree,omitempty"`
	Match snapshot.Match `json:"match"`
	// Unknown names those of id, path, label and owner that could not be compared, because they are not known of the candidate.
	Unknown []string `json:"unknown"`

	place int
}

// Place is which of Config.Exceptions it is.
func (e *Excepted) Place() int { return e.place }

// exception is an entry that is ready to be compared.
type exception struct {
	kind  string
	match keep.Matcher
	says  Excepted
}

// indexExceptions makes entries ready for one snapshot, whose time and home they are read by.
func indexExceptions(s *snapshot.Snapshot, all []snapshot.Keep) []exception {
	out := make([]exception, 0, len(all))
	for i, k := range all {
		says := Excepted{Why: k.Why, Who: k.Who, Until: k.Until, File: k.File, Line: k.Line, Tree: k.Tree, Match: k.Match, Unknown: []string{}, place: i}
		says.Rules = new(append([]string{}, k.Rules...))
		if end, _ := k.Ends(); end != nil && !s.TakenAt.IsZero() {
			says.Left = new(end.Sub(s.TakenAt).Seconds())
		}
		out = append(out, exception{k.Match.Kind, keep.NewMatcher(k.Match, clean(s.Host.Home)), says})
	}
	return out
}

// excepted are the entries that match a candidate of that kind, or may.
func excepted(all []exception, kind string, names func() keep.Names) []Excepted {
	out := []Excepted{}
	for i := range all {
		e := &all[i]
		if e.kind != "" && e.kind != kind {
			continue
		}
		if unknown, matches := e.match.Matches(names(), kind == snapshot.KindDir); matches {
			says := e.says
			says.Unknown = unknown
			out = append(out, says)
		}
	}
	return out
}

// keepers fills in which exceptions and which entries of projects keep a candidate, or may. What it is called is gathered where an entry may be about it.
func (j *Index) keepers(sub *Subject, placesOf func(*Index, *Subject) []string) {
	if len(j.exceptions)+len(j.projects) == 0 {
		return
	}
	names := sync.OnceValue(func() keep.Names {
		return keep.Names{IDs: j.idsOf(sub), Paths: j.pathsOf(sub, placesOf), Labels: j.labelsOf(sub), Owners: ownersOf(sub)}
	})
	sub.Exceptions = excepted(j.exceptions, sub.Kind, names)
	sub.Projects = j.projectsOf(sub, names)
}

// pathsOf are where a candidate is; one of them is "" where that is not known.
func (j *Index) pathsOf(sub *Subject, placesOf func(*Index, *Subject) []string) []string {
	// placesOf says nothing of processes below, and may give the snapshot's own list.
	places := j.namesBelow(sub, slices.Clone(placesOf(j, sub)), bareCwd)
	for i := range places {
		places[i] = clean(places[i])
	}
	return places
}

// idsOf are the ids that mean a candidate: its own, that of the worktree that it lies in, and those of the processes below a process, which end with it. One of them is
// "" where these are not known.
func (j *Index) idsOf(sub *Subject) []string {
	ids := []string{sub.ID}
	if sub.Dir != nil && sub.Dir.Content != nil {
		ids = append(ids, sub.Dir.Content.ID)
	}
	return j.namesBelow(sub, ids, func(p *snapshot.Process) string { return snapshot.ProcessID(p.PID, p.StartTicks) })
}

// namesBelow adds what the processes below a process are called, and "" where they are not known.
func (j *Index) namesBelow(sub *Subject, names []string, name func(*snapshot.Process) string) []string {
	if sub.Process == nil {
		return names
	}
	nodes := j.procs.underID(sub.ID)
	if nodes == nil {
		return append(names, "")
	}
	for _, n := range nodes {
		names = append(names, name(n.p))
	}
	return names
}

// labelsOf are what people call a candidate: one of them is "" where its name is not known.
func (j *Index) labelsOf(sub *Subject) []string {
	labels := []string{sub.Label}
	switch {
	case sub.Dir != nil:
		labels = append(labels, sub.Dir.Name)
		if c := sub.Dir.Content; c != nil {
			labels = append(labels, c.Name)
		}
	case sub.Terminal != nil:
		labels = addKnown(labels, sub.Terminal.Label, sub.Terminal.Role)
	}
	return j.namesBelow(sub, labels, func(p *snapshot.Process) string { return p.Name })
}

// ownersOf are whose a candidate is: its owner as reports name it, by the last name of a path too, and the owners that records name. One of them is "" where it has no
// known owner.
func ownersOf(sub *Subject) []string {
	owners := []string{sub.Owner}
	if strings.HasPrefix(sub.Owner, "/") {
		owners = addKnown(owners, path.Base(sub.Owner))
	}
	for _, e := range sub.Entries {
		owners = addKnown(owners, e.ID, e.Role)
	}
	for _, s := range sub.Spawns {
		owners = addKnown(owners, s.Owner)
	}
	if sub.Terminal != nil && sub.Terminal.Owner != nil {
		owners = addKnown(owners, sub.Terminal.Owner.ID)
	}
	return owners
}

// addKnown adds those names that are not empty.
func addKnown(list []string, names ...string) []string {
	return append(list, slices.DeleteFunc(names, func(n string) bool { return n == "" })...)
}
