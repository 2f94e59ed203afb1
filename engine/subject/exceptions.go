package subject

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gobwas/glob"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// Exception is an entry of exceptions.yaml in a tree of policies: what is to be kept, why, who says so, and until when.
type Exception struct {
	What What
	Why  string
	Who  string
	// Until is as it is written: a day, a time, or never. End is the first moment at which it keeps nothing any more; nil for never.
	Until string
	End   *time.Time
	// Rules are the only rules that it keeps against, by their ids; empty for all.
	Rules []string
	// Tree is the name of the tree that it stands in, File the file as messages name it, Line where the entry begins; 0 where the file is part of a
	// bundle that says nothing of lines.
	Tree string
	File string
	Line int
	// Within is the digest of a repository's exceptions (snapshot.Project.Exceptions), where it is one of them: it keeps what lies or works in a repository
	// that has these, and nothing else. "" for one of the operator's own policies.
	Within string
}

// What says what an exception keeps: candidates that every text in it matches. Each but Kind is a glob with *, ** and ?, as in rules.protected; "" is not
// asked for.
type What struct {
	ID    string `json:"id,omitempty"`
	Path  string `json:"path,omitempty"`
	Label string `json:"label,omitempty"`
	Owner string `json:"owner,omitempty"`
	Kind  string `json:"kind,omitempty" jsonschema:"enum=tab,enum=session,enum=terminal,enum=dir,enum=process"`
}

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
	File string `json:"file,omitempty"`
	Line int    `json:"line"`
	Tree string `json:"tree,omitempty"`
	What What   `json:"what"`
	// Unknown names those of id, path, label and owner that could not be compared, because they are not known of the candidate, and repository where it
	// is not known whether it lies in the one that brings the exception.
	Unknown []string `json:"unknown"`

	place int
}

// Place is which of Config.Exceptions it is.
func (e *Excepted) Place() int { return e.place }

// exception is an exception that is ready to be compared.
type exception struct {
	kind, within     string
	id, label, owner matcher
	// place is for where a candidate is, folder for a folder.
	place, folder matcher
	// homeless has the keys of globs that begin with ~ where the home is not known: what they mean is not known either.
	homeless []string
	says     Excepted
}

// matcher says whether a text matches. It is nil where nothing is asked for.
type matcher func(string) bool

func always(string) bool { return true }

// globs match what any of the patterns matches. An invalid pattern is refused where it is read; here it keeps everything.
func globs(patterns ...string) matcher {
	var all []*glob.Pattern
	for _, p := range patterns {
		g, err := glob.Compile(p, '/')
		if err != nil {
			return always
		}
		all = append(all, g)
	}
	return func(s string) bool {
		return slices.ContainsFunc(all, func(g *glob.Pattern) bool { return g.Match(s) })
	}
}

// matcherFor matches one glob; nil where none is given. It may be one over ids, in which ~ has no meaning, or over owners, which may be folders.
func matcherFor(pattern, home string) matcher {
	if pattern == "" {
		return nil
	}
	if at, ok := inHome(pattern, home); ok {
		return globs(pattern, at)
	}
	return globs(pattern)
}

// inHome is a glob that begins with ~ with the home folder in its place; false for every other one, and where the home is not known.
func inHome(pattern, home string) (string, bool) {
	rest, ok := strings.CutPrefix(pattern, "~")
	if !ok || home == "" || rest != "" && rest[0] != '/' {
		return "", false
	}
	return glob.QuoteMeta(strings.TrimSuffix(home, "/")) + rest, true
}

// pathMatchers match a place with what lies below it, and a folder also for what it lies above: a folder does not go without what is in it. ** stands only
// at the end of a path.
func pathMatchers(pattern, home string) (place, folder matcher) {
	if pattern == "" {
		return nil, nil
	}
	if at, ok := inHome(pattern, home); ok {
		pattern = at
	}
	all := []string{pattern, pattern + "/**"}
	if rest, ok := strings.CutSuffix(pattern, "/**"); ok { // the folder itself with what is in it
		all = append(all, rest)
	}
	place = globs(all...)
	parts := strings.Split(pattern, "/")
	for n := 2; n < len(parts); n++ {
		all = append(all, strings.Join(parts[:n], "/"))
	}
	return place, globs(all...)
}

// indexExceptions makes them ready for one snapshot, whose time and home they are read by.
func indexExceptions(s *snapshot.Snapshot, c *Config) []exception {
	home := clean(s.Host.Home)
	out := make([]exception, 0, len(c.Exceptions))
	for i, e := range c.Exceptions {
		one := exception{kind: e.What.Kind, within: e.Within, id: matcherFor(e.What.ID, home), label: matcherFor(e.What.Label, home), owner: matcherFor(e.What.Owner, home)}
		one.place, one.folder = pathMatchers(e.What.Path, home)
		for key, pattern := range map[string]string{"path": e.What.Path, "label": e.What.Label, "owner": e.What.Owner} {
			if home == "" && strings.HasPrefix(pattern, "~") {
				one.homeless = append(one.homeless, key)
			}
		}
		one.says = Excepted{Why: e.Why, Who: e.Who, Until: e.Until, File: e.File, Line: e.Line, Tree: e.Tree, What: e.What, Unknown: []string{}, place: i}
		one.says.Rules = new(append([]string{}, e.Rules...))
		if e.End != nil && !s.TakenAt.IsZero() {
			one.says.Left = new(e.End.Sub(s.TakenAt).Seconds())
		}
		out = append(out, one)
	}
	return out
}

// exceptionsOf are the exceptions that match a candidate, or may.
func (j *Index) exceptionsOf(sub *Subject, placesOf func(*Index, *Subject) []string) []Excepted {
	out := []Excepted{}
	var ids, labels, owners, places []string
	for i := range j.exceptions {
		e := &j.exceptions[i]
		if e.kind != "" && e.kind != sub.Kind {
			continue
		}
		in, known := lies(sub, e.within)
		if !in {
			continue
		}
		if ids == nil { // of a candidate that no exception can be about nothing is gathered
			ids, labels, owners = j.idsOf(sub), j.labelsOf(sub), ownersOf(sub)
			places = j.namesBelow(sub, placesOf(j, sub), bareCwd) // placesOf says nothing of processes below that are not known
			for i := range places {
				places[i] = clean(places[i])
			}
		}
		at := e.place
		if sub.Kind == snapshot.KindDir {
			at = e.folder
		}
		says, unknown := e.says, []string{}
		matches := true
		if !known {
			unknown = append(unknown, "repository")
		}
		for _, one := range []struct {
			name  string
			asked matcher
			names []string
		}{{"id", e.id, ids}, {"path", at, places}, {"label", e.label, labels}, {"owner", e.owner, owners}} {
			switch {
			case one.asked == nil || slices.ContainsFunc(one.names, one.asked):
			case len(one.names) == 0 || slices.Contains(one.names, "") || slices.Contains(e.homeless, one.name):
				unknown = append(unknown, one.name)
			default:
				matches = false
			}
		}
		if matches {
			says.Unknown = unknown
			out = append(out, says)
		}
	}
	return out
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
