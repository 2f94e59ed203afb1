package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Row is a line of a table: a word in its colour, the name of a thing, facts about it that are short, what is to say about it, and the
// command to run next.
type Row struct {
	Lead       string
	Color      func(string) string
	Label      string
	Cells      []string
	Text, Next string
	// Rest is more to say: below the row on a terminal, at the end of its line elsewhere.
	Rest string
}

// gap is how many columns stand between two others.
const gap = 2

// leastText is how many columns the text needs beside the others. Where it has fewer it stands below them.
const leastText = 30

// Section prints a table below a title, and nothing where the table is empty.
func (p Paint) Section(w io.Writer, title string, rows ...Row) {
	if len(rows) > 0 {
		fmt.Fprintf(w, "\n%s\n", p.Bold(title))
		p.Rows(w, rows...)
	}
}

// Rows prints a table. On a terminal its columns fit the width: the text is wrapped beside the others where there is room for it, and below
// them where there is not; a name that is too long for its column is never cut, because it may be copied. Elsewhere a row is one line.
func (p Paint) Rows(w io.Writer, rows ...Row) {
	t := p.layout(rows)
	for _, r := range rows {
		t.write(w, r)
	}
}

// columns are the widths of a table's columns, and where its texts stand.
type columns struct {
	Paint
	lead, indent, label int
	cells               []int
	// text is the column at which texts stand; 0 where they stand below the others.
	text int
}

func (p Paint) layout(rows []Row) columns {
	t, most := columns{Paint: p}, widestLabel
	if p.Width > 0 {
		most = max(p.Width*45/100, 16)
	}
	for _, r := range rows {
		t.lead = max(t.lead, ansi.StringWidth(Clean(r.Lead)))
		if n := ansi.StringWidth(Clean(r.Label)); n <= most { // a longer one stands on a line of its own, and makes no column wide
			t.label = max(t.label, n)
		}
		for i, c := range r.Cells {
			if i == len(t.cells) {
				t.cells = append(t.cells, 0)
			}
			t.cells[i] = max(t.cells[i], ansi.StringWidth(Clean(c)))
		}
	}
	t.indent = gap + t.lead + gap
	facts := 0
	for _, n := range t.cells {
		facts += gap + n
	}
	t.text = t.indent + t.label + facts + gap
	if p.Width > 0 && p.Width-t.text < leastText {
		t.text = 0
	}
	return t
}

// widestLabel is how wide the column of names becomes where there is no terminal.
const widestLabel = 60

func (t columns) write(w io.Writer, r Row) {
	lead := pad(Clean(r.Lead), t.lead)
	if r.Color != nil {
		lead = r.Color(lead)
	}
	head, used := strings.Repeat(" ", gap)+lead, gap+t.lead
	add := func(s string, n int) {
		head += strings.Repeat(" ", gap) + pad(s, n)
		used += gap + max(n, ansi.StringWidth(s))
	}
	if r.Label != "" {
		add(Clean(r.Label), t.label)
		for i, c := range r.Cells {
			add(Clean(c), t.cells[i])
		}
	}
	say, at := Clean(r.Text), t.text
	if r.Label == "" { // the text takes the place of the label
		at = t.indent
	}
	if t.Width <= 0 {
		for _, part := range []string{r.Next, r.Rest} {
			if part != "" {
				say += "; " + Clean(part)
			}
		}
		if say != "" {
			head += strings.Repeat(" ", max(gap, at-used)) + strings.TrimPrefix(say, "; ")
		}
		fmt.Fprintln(w, strings.TrimRight(head, " "))
		return
	}
	below := at
	if at == 0 {
		below = t.indent + gap
	}
	lines := Wrap(say, t.room(below))
	switch {
	case say == "":
		fmt.Fprintln(w, strings.TrimRight(head, " "))
	case at > 0 && used+gap <= at || used+gap+ansi.StringWidth(say) <= t.Width:
		fmt.Fprintln(w, head+strings.Repeat(" ", max(gap, at-used))+lines[0])
		for _, l := range lines[1:] {
			fmt.Fprintln(w, strings.Repeat(" ", below)+l)
		}
	default: // below what stands before it, further to the left where the column of texts begins far to the right
		fmt.Fprintln(w, strings.TrimRight(head, " "))
		below = t.indent + gap
		for _, l := range Wrap(say, t.room(below)) {
			fmt.Fprintln(w, strings.Repeat(" ", below)+t.Dim(l))
		}
	}
	for _, part := range []string{r.Next, r.Rest} {
		if part == "" {
			continue
		}
		for _, l := range Wrap(Clean(part), t.room(below)) {
			fmt.Fprintln(w, strings.Repeat(" ", below)+t.Dim(l))
		}
	}
}
