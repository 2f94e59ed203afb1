package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/winnow-reaper/winnow/engine/decision"
)

// Summary is how a person is told of an objection, by the METADATA of its package: custom: {summary: {rank: 40, group: in use}}. A package whose
// objections differ in what a person does about them has a list of these; the first one that is about an objection counts.
type Summary struct {
	// Rank orders the reasons to keep a candidate: the lowest one is told first. See the ranks in docs/guides/write-a-rule.md.
	Rank int `json:"rank"`
	// Group is what several such candidates are counted under: "in use".
	Group string `json:"group"`
	// Evidence and Word limit it to the objections whose evidence has a value under one of these names, and whose message has the word.
	Evidence []string `json:"evidence,omitempty"`
	Word     string   `json:"word,omitempty"`
	// Next is the command to run about it, with ID for the quoted id, DIR for the folder and REPO for its repository; "" for no command.
	Next string `json:"next,omitempty"`
	// Message is told in the place of the rule's own one, which a report then tells once for each source.
	Message string `json:"message,omitempty"`
	// Passes is true where the objection passes with time alone.
	Passes bool `json:"passes,omitempty"`
}

const (
	maxSummaryText = 120
	likeSummary    = "write summary: {rank: 100, group: kept by my rule}, and if you like evidence, word, next, message, passes"
)

// summaries are what the package's METADATA in this file says of how a person is told of its objections, and what is wrong with it.
func (m module) summaries() (all []Summary, refused Refusals) {
	for _, a := range m.Annotations {
		declared, ok := a.Custom["summary"]
		if !ok {
			continue
		}
		bad := func(problem, fix string) {
			refused = append(refused, m.refuse(ClassSummary, a.Location, "summary: "+problem, fix))
		}
		if path := below(m.Package); a.Scope != "package" || len(path) == 0 || path[0] != "protect" {
			bad("it is declared by a package under protect and by nothing else", "move it to the METADATA of such a package, or take it out")
			continue
		}
		list, several := declared.([]any)
		if !several {
			list = []any{declared}
		}
		for _, one := range list {
			s, problem := readSummary(one)
			if problem != "" {
				bad(problem, likeSummary)
			}
			all = append(all, s)
		}
	}
	return all, refused
}

func readSummary(declared any) (s Summary, problem string) {
	data, err := json.Marshal(declared)
	if err != nil {
		return s, "it is no section of keys and values"
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return Summary{}, strings.TrimPrefix(err.Error(), "json: ")
	}
	for _, text := range append([]string{s.Group, s.Word, s.Next, s.Message}, s.Evidence...) {
		if len(text) > maxSummaryText || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return s, fmt.Sprintf("%.20q is no line of at most %d letters", text, maxSummaryText)
		}
	}
	if s.Rank <= 0 || s.Group == "" {
		return s, "it needs a rank above 0 and a group"
	}
	return s, ""
}

// KeepsBy reports whether some rule that keeps declares a fact as one that it needs (custom: {needs: [holders]}). off says which rules do not count.
func (p *Policy) KeepsBy(fact string, off func(rule string) bool) bool {
	for id, r := range p.rules {
		if decision.Protects(id) && slices.Contains(r.Needs, fact) && !off(id) {
			return true
		}
	}
	return false
}

// Finds reports whether some rule in a folder below reap can find something. off says which rules do not count.
func (p *Policy) Finds(folder string, off func(rule string) bool) bool {
	for id := range p.rules {
		if path := strings.Split(id, "."); path[0] == "reap" && path[1] == folder && !off(id) {
			return true
		}
	}
	return false
}
