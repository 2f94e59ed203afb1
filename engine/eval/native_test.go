package eval_test

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gobwas/glob"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// native judges by plain Go what the shipped policies judge: the peer that the engine is measured against. TestNativeSaysTheSame holds both to the same
// rules, messages and evidence.
type native struct {
	c         *subject.Config
	shapes    []*regexp.Regexp
	content   []*glob.Pattern
	protected []pattern
	// keeps are the globs of projects that it has met.
	keeps map[string]*glob.Pattern
}

// pattern is an entry of rules.protected, ready to be compared: with a name, with what lies in what it names, and, of a relative path, wherever that is.
type pattern struct {
	text             string
	name, in         *glob.Pattern
	anywhere, inside *glob.Pattern
}

// newNative is ready for the subjects of a joined snapshot.
func newNative(t testing.TB, j *subject.Joined) *native {
	t.Helper()
	n := &native{c: j.Common().Config, keeps: map[string]*glob.Pattern{}}
	compiled := func(text string) *glob.Pattern {
		g, err := glob.Compile(text, '/')
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	for _, s := range n.c.DisposableDirs {
		if s != "" {
			n.shapes = append(n.shapes, regexp.MustCompile(s))
		}
	}
	for _, s := range n.c.DisposableContent {
		n.content = append(n.content, compiled(s))
	}
	for _, s := range n.c.Protected {
		p := pattern{text: s, name: compiled(s), in: compiled(s + "/**")}
		if strings.Contains(s, "/") && !strings.HasPrefix(s, "/") {
			below := strings.TrimSuffix(s, "/")
			p.anywhere, p.inside = compiled("**/"+below), compiled("**/"+below+"/**")
		}
		n.protected = append(n.protected, p)
	}
	return n
}

// keep is a glob of a project.
func (n *native) keep(text string) *glob.Pattern {
	g, ok := n.keeps[text]
	if !ok {
		g = glob.MustCompile(text, '/')
		n.keeps[text] = g
	}
	return g
}

// judged is one candidate with what is said of it.
type judged struct {
	*subject.Subject

	n                    *native
	c                    *subject.Config
	findings, objections []decision.Reason

	// over says of each entry whether its owner has ended.
	over []bool
	// counting are the rules whose findings count (policies/lib/levels).
	counting []string
	// panes is what was found out of the panes of a session or tab, nil until it is asked for; left are the processes that policies/lib/leftovers lists.
	panes *paneFacts
	left  map[int]bool
}

// judge says what the policies say of a candidate; false where it is out of scope.
func (n *native) judge(s *subject.Subject) (findings, objections []decision.Reason, in bool) {
	j := &judged{Subject: s, n: n, c: n.c}
	switch s.Kind {
	case "dir":
		in = j.dir()
	case "session":
		in = j.session()
	case "tab":
		in = j.tab()
	case "terminal":
		in = j.terminal()
	case "process":
		in = j.process()
	}
	if !in {
		return nil, nil, false
	}
	j.count()
	j.protect()
	return j.findings, j.objections, true
}

func (j *judged) find(rule, message string, e evidence) {
	j.findings = append(j.findings, decision.Reason{Rule: rule, Message: message, Evidence: e})
}

func (j *judged) object(rule, message string, e evidence) {
	j.objections = append(j.objections, decision.Reason{Rule: rule, Message: message, Evidence: e})
}

// evidence is what a reason rests on, by name. Its values are Go's own, and what is a list or a struct in the subject is that very one: as JSON they are
// what a policy gives. nil is no evidence.
type evidence = map[string]any

// fact adds a fact that is known.
func fact[T any](e evidence, name string, have *T) {
	if have != nil {
		e[name] = *have
	}
}

// word adds a text that is known.
func word(e evidence, name, text string) {
	if text != "" {
		e[name] = text
	}
}

// several adds a list that has anything in it.
func several(e evidence, name string, list []string) {
	if len(list) > 0 {
		e[name] = list
	}
}

// whole is a list that is [] where there is none.
func whole[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// each takes a text of everything in a list: [] where there is none.
func each[T any](list []T, text func(*T) string) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = text(&list[i])
	}
	return out
}

func named(m *snapshot.PaneProc) string { return m.Name }

// is reports whether a fact is known and has a value.
func is[T comparable](have *T, want T) bool { return have != nil && *have == want }

// known is a text that is known and not empty.
func known(s *string) bool { return s != nil && *s != "" }

// none reports whether a list is known and empty, some whether it is known and not empty.
func none[T any](list *[]T) bool { return list != nil && len(*list) == 0 }

func some[T any](list *[]T) bool { return list != nil && len(*list) > 0 }

func empty[T any](list []T) bool { return list != nil && len(list) == 0 }

// least reports whether an amount is known and at least so much.
func least[T ~float64](have *T, want float64) bool { return have != nil && float64(*have) >= want }

// blank is how a message shows what is not known.
const blank = "<undefined>"

func shownText(s string) string {
	if s == "" {
		return blank
	}
	return s
}

func shownNumber(n *int) string {
	if n == nil {
		return blank
	}
	return strconv.Itoa(*n)
}

