package subject

import (
	"path"
	"strings"
	"time"

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
	// Unknown names those of id, path, label and owner that could not be compared, because they are not known of the candidate, and repository where it
	// is not known whether it lies in the one that brings the exception.
	Unknown []string `json:"unknown"`

	place int
}

// Place is which of Config.Exceptions it is.
func (e *Excepted) Place() int { return e.place }

// exception is an exception that is ready to be compared.
type exception struct {
	kind, within string
	match        keep.Matcher
	says         Excepted
}

// indexExceptions makes them ready for one snapshot, whose time and home they are read by.
func indexExceptions(s *snapshot.Snapshot, c *Config) []exception {
	out := make([]exception, 0, len(c.Exceptions))
	for i, k := range c.Exceptions {
		says := excepted(k, s.TakenAt)
		says.place = i
		out = append(out, exception{k.Match.Kind, k.Within, keep.NewMatcher(k.Match, clean(s.Host.Home)), says})
	}
	return out
}

// excepted is an entry as rules see it at a time.
func excepted(k snapshot.Keep, at time.Time) Excepted {
	out := Excepted{Why: k.Why, Who: k.Who, Until: k.Until, File: k.File, Line: k.Line, Tree: k.Tree, Match: k.Match, Unknown: []string{}}
	out.Rules = new(append([]string{}, k.Rules...))
	if end, _ := k.Ends(); end != nil && !at.IsZero() {
		out.Left = new(end.Sub(at).Seconds())
	}
	return out
}

// exceptionsOf are the exceptions that match a candidate, or may.
func (j *Index) exceptionsOf(sub *Subject, placesOf func(*Index, *Subject) []string) []Excepted {
	out := []Excepted{}
	var names keep.Names
	for i := range j.exceptions {
		e := &j.exceptions[i]
		if e.kind != "" && e.kind != sub.Kind {
			continue
		}
		in, known := lies(sub, e.within)
		if !in {
			continue
		}
		if names.IDs == nil { // of a candidate that no exception can be about nothing is gathered
			names = j.namesOf(sub, placesOf)
		}
		unknown, matches := e.match.Matches(names, sub.Kind == snapshot.KindDir)
		if !known {
			unknown = append([]string{"repository"}, unknown...)
		}
		if matches {
			says := e.says
			says.Unknown = unknown
			out = append(out, says)
		}
	}
	return out
}

// namesOf are what a candidate is called.
func (j *Index) namesOf(sub *Subject, placesOf func(*Index, *Subject) []string) keep.Names {
	places := j.namesBelow(sub, placesOf(j, sub), bareCwd) // placesOf says nothing of processes below that are not known
	for i := range places {
		places[i] = clean(places[i])
	}
	return keep.Names{IDs: j.idsOf(sub), Paths: places, Labels: j.labelsOf(sub), Owners: ownersOf(sub)}
}

// lies reports whether a candidate lies or works in a repository with these exceptions, or may, and whether that is known. "" is every place.
func lies(sub *Subject, within string) (in, known bool) {
	if within == "" {
		return true, true
	}
	for _, p := range sub.Projects {
		if p.Exceptions == within { // it is one of Projects because it lies there, or because that is not known
			return true, p.Places != nil
		}
	}
	return false, true
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
	more := func(names ...string) {
		for _, n := range names {
			if n != "" {
				labels = append(labels, n)
			}
		}
	}
	switch {
	case sub.Dir != nil:
		labels = append(labels, sub.Dir.Name)
		if c := sub.Dir.Content; c != nil {
			labels = append(labels, c.Name)
		}
	case sub.Terminal != nil:
		more(sub.Terminal.Label, sub.Terminal.Role)
	}
	return j.namesBelow(sub, labels, func(p *snapshot.Process) string { return p.Name })
}

// ownersOf are whose a candidate is: its owner as reports name it, by the last name of a path too, and the owners that records name. One of them is "" where it has no
// known owner.
func ownersOf(sub *Subject) []string {
	owners := []string{sub.Owner}
	more := func(names ...string) {
		for _, n := range names {
			if n != "" {
				owners = append(owners, n)
			}
		}
	}
	if strings.HasPrefix(sub.Owner, "/") {
		more(path.Base(sub.Owner))
	}
	for _, e := range sub.Entries {
		more(e.ID, e.Role)
	}
	for _, s := range sub.Spawns {
		more(s.Owner)
	}
	if sub.Terminal != nil && sub.Terminal.Owner != nil {
		more(sub.Terminal.Owner.ID)
	}
	return owners
}
