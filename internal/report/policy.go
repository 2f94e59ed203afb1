package report

import (
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/tester"
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
