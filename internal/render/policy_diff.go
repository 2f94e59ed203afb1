package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/winnow-reaper/winnow/engine/compare"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/text"
)

// listedText is how many flips of a group are shown to a person, unless all are asked for.
const listedText = 10

// Comparison writes what two versions decide otherwise for a person: what would go first.
func (p Paint) Comparison(w io.Writer, d *document.Comparison, all bool) {
	p.liveText(w, d.Lost, "the head")
	p.liveText(w, d.Doomed, "both")
	fmt.Fprintln(w, p.Bold(d.Headline()))
	for _, s := range comparedWords(d) {
		p.Sentence(w, text.Clean(s))
	}
	for i, v := range []document.Version{d.Base, d.Head} {
		line := versionName(v)
		if v.Config != "" {
			line += ", configuration " + configName(v)
		}
		p.Sentence(w, p.Dim(compare.Sides[i]+"  "+text.Clean(line)))
	}
	p.problemsText(w, d)
	change := ""
	for _, g := range d.Groups {
		if g.Change != change {
			change = g.Change
			fmt.Fprintf(w, "\n%s\n", p.Bold(changeTitles[change])+"  "+p.Dim(counted(*d.Changes.Count(change))))
		}
		p.groupText(w, g, all)
	}
	for _, change := range compare.Changes {
		if c := d.Unlisted.Count(change); c.Decisions > 0 {
			fmt.Fprintf(w, "\n%s\n", p.Yellow(fmt.Sprintf("%s: %s counted above and not listed; compare fewer snapshots to see them", changeTitles[change], counted(*c))))
		}
	}
	p.silentText(w, d)
	if len(d.Failed) > 0 {
		fmt.Fprintln(w)
	}
	for _, f := range d.Failed {
		p.Sentence(w, p.Red("fails: "+text.Clean(f)))
	}
}

func (p Paint) liveText(w io.Writer, list []document.LabelledCandidate, who string) {
	for _, x := range list {
		p.Sentence(w, p.Bold(p.Red("live "))+p.Bold(text.Clean(x.ID))+text.Clean(" is labelled as live in "+x.Snapshot+", and "+who+" would reap it"))
	}
}

// silentText names the rules that said nothing, and the levels to write into the configuration.
func (p Paint) silentText(w io.Writer, d *document.Comparison) {
	for _, s := range d.Silent {
		fmt.Fprintf(w, "\n  %s  %s\n", p.Bold(text.Clean(s.Rule+" says nothing")), p.Dim(place(s.File, s.Line)))
		for _, e := range s.Ended {
			p.Indented(w, 4, p.Dim("for "+text.Clean(e.ID)+"  ")+text.Clean(factWords(e.Fact)))
		}
	}
	if len(d.Levels) > 0 && len(d.Failed) == 0 {
		fmt.Fprintf(w, "\n%s\nrules:\n  levels:\n", p.Bold("write into the configuration:"))
		for _, l := range d.Levels {
			fmt.Fprintf(w, "    %s: %s\n", text.Clean(l.Rule), l.Level)
		}
	}
}

// problemsText names the snapshots that could not be compared, and the evaluations without an answer.
func (p Paint) problemsText(w io.Writer, d *document.Comparison) {
	for _, s := range d.Snapshots {
		if s.Error != "" {
			p.Rows(w, text.Row{Lead: "broken", Color: p.Red, Text: s.Name + ": " + text.Cut(s.Error, maxSaid)})
		}
		for _, u := range s.Unanswered {
			p.Rows(w, text.Row{Lead: "no answer", Color: p.Red, Text: fmt.Sprintf("%s, %s, %s: %s; it is kept", s.Name, u.In, u.ID, text.Cut(u.Error, maxSaid))})
		}
	}
}

func (p Paint) groupText(w io.Writer, g document.Group, all bool) {
	var where []string
	if g.File != "" {
		where = append(where, place(g.File, g.Line))
	}
	switch g.In {
	case compare.Head:
		where = append(where, "not in the base")
	case compare.Base:
		where = append(where, "not in the head")
	}
	fmt.Fprintf(w, "\n  %s  %s\n", p.Bold(text.Clean(ruleDoes(g.Rule, g.What))), p.Dim(strings.Join(where, ", ")))
	for i, f := range g.Flips {
		if i == listedText && !all {
			fmt.Fprintf(w, "    %s\n", p.Dim(fmt.Sprintf("and %d more; --all lists them", len(g.Flips)-i)))
			return
		}
		p.flipText(w, f, g.Change)
	}
}

func (p Paint) flipText(w io.Writer, f document.Flip, change string) {
	name := p.Bold(text.Clean(flipLabel(f)))
	if f.Truth != "" {
		name += " " + p.Red("("+f.Truth+")")
	}
	if id := flipID(f); id != "" {
		name += "  " + text.Clean(id)
	}
	p.Indented(w, 4, name+"  "+p.Dim(text.Clean(firstOf(f.Snapshots, f.Count))))
	line := func(lead, s string) {
		if s != "" {
			p.Indented(w, 6, p.Dim(lead)+text.Clean(text.Cut(s, maxSaid)))
		}
	}
	if change == compare.Reasons || change == compare.Scope {
		line("", differenceWords(f))
		return
	}
	line("now   ", headWords(f))
	line("was   ", baseWords(f))
	for _, c := range f.Causes {
		line("level ", levelWords(c))
		line("facts ", evidenceWords(c))
		for _, x := range c.Facts {
			line("      ", factWords(x))
		}
	}
}
