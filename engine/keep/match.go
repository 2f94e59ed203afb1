package keep

import (
	"slices"
	"strings"

	"github.com/gobwas/glob"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// Names are what a candidate is called. A list that is empty, or has "", is not wholly known.
type Names struct{ IDs, Paths, Labels, Owners []string }

// Matcher is a match that is ready to be compared.
type Matcher struct {
	id, label, owner matcher
	// place is for where a candidate is, folder for a folder.
	place, folder matcher
	// homeless has the keys of globs that begin with ~ where the home is not known: what they mean is not known either.
	homeless []string
}

// NewMatcher makes a match ready. home is the home folder, "" where it is not known.
func NewMatcher(m snapshot.Match, home string) Matcher {
	out := Matcher{id: matcherFor(m.ID, home), label: matcherFor(m.Label, home), owner: matcherFor(m.Owner, home)}
	out.place, out.folder = pathMatchers(m.Path, home)
	for key, pattern := range map[string]string{"path": m.Path, "label": m.Label, "owner": m.Owner} {
		if home == "" && strings.HasPrefix(pattern, "~") {
			out.homeless = append(out.homeless, key)
		}
	}
	return out
}

// Matches reports whether a match means a candidate, or may: unknown has the keys that could not be compared. folder is true for a folder, which does not
// go without what is in it.
func (m *Matcher) Matches(n Names, folder bool) (unknown []string, matches bool) {
	unknown = []string{}
	at := m.place
	if folder {
		at = m.folder
	}
	for _, one := range []struct {
		name  string
		asked matcher
		names []string
	}{{"id", m.id, n.IDs}, {"path", at, n.Paths}, {"label", m.label, n.Labels}, {"owner", m.owner, n.Owners}} {
		switch {
		case one.asked == nil || slices.ContainsFunc(one.names, one.asked):
		case len(one.names) == 0 || slices.Contains(one.names, "") || slices.Contains(m.homeless, one.name):
			unknown = append(unknown, one.name)
		default:
			return nil, false
		}
	}
	return unknown, true
}

// CheckGlob says why nothing can be matched with a pattern. Policies match with the same function (glob.match).
func CheckGlob(pattern string) error {
	_, err := glob.Compile(pattern, '/')
	return err
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
	for at, c := range pattern {
		if c == '/' && at > 0 {
			all = append(all, pattern[:at])
		}
	}
	return place, globs(all...)
}
