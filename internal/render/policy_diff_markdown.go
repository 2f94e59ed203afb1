package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/winnow-reaper/winnow/engine/compare"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/text"
)

const (
	// maxComment is how many bytes a comment gets. GitHub refuses one of more than 65,536 characters as a whole ("body is too long"), so that the
	// longest would not be seen; the program that posts it has some room left for words around it.
	maxComment = 60_000
	// firstRows is how many of what would go stand in the part that is not folded, maxRows how many a folded table has.
	firstRows = 8
	maxRows   = 200
	// maxCell is how much of a name or of a sentence a cell shows, in characters.
	maxCell = 200
	// maxNamed is how many snapshots, candidates and reasons for failing are named before the rest is counted.
	maxNamed = 10
)

// comment is a page of markdown that does not become longer than it may.
type comment struct {
	strings.Builder
	// spare is kept for what has to follow: the ends of what was begun.
	spare int
}

// fits adds a line, unless there is no room for it.
func (c *comment) fits(line string) bool {
	if c.Len()+len(line)+1+c.spare > maxComment {
		return false
	}
	c.WriteString(line + "\n")
	return true
}

// ComparisonMarkdown writes what two versions decide otherwise as a comment for whoever reviews a pull request: in one screen what would go, the rest folded. Every name
// and sentence of the world is code or plain words, so that none of it is a link, a mention, a picture or HTML.
func ComparisonMarkdown(w io.Writer, d *document.Comparison) {
	c := &comment{spare: 1000}
	c.fits("### winnow policy diff: " + d.Headline() + "\n")
	c.alarms(d)
	c.fits(fmt.Sprintf("%s to %s: %s.", versionMarkdown(d.Base), versionMarkdown(d.Head), strings.Join(comparedWords(d), "; ")))
	for _, change := range compare.Changes {
		c.section(d, change)
	}
	c.unread(d)
	c.spare = 0
	c.fits("\n<sub>The whole comparison: `winnow policy diff --format json`; one candidate: `winnow explain ID --snapshot FILE --rules`.</sub>")
	fmt.Fprint(w, c)
}

func versionMarkdown(v document.Version) string {
	out := code(versionName(v))
	if v.Config != "" {
		out += " with " + code(configName(v))
	}
	return out
}

// alarms says first why it fails, and which live things would go.
func (c *comment) alarms(d *document.Comparison) {
	var lines []string
	named := func(list []document.LabelledCandidate, words string) {
		var ids []string // each candidate once
		in := map[string][]string{}
		for _, x := range list {
			if in[x.ID] == nil {
				ids = append(ids, x.ID)
			}
			in[x.ID] = append(in[x.ID], x.Snapshot)
		}
		for i, id := range ids {
			if i == maxNamed {
				lines = append(lines, fmt.Sprintf("and %d more", len(ids)-i))
				return
			}
			lines = append(lines, fmt.Sprintf("**%s is labelled as live, and %s** (%s)", code(id), words, firstCode(in[id], len(in[id]))))
		}
	}
	named(d.Lost, "would go")
	named(d.Doomed, "goes by both")
	for i, f := range d.Failed {
		if i < maxNamed {
			lines = append(lines, "fails: "+cell(f))
		}
	}
	if len(lines) == 0 {
		return
	}
	c.fits("> [!CAUTION]")
	for i, l := range lines {
		if i < len(lines)-1 {
			l += "<br>" // a paragraph each would fill the screen
		}
		c.fits("> " + l)
	}
	c.fits("")
}

// section is what one change makes. Of what would go the first things are open, as a list, in which a long path is wrapped and leaves
// room for the reasons; all else is a table that is folded.
func (c *comment) section(d *document.Comparison, change string) {
	count := *d.Changes.Count(change)
	if count.Decisions == 0 {
		return
	}
	var rows, facts []string
	for _, g := range d.Groups {
		if g.Change != change {
			continue
		}
		rows = append(rows, text.Map(g.Flips, func(f document.Flip) string { return flipRow(f, change) })...)
		facts = append(facts, factRows(g)...)
	}
	head := "| " + strings.Join(columns(change), " | ") + " |\n" + strings.Repeat("|---", len(columns(change))) + "|"
	heading := fmt.Sprintf("%s: %s", changeTitles[change], counted(count))
	unlisted := d.Unlisted.Count(change).Things
	if change == compare.NewReap {
		c.fits("\n**" + heading + "**")
		if rest := rows[c.open(d):]; len(rest) > 0 {
			c.folded(fmt.Sprintf("%d more that would go", len(rest)+unlisted), head, rest, unlisted)
		}
		if len(facts) > 0 {
			c.folded("the facts that decided", "| rule | facts |\n|---|---|", facts, 0)
		}
		return
	}
	c.folded(heading, head, rows, unlisted)
}

