package comparison

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/winnow-reaper/winnow/engine/flips"
	"github.com/winnow-reaper/winnow/internal/text"
)

// listedText is how many flips of a group are shown to a person, unless all are asked for.
const listedText = 10

// WriteText writes the comparison for a person: what would go first.
func (d *Document) WriteText(out io.Writer, p text.Paint, all bool) error {
	w := bufio.NewWriter(out)
	for _, x := range d.Lost {
		p.Sentence(w, p.Bold(p.Red("live "))+p.Bold(text.Clean(x.ID))+text.Clean(" is labelled as live in "+x.Snapshot+", and the head would reap it"))
	}
	for _, x := range d.Doomed {
		p.Sentence(w, p.Bold(p.Red("live "))+p.Bold(text.Clean(x.ID))+text.Clean(" is labelled as live in "+x.Snapshot+", and both would reap it"))
	}
	fmt.Fprintln(w, p.Bold(d.Headline()))
	p.Sentence(w, text.Clean(d.compared()))
	for _, l := range d.labels() {
		p.Sentence(w, l)
	}
	for _, s := range []struct {
		name string
		side Side
	}{{"base", d.Base}, {"head", d.Head}} {
		line := s.side.name()
		if s.side.Config != "" {
			line += ", configuration " + text.Home(s.side.config())
		}
		p.Sentence(w, p.Dim(s.name+"  "+text.Clean(line)))
	}
	d.problemsText(w, p)
	d.WriteGroups(w, p, all, func(change string) string {
		return p.Bold(title(change)) + "  " + p.Dim(counted(*d.Changes.Count(change)))
	})
	for _, change := range flips.Changes {
		if c := d.Unlisted.Count(change); c.Decisions > 0 {
			fmt.Fprintf(w, "\n%s\n", p.Yellow(fmt.Sprintf("%s: %s counted above and not listed; compare fewer snapshots to see them", title(change), counted(*c))))
		}
	}
	for _, s := range d.Silent {
		fmt.Fprintf(w, "\n  %s  %s\n", p.Bold(text.Clean(s.Rule+" says nothing")), p.Dim(text.Clean(fmt.Sprintf("%s:%d", s.File, s.Line))))
		for _, e := range s.Ended {
			p.Indented(w, 4, p.Dim("for "+text.Clean(e.ID)+"  ")+text.Clean(e.shown()))
		}
	}
	if len(d.Levels) > 0 && len(d.Failed) == 0 {
		fmt.Fprintf(w, "\n%s\nrules:\n  levels:\n", p.Bold("write into the configuration:"))
		for _, l := range d.Levels {
			fmt.Fprintf(w, "    %s: %s\n", text.Clean(l.Rule), l.Level)
		}
	}
	if len(d.Failed) > 0 {
		fmt.Fprintln(w)
		for _, f := range d.Failed {
			p.Sentence(w, p.Red("fails: "+text.Clean(f)))
		}
	}
	return w.Flush()
}

// WriteGroups writes the flips alone, below what title makes of each change.
func (d *Document) WriteGroups(w io.Writer, p text.Paint, all bool, title func(change string) string) {
	change := ""
	for _, g := range d.Groups {
		if g.Change != change {
			change = g.Change
			fmt.Fprintf(w, "\n%s\n", title(change))
		}
		g.text(w, p, all)
	}
}

// problemsText names the snapshots that could not be compared, and the evaluations without an answer.
func (d *Document) problemsText(w io.Writer, p text.Paint) {
	for _, s := range d.Snapshots {
		if s.Error != "" {
			p.Rows(w, text.Row{Lead: "broken", Color: p.Red, Text: s.Name + ": " + cut(s.Error, maxSaid)})
		}
		for _, u := range s.Unanswered {
			p.Rows(w, text.Row{Lead: "no answer", Color: p.Red, Text: fmt.Sprintf("%s, %s, %s: %s; it is kept", s.Name, u.In, u.ID, cut(u.Error, maxSaid))})
		}
	}
}

// counted says how many things, and in how many decisions where these are more.
func counted(c Count) string {
	out := text.Plural(c.Things, "thing")
	if c.Decisions > c.Things {
		out += fmt.Sprintf(" in %d decisions", c.Decisions)
	}
	return out
}

func (g Group) text(w io.Writer, p text.Paint, all bool) {
	place := ""
	if g.File != "" {
		place = fmt.Sprintf("%s:%d", g.File, g.Line)
	}
	switch g.In {
	case Head:
		place += ", not in the base"
	case Base:
		place += ", not in the head"
	}
	fmt.Fprintf(w, "\n  %s  %s\n", p.Bold(text.Clean(groupWords(g.Rule, g.What))), p.Dim(text.Clean(strings.TrimPrefix(place, ", "))))
	shown := g.Flips
	if !all {
		shown = shown[:min(len(shown), listedText)]
	}
	for _, f := range shown {
		f.text(w, p, g.Change)
	}
	if rest := len(g.Flips) - len(shown); rest > 0 {
		fmt.Fprintf(w, "    %s\n", p.Dim(fmt.Sprintf("and %d more; --all lists them", rest)))
	}
}

func (f Flip) text(w io.Writer, p text.Paint, change string) {
	name := p.Bold(text.Clean(f.label()))
	if f.Truth != "" {
		name += " " + p.Red("("+f.Truth+")")
	}
	if !strings.HasSuffix(f.ID, f.label()) && !strings.HasPrefix(f.ID, "dir:") {
		name += "  " + text.Clean(f.ID)
	}
	p.Indented(w, 4, name+"  "+p.Dim(text.Clean(f.where())))
	line := func(lead, s string) {
		if s != "" {
			p.Indented(w, 6, p.Dim(lead)+text.Clean(cut(s, maxSaid)))
		}
	}
	if change == flips.Reasons || change == flips.Scope {
		line("", f.differs())
		return
	}
	line("now   ", f.now())
	line("was   ", f.baseWords())
	for _, c := range f.Causes {
		line("level ", c.levels())
		line("facts ", strings.Join(compact(evidence(c.Base), evidence(c.Head)), "; now "))
		for _, x := range c.Facts {
			line("      ", x.shown())
		}
	}
}

// compact leaves out what is empty or the same as before.
func compact(all ...string) (out []string) {
	for _, s := range all {
		if s != "" && (len(out) == 0 || out[len(out)-1] != s) {
			out = append(out, s)
		}
	}
	return out
}
