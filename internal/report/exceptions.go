package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/engine/tester"
	"github.com/winnow-reaper/winnow/internal/text"
)

// The states of an exception.
const (
	Keeps  = "keeps"
	Ends   = "ends soon"
	Passed = "expired"
)

// soon is how long before its end an exception is named.
const soon = 7 * 24 * time.Hour

// Exception is an exception of the policies, with how it stands at the time of the report.
type Exception struct {
	Match snapshot.Match `json:"match"`
	Why   string         `json:"why"`
	Who   string         `json:"who"`
	Until string         `json:"until"`
	// Rules are the only rules that it keeps against; absent where it keeps against all.
	Rules []string `json:"rules,omitempty"`
	// Tree is the tree that it is in, File and Line where it stands there: Line 0 is not known.
	Tree  string `json:"tree"`
	File  string `json:"file"`
	Line  int    `json:"line"`
	State string `json:"state" jsonschema:"enum=keeps,enum=ends soon,enum=expired"`
	// End is when it keeps nothing any more; absent for never.
	End time.Time `json:"end,omitzero"`
	// Matches counts the candidates in scope that it matches or may match, also where it has expired; absent where nothing was looked at.
	Matches *int `json:"matches,omitempty"`
}

// Standing are the exceptions of the policies, which match so many things each, and then those of the repositories in a snapshot, as they stand then.
func Standing(all []snapshot.Keep, s *snapshot.Snapshot, matches []int) []Exception {
	return Exceptions(slices.Concat(all, ofProjects(s)), s.TakenAt, matches)
}

// Exceptions say how exceptions stand at a time. matches is nil where nothing was looked at.
func Exceptions(all []snapshot.Keep, at time.Time, matches []int) []Exception {
	out := []Exception{}
	for i, e := range all {
		x := Exception{Match: e.Match, Why: e.Why, Who: e.Who, Until: e.Until, Rules: e.Rules, Tree: e.Tree, File: e.File, Line: e.Line, State: Keeps}
		if end, _ := e.Ends(); end != nil {
			x.End = *end
			switch left := end.Sub(at); {
			case left <= 0:
				x.State = Passed
			case left <= soon:
				x.State = Ends
			}
		}
		if i < len(matches) {
			x.Matches = new(matches[i])
		}
		out = append(out, x)
	}
	return out
}

// ofProjects are the entries of trusted repositories that may end.
func ofProjects(s *snapshot.Snapshot) (out []snapshot.Keep) {
	for i := range s.Projects {
		for _, k := range s.Projects[i].Entries() {
			if k.Until != "" {
				out = append(out, k)
			}
		}
	}
	return out
}

// Place is the file and the line.
func (x Exception) Place() string {
	if x.Line > 0 {
		return fmt.Sprintf("%s:%d", x.File, x.Line)
	}
	return x.File
}

// Says is how it stands, whose it is, and what to do about it.
func (x Exception) Says() string {
	of := fmt.Sprintf("of %s: %s", x.Who, x.Why)
	switch {
	case x.State == Passed:
		return fmt.Sprintf("it keeps nothing since %s, %s", text.Time(x.End), of) + x.matched(" (it still matches %s)")
	case x.State == Ends:
		return fmt.Sprintf("until %s, then it keeps nothing, %s", text.Time(x.End), of)
	case x.Matches != nil && *x.Matches == 0:
		return fmt.Sprintf("nothing here matches it, until %s, %s", x.Until, of)
	case x.Until == snapshot.Never:
		return "without an end, " + of + x.matched(" (%s)")
	}
	return fmt.Sprintf("until %s, %s", x.Until, of) + x.matched(" (%s)")
}

// EndOfException says what a person can do about the exception that keeps something, "" where main, what keeps it in the first place, is something else.
func EndOfException(main *decision.Main, objections []decision.Reason) string {
	if main == nil {
		return ""
	}
	for _, o := range objections {
		var x Exception
		data, err := json.Marshal(o.Evidence)
		if o.Rule != main.Rule || err != nil || json.Unmarshal(data, &x) != nil || x.File == "" || x.Until == "" {
			continue
		}
		if x.Until == snapshot.Never {
			return "remove the exception from " + x.Place()
		}
		return fmt.Sprintf("remove the exception from %s, or wait until %s has passed", x.Place(), x.Until)
	}
	return ""
}

func (x Exception) matched(form string) string {
	if x.Matches == nil || *x.Matches == 0 {
		return ""
	}
	return fmt.Sprintf(form, text.Plural(*x.Matches, "thing"))
}

// Next is what to do about one that has expired or ends soon.
func (x Exception) Next() string {
	if x.State == Keeps {
		return ""
	}
	return fmt.Sprintf("remove it from %s, or write a later time there", cmp.Or(x.File, policy.ExceptionsName))
}

// Advice is about exceptions that have expired or end soon where policies are checked. It breaks nothing.
func Advice(all []Exception) (out []lint.Refusal) {
	for _, x := range all {
		if x.State != Keeps {
			out = append(out, lint.Refusal{Class: lint.ClassException, File: x.File, Line: x.Line, Problem: x.State + ": " + x.Says(), Fix: x.Next()})
		}
	}
	return out
}

// exceptionsText names the exceptions that have expired or end soon, with --all every one.
func (p page) exceptionsText(w io.Writer, exceptions []Exception, all bool) {
	var rows []text.Row
	for _, x := range exceptions {
		color := p.Yellow
		if x.State == Keeps {
			color = p.Dim
		}
		if all || x.State != Keeps {
			rows = append(rows, text.Row{Lead: x.State, Color: color, Label: text.Home(x.Place()), Text: x.Says(), Next: x.Next()})
		}
	}
	p.Section(w, "exceptions of the policies", rows...)
}

