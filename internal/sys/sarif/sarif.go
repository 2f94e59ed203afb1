// Package sarif writes findings in files as SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/sarif-v2.1.0-os.html), the form
// that GitHub's code scanning and editors show beside the line. Of the standard it has what those read.
package sarif

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// The levels of a finding.
const (
	Error   = "error"
	Warning = "warning"
	Note    = "note"
)

// Tool is what found it.
type Tool struct {
	Name, Version string
	// URL is where people read about it; "" for no such place.
	URL string
	// Category names what it did, such as "winnow policy check": what is found takes the place of what was found under that name before, and several
	// logs of one commit need different ones. "" for none.
	Category string
}

// Rule is a kind of finding.
type Rule struct {
	// ID is short and stable, such as unknown-field.
	ID string
	// Short is one sentence; Help says what to do about such a finding. Both may be empty.
	Short, Help string
}

// Finding is one thing at one place.
type Finding struct {
	// Rule is the id of its kind.
	Rule string
	// Level is Error, Warning or Note.
	Level   string
	Message string
	// File is its path; one below the root that New is given is written relative to it.
	File string
	// Line and Column count from 1, the column in Unicode code points; 0 is unknown. Snippet is the line's text.
	Line, Column int
	Snippet      string
}

// New makes a log of findings by one tool. root is the absolute path of the folder that relative paths count from, and below which reviewers
// look: the repository. Rules that findings name and rules does not have are added without words.
func New(tool Tool, root string, rules []Rule, findings []Finding) Log {
	rules = slices.Clone(rules)
	at := map[string]int{}
	for i, r := range rules {
		at[r.ID] = i
	}
	results := make([]result, 0, len(findings))
	for _, f := range findings {
		i, known := at[f.Rule]
		if !known {
			i, at[f.Rule] = len(rules), len(rules)
			rules = append(rules, Rule{ID: f.Rule})
		}
		results = append(results, result{
			RuleID: f.Rule, RuleIndex: i, Level: f.Level, Message: message{Text: f.Message},
			Locations: []location{{Physical: physical{Artifact: artifactOf(f.File, root), Region: regionOf(f)}}},
		})
	}
	d := driver{Name: tool.Name, Version: tool.Version, URL: tool.URL, Rules: make([]descriptor, 0, len(rules))}
	for _, r := range rules {
		d.Rules = append(d.Rules, descriptor{ID: r.ID, Short: newMessage(r.Short), Help: newMessage(r.Help)})
	}
	return Log{
		Schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json", Version: "2.1.0",
		Runs: []run{{Tool: toolComponent{d}, Automation: automationOf(tool.Category), Columns: "unicodeCodePoints", Results: results}},
	}
}

// Log is a whole document. It is written as JSON.
type Log struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []run  `json:"runs"`
}

type run struct {
	Tool       toolComponent `json:"tool"`
	Automation *automation   `json:"automationDetails,omitempty"`
	Columns    string        `json:"columnKind"`
	Results    []result      `json:"results"`
}

// automation is the run among others: the part of the id before its last slash is what GitHub calls the category.
type automation struct {
	ID string `json:"id"`
}

func automationOf(category string) *automation {
	if category == "" {
		return nil
	}
	return &automation{category + "/"}
}

type toolComponent struct {
	Driver driver `json:"driver"`
}

type driver struct {
	Name    string       `json:"name"`
	Version string       `json:"version,omitempty"`
	URL     string       `json:"informationUri,omitempty"`
	Rules   []descriptor `json:"rules"`
}

type descriptor struct {
	ID    string   `json:"id"`
	Short *message `json:"shortDescription,omitempty"`
	Help  *message `json:"help,omitempty"`
}

type message struct {
	Text string `json:"text"`
}

func newMessage(text string) *message {
	if text == "" {
		return nil
	}
	return &message{text}
}

type result struct {
	RuleID    string     `json:"ruleId"`
	RuleIndex int        `json:"ruleIndex"`
	Level     string     `json:"level"`
	Message   message    `json:"message"`
	Locations []location `json:"locations"`
}

type location struct {
	Physical physical `json:"physicalLocation"`
}

type physical struct {
	Artifact artifact `json:"artifactLocation"`
	Region   *region  `json:"region,omitempty"`
}

type artifact struct {
	URI  string `json:"uri"`
	Base string `json:"uriBaseId,omitempty"`
}

type region struct {
	Line    int      `json:"startLine"`
	Column  int      `json:"startColumn,omitempty"`
	Snippet *message `json:"snippet,omitempty"`
}

// srcRoot is what the standard and GitHub call the repository's folder (3.14.14).
const srcRoot = "%SRCROOT%"

func artifactOf(file, root string) artifact {
	if filepath.IsAbs(file) {
		inside, err := filepath.Rel(root, file)
		if err != nil || inside == ".." || strings.HasPrefix(inside, "../") {
			return artifact{URI: (&url.URL{Scheme: "file", Path: file}).String()}
		}
		file = inside
	}
	// A first part with a colon would be read as a scheme; url.URL puts ./ before it.
	return artifact{URI: (&url.URL{Path: filepath.ToSlash(filepath.Clean(file))}).String(), Base: srcRoot}
}

func regionOf(f Finding) *region {
	if f.Line < 1 {
		return nil
	}
	r := &region{Line: f.Line, Column: max(0, f.Column)}
	if f.Snippet != "" {
		r.Snippet = &message{f.Snippet}
	}
	return r
}
