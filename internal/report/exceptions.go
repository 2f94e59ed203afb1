package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
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

// exceptionsMarkdown names those that have expired or end soon.
func exceptionsMarkdown(w io.Writer, exceptions []Exception) {
	for _, x := range exceptions {
		if x.State != Keeps {
			fmt.Fprintf(w, "\n> **exception** %s %s: %s; %s\n", termsafe.Code(x.Place()), termsafe.Cell(x.State), termsafe.Cell(x.Says()), termsafe.Cell(x.Next()))
		}
	}
}
