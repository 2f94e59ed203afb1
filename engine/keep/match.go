package keep

import (
	"regexp"
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

// CheckGlob says why policies can match nothing with a pattern (glob.match).
func CheckGlob(pattern string) error {
	_, err := glob.Compile(pattern, '/')
	return err
}

// matcher says whether a text matches. It is nil where nothing is asked for.
type matcher func(string) bool

func always(string) bool { return true }

// compile gives what matches a regular expression as a whole. That takes time in proportion to both texts, whoever wrote the glob: the matcher of policies
// can take years for many wildcards in one. An expression that is too large keeps everything.
func compile(expression string) matcher {
	re, err := regexp.Compile("(?s)^(?:" + expression + ")$")
	if err != nil {
		return always
	}
	return re.MatchString
}

// special is what is special in a glob of policies, and refused in an entry. Where it was not refused the entry keeps everything.
const special = `[]{}!\`

// wildcards are what is special in the glob of an entry, quoted, with what it means. A slash of an expression always ends a name.
var wildcards = strings.NewReplacer(`\*\*`, `.*`, `\*`, `[^\x2f]*`, `\?`, `[^\x2f]`)

// expressions are a glob as a regular expression and, behind that, with the home folder in the place of a ~ at its beginning.
func expressions(pattern, home string) []string {
	all := []string{wildcards.Replace(regexp.QuoteMeta(pattern))}
	if rest, ok := strings.CutPrefix(all[0], "~"); ok && home != "" && (rest == "" || rest[0] == '/') {
		all = append(all, regexp.QuoteMeta(strings.TrimSuffix(home, "/"))+rest)
	}
	return all
}

// matcherFor matches one glob; nil where none is given. It may be one over ids, in which ~ has no meaning, or over owners, which may be folders.
func matcherFor(pattern, home string) matcher {
	switch {
	case pattern == "":
		return nil
	case strings.ContainsAny(pattern, special):
		return always
	}
	return compile(strings.Join(expressions(pattern, home), "|"))
}

// pathMatchers match a place with what lies below it, and a folder also for what it lies above: a folder does not go without what is in it.
func pathMatchers(pattern, home string) (place, folder matcher) {
	switch {
	case pattern == "":
		return nil, nil
	case strings.ContainsAny(pattern, special):
		return always, always
	}
	all := expressions(strings.TrimSuffix(pattern, "/**"), home) // the folder itself with what is in it
	const below = "(?:/.*)?"
	at := all[len(all)-1]
	names := strings.Split(at, "/")
	last := len(names) - 1
	above := names[last] + below
	for _, name := range slices.Backward(names[:last]) {
		if name == "" { // the root
			above = "/" + above
			continue
		}
		above = name + "(?:/" + above + ")?"
	}
	return compile(at + below), compile(above)
}
