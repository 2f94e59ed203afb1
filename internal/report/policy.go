package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/engine/tester"
	"github.com/winnow-reaper/winnow/internal/text"
)

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
