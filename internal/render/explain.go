package render

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/text"
)

func (p Paint) Explanation(w io.Writer, x document.Explanation, rules bool) {
	d := x.Decision()
	verdict, next := p.Yellow("stays"), ""
	switch {
	case x.Verdict == decision.Reap:
		verdict, next = p.Green("would go"), "winnow sweep --apply"
	case x.Level != "":
		verdict = p.Yellow("stays at " + x.Level)
		if x.Level == decision.Ask {
			next = "winnow cleanup " + text.Quote(x.ID) + " --safe"
		}
	case d.Waits(): // and is spared
		verdict, next = p.Yellow("waits for a second look"), "winnow sweep --apply"
		if at, ok := report.Due(d, x.TakenAt); ok {
			next += ", not before " + report.Clock(at)
		}
	case x.Main.Next != "":
		next = x.Main.Next
	default:
		next = report.EndOfException(x.Main, d.Objections)
	}
	p.Sentence(w, p.Bold(text.Clean(x.ID))+" "+verdict+": "+text.Clean(x.Main.Message)+".")
	if next == "" && !rules {
		next = "winnow explain " + text.Quote(x.ID) + " --rules"
	}
	if next != "" {
		p.Sentence(w, "next: "+text.Clean(next))
	}
	if o := report.Counterfactual(x.WouldChange); o != "" && !rules && !strings.Contains(o, "input.") {
		p.Sentence(w, text.Clean(o))
	}
	for _, note := range x.Notes {
		p.Sentence(w, text.Clean(note))
	}
	if x.Label != "" && !strings.HasSuffix(x.ID, x.Label) {
		if label := report.Label(d); label != x.ID {
			p.Sentence(w, p.Dim("its name: "+text.Clean(label)))
		}
	}
	if !x.InScope {
		p.Sentence(w, p.Dim("no rule under reap claims it, so a sweep counts it and does not list it"))
	}
	if x.Error != "" {
		p.Rows(w, text.Row{Lead: "error", Color: p.Red, Text: x.Error})
	}
	p.firedText(w, "why it may go", x.Findings, rules)
	p.firedText(w, "why it stays", x.Objections, rules)
	p.agentText(w, x.Subject)
	if x.Subject != nil {
		p.UsersText(w, x.Subject.Dir)
	}
	p.RefusalText(w, x.Refusal)
	p.trailText(w, x.Terminal)
	if rules {
		p.differentText(w, x)
		p.restsText(w, x)
		fmt.Fprintf(w, "\n%s\n", p.Dim("--format json has the whole subject and every rule that did not speak"))
		return
	}
	fmt.Fprintln(w)
	if x.Verdict == decision.Reap {
		p.Sentence(w, p.Dim("winnow retain "+text.Clean(text.Quote(x.ID))+" --reason TEXT keeps it"))
	}
	p.Sentence(w, p.Dim("--rules shows the rules, their facts with source and age, and what would have to be different"))
}

// firedText is a rule a line with what it says; with rules a paragraph, with where it stands and the facts.
func (p Paint) firedText(w io.Writer, title string, fired []explain.Fired, rules bool) {
	if len(fired) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", p.Bold(title))
	var rows []text.Row
	said := slices.ContainsFunc(fired, func(f explain.Fired) bool { return report.Says(f.Reason) })
	for _, f := range fired {
		if !rules {
			if said && !report.Says(f.Reason) {
				continue
			}
			row := text.Row{Lead: f.Rule, Color: p.Dim, Text: f.Message}
			if f.Level != "" {
				row.Rest = "its level is " + f.Level + " (rules.levels)"
			}
			rows = append(rows, row)
			continue
		}
		at := place(f.File, f.Line)
		if f.Layer != "" {
			at += "  (layer " + text.Clean(f.Layer) + ")"
		}
		fmt.Fprintf(w, "  %s  %s\n", text.Clean(f.Rule), p.Dim(at))
		p.Indented(w, 4, text.Clean(f.Message))
		if f.Level != "" {
			p.Indented(w, 4, p.Yellow("its level is "+f.Level+" (rules.levels)"))
		}
		for _, k := range slices.Sorted(maps.Keys(f.Evidence)) {
			if shown := value(f.Evidence[k]); shown != "[]" {
				p.Indented(w, 6, p.Dim(text.Clean(k)+" = "+shown))
			}
		}
		p.factsText(w, f)
	}
	p.Rows(w, rows...)
}

