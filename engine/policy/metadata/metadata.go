// Package metadata reads what the METADATA of a rule's package says of how a person is told of its reasons.
package metadata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
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

const maxText = 120

// Like is a summary as it is written.
const Like = "write summary: {rank: 100, group: kept by my rule}, and if you like evidence, word, next, message, passes"

// Summaries reads custom.summary of a package: one summary, or a list of them. It says what is wrong with each.
func Summaries(declared any) (all []Summary, problems []string) {
	list, several := declared.([]any)
	if !several {
		list = []any{declared}
	}
	for _, one := range list {
		s, problem := readSummary(one)
		if problem != "" {
			problems = append(problems, problem)
		}
		all = append(all, s)
	}
	return all, problems
}

// nexts are the commands that a person may be told to run next, and may copy: rules come from others too.
var nexts = []string{"winnow explain ID", "winnow history ID", "winnow release ID", "winnow doctor",
	"git -C DIR log --oneline -5", "git -C DIR status --short --ignored", "git -C REPO worktree unlock DIR", "diff -rq REPO DIR"}

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
		if len(text) > maxText || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return s, fmt.Sprintf("%.20q is no line of at most %d letters", text, maxText)
		}
	}
	if s.Rank < 10 || s.Group == "" {
		return s, "it needs a rank of 10 or more and a group"
	}
	if s.Next != "" && !slices.Contains(nexts, s.Next) {
		return s, "next is one of: " + strings.Join(nexts, ", ")
	}
	return s, ""
}
