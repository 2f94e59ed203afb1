package document

import "github.com/winnow-reaper/winnow/internal/report"

// Look is the latest look that remembers nothing, which is made while somebody asks for it.
type Look struct {
	// Stamp changes when a page made of it, or of what the ledger has, may show something else.
	Stamp string `json:"stamp"`
	// Problem is why the latest look failed, so that the report is of an earlier one; "" where it did not.
	Problem string `json:"problem,omitempty"`
	// Report is absent before the first look has ended, and where who asks has named the stamp.
	Report *report.Report `json:"report,omitempty"`
}

// Policies are what decides.
type Policies struct {
	report.PolicyRef
	Layers     []report.PolicyLayer `json:"layers"`
	Exceptions []report.Exception   `json:"exceptions"`
	// Rules are sorted by their id.
	Rules []Rule `json:"rules"`
}

// Rule is a rule with its level.
type Rule struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	Description string `json:"description"`
	File        string `json:"file"`
	Line        int    `json:"line"`
	// Levels are those of kinds for which it is not on, such as "off for process".
	Levels []string `json:"levels,omitempty"`
}
