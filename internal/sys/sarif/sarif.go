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
	results := make([]object, 0, len(findings))
	for _, f := range findings {
		i, known := at[f.Rule]
		if !known {
			i, at[f.Rule] = len(rules), len(rules)
			rules = append(rules, Rule{ID: f.Rule})
		}
		results = append(results, object{
			"ruleId": f.Rule, "ruleIndex": i, "level": f.Level, "message": object{"text": f.Message},
			"locations": []object{{"physicalLocation": placeOf(f, root)}},
		})
	}
	descriptors := make([]object, 0, len(rules))
	for _, r := range rules {
		d := object{"id": r.ID}
		d.add("shortDescription", r.Short, object{"text": r.Short})
		d.add("help", r.Help, object{"text": r.Help})
		descriptors = append(descriptors, d)
	}
	driver := object{"name": tool.Name, "rules": descriptors}
	driver.add("version", tool.Version, tool.Version)
	driver.add("informationUri", tool.URL, tool.URL)
	run := object{"tool": object{"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
	// The part of the id before its last slash is what GitHub calls the category.
	run.add("automationDetails", tool.Category, object{"id": tool.Category + "/"})
	return Log{"$schema": schema, "version": "2.1.0", "runs": []object{run}}
}

const schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

// Log is a whole document. It is written as JSON.
type Log object

// object is an object of the standard: values by their names there.
type object map[string]any

// add sets a value, unless the text that it is made from is empty.
func (o object) add(name, text string, value any) {
	if text != "" {
		o[name] = value
	}
}

// srcRoot is what the standard and GitHub call the repository's folder (3.14.14).
const srcRoot = "%SRCROOT%"

func artifactOf(file, root string) object {
	if filepath.IsAbs(file) {
		inside, err := filepath.Rel(root, file)
		if err != nil || inside == ".." || strings.HasPrefix(inside, "../") {
			return object{"uri": (&url.URL{Scheme: "file", Path: file}).String()}
		}
		file = inside
	}
	// A first part with a colon would be read as a scheme; url.URL puts ./ before it.
	return object{"uri": (&url.URL{Path: filepath.ToSlash(filepath.Clean(file))}).String(), "uriBaseId": srcRoot}
}

// placeOf is a physicalLocation.
func placeOf(f Finding, root string) object {
	place := object{"artifactLocation": artifactOf(f.File, root)}
	if f.Line < 1 {
		return place
	}
	region := object{"startLine": f.Line}
	if f.Column > 0 {
		region["startColumn"] = f.Column
	}
	region.add("snippet", f.Snippet, object{"text": f.Snippet})
	place["region"] = region
	return place
}