// open lists the first of what would go, by the rule that decided, and gives how many these are.
func (c *comment) open(d *document.Comparison) (n int) {
	for _, g := range d.Groups {
		if g.Change != compare.NewReap || n == firstRows || len(g.Flips) == 0 {
			continue
		}
		heading := cell(does[g.What])
		if g.Rule != "" {
			heading = code(g.Rule) + " " + heading
		}
		if g.File != "" {
			heading += ", " + code(fmt.Sprintf("%s:%d", g.File, g.Line))
		}
		for _, cause := range g.Flips[0].Causes {
			if cause.Rule == g.Rule && cause.Levels != nil {
				heading += ": " + cell(levelWords(cause))
			}
		}
		if !c.fits("\n" + heading + "\n") {
			return n
		}
		for _, f := range g.Flips {
			if n == firstRows || !c.fits(flipItem(f)) {
				break
			}
			n++
		}
	}
	return n
}

// flipItem is a thing that would go, in the list.
func flipItem(f document.Flip) string {
	return fmt.Sprintf("- %s in %s<br>now: %s<br>before: %s", flipTitle(f), firstCode(f.Snapshots, f.Count), saidBy(f.Why, headWords(f)), saidBy(f.Was, baseWords(f)))
}

func columns(change string) []string {
	switch change {
	case compare.NewReap:
		return []string{"would go", "why", "it stayed because", "snapshot"}
	case compare.NewKeep:
		return []string{"would stay", "why", "it went because", "snapshot"}
	}
	return []string{"candidate", "what differs", "snapshot"}
}

// flipRow is one flip in its table.
func flipRow(f document.Flip, change string) string {
	cells := []string{flipTitle(f), saidBy(f.Why, headWords(f)), saidBy(f.Was, baseWords(f)), firstCode(f.Snapshots, f.Count)}
	if change == compare.Reasons || change == compare.Scope {
		cells = []string{cells[0], cell(differenceWords(f)), cells[3]}
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// flipTitle is the thing's id, with its label where the id does not say it, and with what a person knows of it.
func flipTitle(f document.Flip) string {
	name := code(f.ID)
	if flipID(f) != "" {
		name = code(flipLabel(f)) + " " + name
	}
	if f.Truth != "" {
		name = "**" + f.Truth + "** " + name
	}
	return name
}

// saidBy are reasons in markdown, each rule as code; what else there is to say where there is no reason.
func saidBy(reasons []decision.Reason, otherwise string) string {
	if len(reasons) == 0 {
		return cell(otherwise)
	}
	var out []string
	for i, r := range reasons {
		if i == maxNamed {
			out = append(out, fmt.Sprintf("and %d more", len(reasons)-i))
			break
		}
		out = append(out, code(r.Rule)+": "+cell(r.Message))
	}
	return strings.Join(out, "; ")
}

// firstCode names the first of so many snapshots.
func firstCode(names []string, n int) string {
	return code(names[0]) + strings.TrimPrefix(firstOf(names, n), names[0])
}

// factRows are the facts of a group's first flip, a row each.
func factRows(g document.Group) (out []string) {
	if len(g.Flips) == 0 {
		return nil
	}
	for _, c := range g.Flips[0].Causes {
		var shown []string
		for _, s := range []string{levelWords(c), evidenceWords(c)} {
			if s != "" {
				shown = append(shown, cell(s))
			}
		}
		for _, f := range c.Facts {
			shown = append(shown, code(factWords(f)))
		}
		if len(shown) > 0 {
			out = append(out, "| "+code(c.Rule)+" | "+strings.Join(shown, "<br>")+" |")
		}
	}
	return out
}

// table adds rows below their head. unlisted are those that are counted and are no rows.
func (c *comment) table(head string, rows []string, unlisted int) {
	if !c.fits(head) {
		return
	}
	left := 0
	for i, r := range rows {
		if i == maxRows || !c.fits(r) {
			left = len(rows) - i
			break
		}
	}
	if left += unlisted; left > 0 {
		c.WriteString(fmt.Sprintf("\nand %d more, for which there is no room here\n", left)) // within what is spared
	}
}

// folded is a table behind a line that opens it.
func (c *comment) folded(summary, head string, rows []string, unlisted int) {
	if !c.fits("\n<details><summary>" + summary + "</summary>\n") {
		return
	}
	c.table(head, rows, unlisted)
	c.WriteString("\n</details>\n") // within what is spared
}

// unread names the snapshots that were not compared, and what policies came to no answer of.
func (c *comment) unread(d *document.Comparison) {
	var rows []string
	for _, s := range d.Snapshots {
		if s.Error != "" {
			rows = append(rows, fmt.Sprintf("| %s | %s |", code(s.Name), cell(s.Error)))
		}
		for _, u := range s.Unanswered {
			rows = append(rows, fmt.Sprintf("| %s | %s: %s %s |", code(s.Name), u.In, code(u.ID), cell(u.Error)))
		}
	}
	if len(rows) > 0 {
		c.folded(fmt.Sprintf("%d not compared", len(rows)), "| snapshot | why |\n|---|---|", rows, 0)
	}
}

// code is a name, cell a sentence, in markdown, neither longer than a cell may be.
func code(s string) string { return termsafe.Code(text.Cut(s, maxCell)) }
func cell(s string) string { return termsafe.Cell(text.Cut(s, maxSaid)) }