// maxFacts is how many facts of one rule are shown to a person.
const maxFacts = 12

// factsText is what a rule rests on, each fact with its source and age: first those that it came to its end at. What is not known comes last: most
// of it is of things that the candidate does not have.
func (p Paint) factsText(w io.Writer, fired explain.Fired) {
	if len(fired.Facts) == 0 {
		return
	}
	p.Indented(w, 4, "its facts")
	facts, decided := slices.Clone(fired.Facts), map[string]bool{}
	for _, c := range explain.Innermost(fired.Missing) {
		for _, v := range c.Values {
			decided[v.Name] = true
		}
	}
	rank := func(f explain.Fact) int {
		switch {
		case decided[f.Fact]:
			return -1
		case f.Unknown:
			return 2
		case f.Source == explain.FromConfig:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(facts, func(a, b explain.Fact) int { return cmp.Compare(rank(a), rank(b)) })
	for _, f := range facts[:min(len(facts), maxFacts)] {
		is := "= " + value(f.Value)
		if f.Unknown {
			is = "is not known"
		}
		p.Indented(w, 6, text.Clean(f.Fact)+" "+is+"  "+p.Dim(text.Clean(origin(f))))
	}
	if n := len(facts) - maxFacts; n > 0 {
		p.Indented(w, 6, p.Dim(fmt.Sprintf("and %d more (--format json)", n)))
	}
}

// origin says where a fact comes from, and how long ago it was read.
func origin(f explain.Fact) string {
	if f.Age == nil {
		return f.Source
	}
	return fmt.Sprintf("%s, %s ago", cmp.Or(f.Source, "look"), text.Span(time.Duration(*f.Age*float64(time.Second))))
}

// agentText names who may be the living agent of a process that carries an agent's marker.
func (p Paint) agentText(w io.Writer, sub *subject.Subject) {
	if sub == nil || sub.Lineage == nil || sub.Lineage.Markers == nil || len(*sub.Lineage.Markers) == 0 {
		return
	}
	said := ""
	switch l := sub.Lineage; {
	case l.PossibleAgent != nil:
		said = report.PossibleAgentText(l.PossibleAgent)
	case l.Agent != nil:
		said = fmt.Sprintf("%s (pid %d) runs, and may own it", l.Agent.Name, l.Agent.PID)
	default:
		return
	}
	fmt.Fprintf(w, "\n%s\n", p.Bold("its agent"))
	p.Indented(w, 2, text.Clean(said))
}

// differentText says what it would take to come to the other verdict.
func (p Paint) differentText(w io.Writer, x document.Explanation) {
	fmt.Fprintf(w, "\n%s\n", p.Bold("what would have to be different"))
	if o := report.Counterfactual(x.WouldChange); o != "" {
		p.Indented(w, 2, text.Clean(o))
		p.Indented(w, 4, p.Dim(fmt.Sprintf("found by search and decided again, in %s", text.Plural(x.WouldChange.Decided, "decision"))))
	}
	if x.Verdict == decision.Reap {
		p.Indented(w, 2, "any one objection keeps it. These rules looked, and did not object:")
		names := text.Map(x.NoObjection, func(s explain.Silent) string { return decision.Leaf(s.Rule) })
		slices.Sort(names)
		p.Indented(w, 4, text.Clean(strings.Join(slices.Compact(names), ", ")))
		p.Indented(w, 2, text.Clean("winnow retain "+text.Quote(x.ID)+" --reason TEXT keeps it"))
		return
	}
	if x.Level != "" {
		p.Indented(w, 2, "a rule that found a reason would have to be on (rules.levels)")
		if x.Level == decision.Ask {
			p.Indented(w, 2, text.Clean("winnow cleanup "+text.Quote(x.ID)+" --safe does it now"))
		}
		return
	}
	shown := map[string]bool{}
	if len(x.Findings) == 0 {
		p.Indented(w, 2, "a reason to reap it would have to be found; none of these held:")
		for _, s := range x.NoFinding {
			p.conditions(w, shown, s.Rule, s.Failed)
		}
	}
	if len(x.Objections) > 0 {
		p.Indented(w, 2, "every objection would have to go:")
	}
	for _, f := range x.Objections {
		if len(f.Missing) == 0 {
			p.Indented(w, 4, fmt.Sprintf("%s: %s", text.Clean(f.Rule), p.Dim("what it names would have to be gone")))
			continue
		}
		p.conditions(w, shown, f.Rule, f.Missing)
	}
}

// namedValues are the values of a condition that have a name, each with what it is.
func namedValues(values []explain.Value) (out []string) {
	for _, v := range values {
		switch {
		case v.Name == "":
		case v.Unknown:
			out = append(out, v.Name+" is unknown")
		default:
			out = append(out, v.Name+" is "+value(v.Value))
		}
	}
	return out
}

// conditions lists where a rule came to its end, the innermost place of each. What is shown already is left out: a rule that is written
// in several ways comes to the same condition more than once.
func (p Paint) conditions(w io.Writer, shown map[string]bool, rule string, cs []explain.Condition) {
	for _, c := range explain.Innermost(cs) {
		facts := namedValues(c.Values)
		line := text.Clean(fmt.Sprintf("%s: %s", rule, c.Text)) + "  " + p.Dim(place(c.File, c.Line))
		one := line + strings.Join(facts, ", ")
		if shown[one] {
			continue
		}
		shown[one] = true
		p.Indented(w, 4, line)
		if len(facts) > 0 {
			p.Indented(w, 6, p.Dim("now "+text.Clean(strings.Join(slices.Compact(facts), ", "))))
		}
	}
}

// restsText says where the facts came from.
func (p Paint) restsText(w io.Writer, x document.Explanation) {
	fmt.Fprintf(w, "\n%s %s\n", p.Bold("it rests on"), p.Dim("as of "+text.Time(x.TakenAt)))
	for _, name := range slices.Sorted(maps.Keys(x.Sources)) {
		s := x.Sources[name]
		line := cmp.Or(s.Status, "missing")
		if s.Path != "" {
			line += " " + text.Home(s.Path)
		}
		if s.Error != "" {
			line += ": " + s.Error
		}
		p.Indented(w, 2, text.Clean(name)+"  "+p.Dim(text.Clean(line)))
	}
	p.Indented(w, 2, "policies  "+p.Dim(text.Clean(cmp.Or(x.Policy.Revision, "no revision")+" "+x.Policy.Digest)))
}

func place(file string, line int) string { return fmt.Sprintf("%s:%d", text.Clean(file), line) }

// maxValue is how much of one fact is shown to a person.
const maxValue = 120

func value(v any) string { return text.Clean(text.Value(v, maxValue)) }

// HoldsBy says in words how a process uses a folder, by the word that the snapshot has for it.
var HoldsBy = map[string]string{
	"cwd":     "works in it",
	"exe":     "was started from a file in it",
	"root":    "has its root folder in it",
	"thread":  "has one thread that works in it, or has a file in it open",
	"fd":      "has a file or folder in it open",
	"map":     "has a file in it mapped, such as a library",
	"socket":  "has a unix socket that is bound in it",
	"lock":    "has a lock on a file in it",
	"admin":   "uses the folder that git keeps for this worktree, or works in a copy of it",
	"argv":    "was started with a path in it on its command line, such as a script",
	"env":     "has a variable in its environment that leads git, or the search for programs, into it",
	"watch":   "watches it for changes",
	"link":    "has a file open that has another name in it",
	"overlay": "sees a mount that is made of what lies in it",
	"mount":   "sees it, a part of it or a folder around it mounted elsewhere",
	"loop":    "shows a file in it as a device",
	"swap":    "swaps memory to a file in it",
	"pane":    "is a pane that a multiplexer has on record as working in it",
}

// UsersText lists who uses a folder, each in words.
func (p Paint) UsersText(w io.Writer, d *snapshot.Dir) {
	if d == nil || len(d.Holders) == 0 && d.HoldersKnown != nil && *d.HoldersKnown {
		return
	}
	fmt.Fprintf(w, "\n%s\n", p.Bold("who uses it"))
	for _, h := range d.Holders {
		how, known := HoldsBy[h.How]
		if !known {
			how = "uses it"
		}
		who := fmt.Sprintf("%s (%d)", h.Name, h.PID)
		if h.PID == 0 {
			who = h.Name + " (the kernel)"
		}
		p.Indented(w, 2, text.Clean(who+" "+how)+" "+p.Dim(text.Clean("("+h.How+")")))
	}
	switch {
	case d.Unasked():
		p.Indented(w, 2, text.Clean("nobody was asked, because "+d.Skipped))
	case d.HoldersKnown == nil || !*d.HoldersKnown:
		p.Indented(w, 2, "not every process that may use it could be read")
	}
}

// ExplanationMarkdown is an explanation for a pull request or a chat: the verdict and what would turn it first, the facts folded.
func ExplanationMarkdown(w io.Writer, x document.Explanation) {
	verdict := "stays"
	if x.Verdict == decision.Reap {
		verdict = "would go"
	}
	fmt.Fprintf(w, "# %s %s\n\n%s, policy %s\n", termsafe.Code(x.ID), verdict, x.TakenAt.Format(time.RFC3339), termsafe.Code(cmp.Or(x.Policy.Revision, x.Policy.Digest)))
	if x.Main != nil {
		fmt.Fprintf(w, "\n%s.\n", termsafe.Cell(x.Main.Message))
	}
	if x.Error != "" {
		fmt.Fprintf(w, "\n> **error** %s\n", termsafe.Cell(x.Error))
	}
	for _, note := range x.Notes {
		fmt.Fprintf(w, "\n%s.\n", termsafe.Cell(note))
	}
	counterfactualMarkdown(w, x.WouldChange)
	firedMarkdown(w, "Why it may go", x.Findings)
	firedMarkdown(w, "Why it stays", x.Objections)
	if len(x.Sources) > 0 {
		fmt.Fprint(w, "\n## Sources\n\n| source | status | error |\n|---|---|---|\n")
		for _, name := range slices.Sorted(maps.Keys(x.Sources)) {
			s := x.Sources[name]
			fmt.Fprintf(w, "| %s | %s | %s |\n", termsafe.Code(name), termsafe.Cell(cmp.Or(s.Status, "missing")), termsafe.Cell(s.Error))
		}
	}
}

func counterfactualMarkdown(w io.Writer, o *decision.Counterfactual) {
	if o == nil {
		return
	}
	fmt.Fprint(w, "\n## What would have to be different\n")
	if len(o.Ways) == 0 {
		fmt.Fprintf(w, "\n%s.\n", termsafe.Cell(report.Counterfactual(o)))
		return
	}
	would := "go"
	if o.Verdict == decision.Spare {
		would = "stay"
	}
	fmt.Fprintf(w, "\nEach of these was found by search and decided again (%d decisions). It would %s\n\n", o.Decided, would)
	for _, way := range o.Ways {
		fmt.Fprintf(w, "- if %s\n", termsafe.Code(report.Way(way)))
	}
}

func firedMarkdown(w io.Writer, title string, fired []explain.Fired) {
	for i, f := range fired {
		if i == 0 {
			fmt.Fprintf(w, "\n## %s\n", title)
		}
		fmt.Fprintf(w, "\n**%s** %s: %s\n", termsafe.Cell(f.Rule), termsafe.Code(fmt.Sprintf("%s:%d", f.File, f.Line)), termsafe.Cell(f.Message))
		if f.Level != "" {
			fmt.Fprintf(w, "\nIts level is %s.\n", termsafe.Cell(f.Level))
		}
		if len(f.Facts) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n<details><summary>%d facts</summary>\n\n| fact | value | source |\n|---|---|---|\n", len(f.Facts))
		for _, fact := range f.Facts {
			shown := "not known"
			if !fact.Unknown {
				shown = termsafe.Code(value(fact.Value))
			}
			fmt.Fprintf(w, "| %s | %s | %s |\n", termsafe.Code(fact.Fact), shown, termsafe.Cell(origin(fact)))
		}
		fmt.Fprint(w, "\n</details>\n")
	}
}