// The schemas of what the commands about policies print as JSON.
const (
	PolicyCheckSchema  = "winnow.policy-check/v1"
	PolicyTestSchema   = "winnow.policy-test/v1"
	PolicyFormatSchema = "winnow.policy-fmt/v1"
)

// PolicyCheck is what winnow policy check says.
type PolicyCheck struct {
	Schema string `json:"schema"`
	// OK is true where the policies would be loaded and their tests compile.
	OK bool `json:"ok"`
	// Trees are the folders that were checked, Embedded whether the embedded policies lie below them.
	Trees    []string `json:"trees"`
	Embedded bool     `json:"embedded"`
	// Files and Tests are the files that were read.
	Files []string `json:"files"`
	Tests []string `json:"tests"`
	// Rules are those of the trees, Kinds what kinds of candidates they and the embedded ones are about; empty where the policies are refused.
	Rules []string `json:"rules"`
	Kinds []string `json:"kinds"`
	// Exceptions are those of the trees, each with how it stands now.
	Exceptions []Exception `json:"exceptions"`
	// Layers are those of the policies, from the top; empty where the policies are refused.
	Layers []PolicyLayer `json:"layers"`
	// Problems are why the policies would be refused, Advice what breaks nothing.
	Problems []lint.Refusal `json:"problems"`
	Advice   []lint.Refusal `json:"advice"`
	// Passed are the files in the trees that are neither policies nor tests, and the folders whose name begins with a dot: they are not read.
	Passed []string `json:"passed_over"`
}

// PolicyTest is what winnow policy test says of tests and cases, and with --conformance of the incidents that ship.
type PolicyTest struct {
	Schema string `json:"schema"`
	// OK is true where tests ran, all of them passed, and the coverage is not below the threshold.
	OK    bool            `json:"ok"`
	Trees []string        `json:"trees"`
	Tests []tester.Result `json:"tests"`
	// Coverage is missing where it was not asked for. It is also missing where a test ended the process that counted; then Problem says so.
	Coverage  *tester.Coverage `json:"coverage,omitempty"`
	Threshold float64          `json:"threshold,omitempty"`
	// Problem is why OK is false although no test failed.
	Problem string `json:"problem,omitempty"`
	// Problems are why the policies or tests do not load; then no test was run.
	Problems []lint.Refusal `json:"problems"`
}

// PolicyFormat is what winnow policy fmt says.
type PolicyFormat struct {
	Schema string `json:"schema"`
	// OK is true where every file is formatted now.
	OK bool `json:"ok"`
	// Files are all files that were read.
	Files []string `json:"files"`
	// Unformatted are those that are not as OPA writes them, and Written those of them that were written.
	Unformatted []string `json:"unformatted"`
	Written     []string `json:"written"`
	// Problems are the files that could not be formatted.
	Problems []lint.Refusal `json:"problems"`
}

// What begins the name of a case, and of an incident that ships, among the results of tests.
const (
	CasePrefix     = "cases/"
	IncidentPrefix = "incidents/"
)

// PolicyLayer is a tree of policies with what it may do.
type PolicyLayer struct {
	// Layer is shipped, organisation or user. From is where the tree comes from, as a person calls it.
	Layer string `json:"layer"`
	From  string `json:"from"`
	// Rules are how many rules it has, File its layer.yaml where it has one.
	Rules int    `json:"rules"`
	File  string `json:"file,omitempty"`
	// Granted are the names that the layers above grant to it. What reaps no more needs no grant.
	Granted []string `json:"granted"`
}

// The layers of policies, from the top.
const (
	LayerShipped      = "shipped"
	LayerOrganisation = "organisation"
	LayerUser         = "user"
)

// Levels says which rules are not on: those that protect, which is worth a warning, and those that reap; "" if all are on.
func Levels(all []subject.RuleLevel) (protect, reap string) {
	var off, rest []string
	for i, l := range all {
		if i > 0 && all[i-1].Rule == l.Rule && all[i-1].Level == l.Level {
			continue // the same of another kind
		}
		var kinds []string
		for _, k := range snapshot.Kinds {
			if slices.Contains(all, subject.RuleLevel{Rule: l.Rule, Kind: k.Name, Level: l.Level}) {
				kinds = append(kinds, k.Plural)
			}
		}
		if !decision.Protects(l.Rule) {
			rest = append(rest, fmt.Sprintf("%s: %s", l.Rule, l.Level))
			continue
		}
		which := strings.Join(kinds, ", ")
		if len(kinds) == len(snapshot.Kinds) {
			which = "everything"
		}
		off = append(off, fmt.Sprintf("%s is off for %s", l.Rule, which))
	}
	if len(off) > 0 {
		protect = strings.Join(off, "; ") + " (rules.levels)"
	}
	if len(rest) > 0 {
		reap = strings.Join(rest, ", ") + " (rules.levels)"
	}
	return protect, reap
}

// Rules are the rules of reasons, in one line.
func Rules(rs []decision.Reason) string {
	return strings.Join(slices.Compact(text.Map(rs, func(r decision.Reason) string { return r.Rule })), ", ")
}

// leveled says why a candidate stays that goes but for the level of the rules.
func leveled(d decision.Decision) string {
	_, counting := d.Counting()
	s := fmt.Sprintf("%s; it would go if %s were on", Messages(counting), Rules(counting))
	if d.Level == decision.Ask {
		s += "; winnow cleanup " + text.Quote(d.ID) + " --safe does it"
	}
	return s
}
