package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/tester"
	"github.com/winnow-reaper/winnow/internal/text"
)

// The schemas of what the commands about policies print as JSON.
const (
	PolicyCheckSchema  = "winnow.policy-check/v1"
	PolicyTestSchema   = "winnow.policy-test/v1"
	PolicyFormatSchema = "winnow.policy-fmt/v1"
	ConformanceSchema  = "winnow.policy-conformance/v1"
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

// PolicyTest is what winnow policy test says.
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

// Conformance is what winnow policy test --conformance says.
type Conformance struct {
	Schema string `json:"schema"`
	// OK is false where something goes that has to stay, or where the policies came to no answer.
	OK       bool     `json:"ok"`
	Trees    []string `json:"trees"`
	Embedded bool     `json:"embedded"`
	// Right, Kept, Undecided and Reaped count the incidents by their outcome.
	Right     int `json:"right"`
	Kept      int `json:"kept"`
	Undecided int `json:"undecided"`
	Reaped    int `json:"reaped"`
	// Problem is why not all incidents were decided.
	Problem   string     `json:"problem,omitempty"`
	Incidents []Incident `json:"incidents"`
}

// The outcomes of an incident: as it has to be, something stays that could go, no answer, something goes that has to stay.
const (
	Right         = "right"
	Kept          = "kept"
	Undecided     = "undecided"
	WronglyReaped = "reaped"
)

// Incident is a machine with something on it that has to stay or may go.
type Incident struct {
	Name string `json:"name"`
	// Sentence says what has to happen.
	Sentence string `json:"sentence"`
	Outcome  string `json:"outcome" jsonschema:"enum=right,enum=kept,enum=undecided,enum=reaped"`
	// Candidates are those that are not as they have to be.
	Candidates []IncidentCandidate `json:"candidates"`
}

// IncidentCandidate is what the policies make of a thing, and what has to be.
type IncidentCandidate struct {
	ID      string `json:"id"`
	Outcome string `json:"outcome" jsonschema:"enum=kept,enum=undecided,enum=reaped"`
	// Want and Got are verdicts. What no rule claims is spared.
	Want       string           `json:"want"`
	Got        string           `json:"got"`
	Findings   []IncidentReason `json:"findings"`
	Objections []IncidentReason `json:"objections"`
	// Error is why there is no answer.
	Error string `json:"error,omitempty"`
}

// IncidentReason is a reason with the place of its rule.
type IncidentReason struct {
	Rule    string `json:"rule"`
	Message string `json:"message"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
}

// ReasonLine names the rules of reasons with their places, each once.
func ReasonLine(rs []IncidentReason) string {
	var out []string
	for _, r := range rs {
		s := text.Clean(r.Rule)
		if r.File != "" {
			s += fmt.Sprintf(" (%s:%d)", text.Clean(r.File), r.Line)
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return strings.Join(out, ", ")
}

// CasePrefix begins the name of a case among the results of tests.
const CasePrefix = "cases/"

// Worst is the worst outcome of what is not as it has to be, Right without any.
func Worst(of []IncidentCandidate) string {
	order := []string{Right, Kept, Undecided, WronglyReaped}
	worst := 0
	for _, c := range of {
		worst = max(worst, slices.Index(order, c.Outcome))
	}
	return order[worst]
}

// Add adds an incident and counts it.
func (c *Conformance) Add(i Incident) {
	c.Incidents = append(c.Incidents, i)
	switch i.Outcome {
	case Right:
		c.Right++
	case Kept:
		c.Kept++
	case Undecided:
		c.Undecided++
	case WronglyReaped:
		c.Reaped++
	}
	c.OK = c.Undecided+c.Reaped == 0
}

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