// reasoned are reasons in one text, or else what is said where there are none.
func reasoned(unknown string, reasons ...string) string {
	reasons = distinct(reasons)
	if len(reasons) == 0 {
		return unknown
	}
	return strings.Join(reasons, "; ")
}

// distinct is a list as a set: sorted, each text once, without the empty ones.
func distinct(list []string) []string {
	list = slices.DeleteFunc(list, func(s string) bool { return s == "" })
	slices.Sort(list)
	return slices.Compact(list)
}

// when is a text where a condition holds, and else none.
func when(holds bool, text string) string {
	if !holds {
		return ""
	}
	return text
}

// span is a time as messages show it.
func span(seconds float64) string {
	s := int64(max(math.Floor(seconds), 0))
	two := func(n int64, unit string, rest int64, below string) string {
		if rest == 0 {
			return strconv.FormatInt(n, 10) + unit
		}
		return strconv.FormatInt(n, 10) + unit + strconv.FormatInt(rest, 10) + below
	}
	switch {
	case s >= 2500000*3600:
		return strconv.FormatInt(s/86400, 10) + "d"
	case s >= 86400:
		return two(s/86400, "d", s/3600%24, "h")
	case s >= 3600:
		return two(s/3600, "h", s/60%60, "m")
	case s >= 60:
		return two(s/60, "m", s%60, "s")
	}
	return strconv.FormatInt(s, 10) + "s"
}

func spanOf(seconds *float64) string {
	if seconds == nil {
		return blank
	}
	return span(*seconds)
}

func branch(ref string) string {
	return strings.TrimPrefix(strings.TrimPrefix(ref, "refs/remotes/"), "refs/heads/")
}

var bare = regexp.MustCompile(`^[A-Za-z0-9@%+=:,./_~-]+$`)

func shellWord(word string) string {
	if bare.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// count says which findings count, by the levels of their rules.
func (j *judged) count() {
	rules := make([]string, 0, len(j.findings))
	for _, f := range j.findings {
		rules = append(rules, f.Rule)
	}
	rules = distinct(rules)
	if len(j.c.Levels) == 0 {
		j.counting = rules
		return
	}
	var on, left, rest []string
	for _, r := range rules {
		switch level := j.c.Level(j.Kind, r); {
		case level == decision.Off:
			continue
		case level == decision.On, level == decision.Ask && j.Asked != nil:
			on = append(on, r)
		case level == decision.Ask:
			left = append(left, r)
		}
		rest = append(rest, r)
	}
	switch {
	case len(on) > 0:
		j.counting = on
	case len(left) > 0:
		j.counting = left
	default:
		j.counting = rest
	}
}

// ended says of each entry whether its owner has ended.
func (j *judged) ended() []bool {
	if j.over == nil && len(j.Entries) > 0 {
		j.over = make([]bool, len(j.Entries))
		for i := range j.Entries {
			e := &j.Entries[i]
			j.over[i] = is(e.Terminal, true) || e.Terminal == nil && e.Status != "" && slices.Contains(j.c.TerminalStatuses, e.Status)
		}
	}
	return j.over
}

// ownerOver reports whether every entry of an owner says that it has ended.
func (j *judged) ownerOver(id string) bool {
	found := false
	for i, over := range j.ended() {
		if j.Entries[i].ID == id {
			if !over {
				return false
			}
			found = true
		}
	}
	return found
}

// markedOver reports whether a marker of the process ties it to an entry, and all that speaks of it by anything but a marker, or by an owner that has ended.
func (j *judged) markedOver() bool {
	marked := false
	for i, over := range j.ended() {
		e := &j.Entries[i]
		if e.By != "marker" {
			continue
		}
		if !over {
			return false
		}
		marked = marked || j.marked(e)
	}
	return marked
}

// marked reports whether the process carries the marker of an entry.
func (j *judged) marked(e *entry) bool {
	return e.Marker != "" && slices.ContainsFunc(j.c.IDMarkers, func(name string) bool { return j.marker(name) == e.Marker })
}

// marker is the value of a marker that the process carries.
func (j *judged) marker(name string) string {
	if j.Process == nil || j.Process.Markers == nil {
		return ""
	}
	return (*j.Process.Markers)[name]
}

// matches reports whether something has one of the names of a scope.
func matches(n subject.Names, name string) bool {
	return name != "" && (slices.Contains(n.Exact, name) ||
		slices.ContainsFunc(n.Prefix, func(p string) bool { return p != "" && strings.HasPrefix(name, p) }))
}

// unprotected reports whether no entry of rules.protected matches a name.
func (n *native) unprotected(name string) bool {
	for i := range n.protected {
		if p := &n.protected[i]; p.text == name || p.name.Match(name) {
			return false
		}
	}
	return true
}

// never reports whether rules.never_processes has a name, which the kernel may have cut.
func (n *native) never(name string) bool {
	cut := len(name) >= 15 && len([]rune(name)) == 15 && !strings.Contains(name, "\n")
	for _, listed := range n.c.NeverProcesses {
		start, glob := strings.CutSuffix(listed, "*")
		if listed == name || glob && strings.HasPrefix(name, start) || !glob && cut && strings.HasPrefix(listed, name) {
			return true
		}
	}
	return false
}

func (n *native) endable(name string) bool { return name != "" && !n.never(name) }
