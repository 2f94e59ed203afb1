// Package review is the list in a terminal from which a person chooses what goes. It only gathers what was chosen: nothing is done before it has
// ended and was confirmed.
package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/story"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Mark is what a person chose for one candidate.
type Mark string

const (
	Take    Mark = "take"
	Hold    Mark = "keep"
	Protect Mark = "protect"
)

// Choice is what came of a review: the candidates of each mark, by id, in the order of the list. It is empty where the person left without
// confirming.
type Choice struct {
	Take, Hold, Protect []decision.Decision
	Confirmed           bool
}

// Options are what the list needs of the program.
type Options struct {
	Stories []story.Story
	// Counts says in one line what stays and is not listed.
	Counts string
	// Explain gives what winnow explain says of a candidate, for so many columns. It is called outside of the list's own loop.
	Explain func(id string, width int) (string, error)
	// Glob is what the mark protect writes for a candidate into rules.protected of the file; "" where it cannot be protected.
	Glob func(decision.Decision) string
	File string
	// Paint has the colours.
	Paint text.Paint
}

// row is a line of the list: a story's title, or one of its items.
type row struct {
	story int
	item  *story.Item
}

// Model is the list.
type Model struct {
	o             Options
	rows          []row
	marks         map[string]Mark
	byID          map[string]*story.Item
	at, top       int
	width, height int
	// pane is what explain said, as lines, and of which candidate; paneTop its first line that is shown.
	pane    []string
	paneOf  string
	paneTop int
	// asking is true while it is asked whether to do what was marked.
	asking bool
	// said is a word about the last key.
	said   string
	choice Choice
}

// New gives the list, with nothing marked.
func New(o Options) *Model {
	m := &Model{o: o, marks: map[string]Mark{}, byID: map[string]*story.Item{}, width: 80, height: 24}
	for i := range o.Stories {
		if len(o.Stories[i].Items) > 1 { // of a single thing its own line says it all
			m.rows = append(m.rows, row{story: i})
		}
		for j := range o.Stories[i].Items {
			it := &o.Stories[i].Items[j]
			m.rows, m.byID[it.Decision.ID] = append(m.rows, row{story: i, item: it}), it
		}
	}
	if len(m.rows) > 1 && m.rows[0].item == nil {
		m.at = 1
	}
	return m
}

// Choice is what was chosen, once the list has ended.
func (m *Model) Choice() Choice { return m.choice }

// Init implements tea.Model.
func (m *Model) Init() tea.Cmd { return nil }

// explained is how the program explained a candidate.
type explained struct {
	id, said string
	err      error
}

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case explained:
		said := msg.said
		if msg.err != nil {
			said = msg.err.Error()
		}
		m.paneOf, m.paneTop, m.pane = msg.id, 0, strings.Split(strings.TrimRight(said, "\n"), "\n")
		m.said = ""
	case tea.KeyPressMsg:
		return m, m.key(msg.String())
	}
	return m, nil
}

func (m *Model) key(key string) tea.Cmd {
	m.said = ""
	if key == "ctrl+c" {
		return tea.Quit
	}
	switch {
	case m.asking:
		return m.answer(key)
	case m.paneOf != "":
		m.read(key)
		return nil
	}
	page := max(m.listHeight()-1, 1)
	switch key {
	case "q", "esc":
		return tea.Quit
	case "up", "k":
		m.move(-1)
	case "down", "j":
		m.move(1)
	case "pgup", "ctrl+b":
		m.move(-page)
	case "pgdown", "ctrl+f":
		m.move(page)
	case "home", "g":
		m.move(-len(m.rows))
	case "end", "G":
		m.move(len(m.rows))
	case "space", " ", "t", "x":
		m.mark(Take)
	case "h":
		m.mark(Hold)
	case "p":
		m.mark(Protect)
	case "u":
		for _, it := range m.items() {
			delete(m.marks, it.Decision.ID)
		}
	case "a":
		m.all()
	case "e", "l", "right":
		return m.look()
	case "enter":
		if len(m.marks) == 0 {
			m.said = "nothing is marked: space takes what the cursor is on, a takes all that would go"
			break
		}
		m.asking = true
	}
	return nil
}

func (m *Model) answer(key string) tea.Cmd {
	switch key {
	case "y", "Y":
		m.choice = m.chosen()
		return tea.Quit
	case "q":
		return tea.Quit
	case "n", "N", "esc":
		m.asking = false
	}
	return nil
}

func (m *Model) chosen() Choice {
	c := Choice{Confirmed: true}
	for _, r := range m.rows {
		if r.item == nil {
			continue
		}
		d := r.item.Decision
		switch m.marks[d.ID] {
		case Take:
			c.Take = append(c.Take, d)
		case Hold:
			c.Hold = append(c.Hold, d)
		case Protect:
			c.Protect = append(c.Protect, d)
		}
	}
	return c
}

// read moves in what explain said.
func (m *Model) read(key string) {
	page := max(m.height-3, 1)
	switch key {
	case "q", "esc", "e", "left", "enter":
		m.paneOf, m.pane = "", nil
	case "down", "j":
		m.paneTop++
	case "up", "k":
		m.paneTop--
	case "pgdown", "space", " ":
		m.paneTop += page
	case "pgup":
		m.paneTop -= page
	}
	m.paneTop = max(min(m.paneTop, len(m.pane)-page), 0)
}

func (m *Model) look() tea.Cmd {
	it := m.items()
	if len(m.rows) == 0 || m.rows[m.at].item == nil || len(it) == 0 {
		return nil
	}
	id, width := it[0].Decision.ID, m.width
	m.said = "looking at " + text.Clean(id)
	return func() tea.Msg {
		said, err := m.o.Explain(id, width)
		return explained{id, said, err}
	}
}

// items is the item under the cursor, or on a title all items of the story.
func (m *Model) items() []*story.Item {
	if len(m.rows) == 0 {
		return nil
	}
	r := m.rows[m.at]
	if r.item != nil {
		return []*story.Item{r.item}
	}
	var out []*story.Item
	for i := range m.o.Stories[r.story].Items {
		out = append(out, &m.o.Stories[r.story].Items[i])
	}
	return out
}

// mark sets a mark on what is under the cursor, or takes it away where all of it has it.
func (m *Model) mark(mark Mark) {
	var can []*story.Item
	for _, it := range m.items() {
		switch {
		case mark == Take && !it.Takeable:
			m.said = text.Clean(whyNot(it))
		case mark == Protect && m.o.Glob(it.Decision) == "":
			m.said = "it has no name that could be protected; h holds it"
		default:
			can = append(can, it)
		}
	}
	if len(can) == 0 {
		return
	}
	on := true
	for _, it := range can {
		on = on && m.marks[it.Decision.ID] == mark
	}
	for _, it := range can {
		if on {
			delete(m.marks, it.Decision.ID)
		} else {
			m.marks[it.Decision.ID] = mark
			m.selectFirst(it, mark)
		}
	}
	if m.rows[m.at].item == nil { // a whole story: its lines show what was marked
		return
	}
	m.move(1)
	if m.rows[m.at].item == nil {
		m.move(1)
	}
}

// selectFirst takes with a folder what has to go before it.
func (m *Model) selectFirst(it *story.Item, mark Mark) {
	for _, id := range it.Decision.After {
		if mark == Take && m.byID[id] != nil && m.byID[id].Takeable {
			m.marks[id] = Take
		}
	}
}

// whyNot says why an item cannot be taken now.
func whyNot(it *story.Item) string {
	if it.State == story.After {
		return "it cannot be taken yet: what uses it only waits (" + strings.Join(it.Decision.After, ", ") + ")"
	}
	return "it cannot be taken yet: " + report.Messages(report.Real(it.Decision.Objections))
}

// all takes everything that would go and has no mark, or takes those marks away where nothing is left to take.
func (m *Model) all() {
	n := 0
	for _, r := range m.rows {
		if r.item != nil && r.item.Takeable && r.item.State != story.Ask && m.marks[r.item.Decision.ID] == "" {
			m.marks[r.item.Decision.ID] = Take
			n++
		}
	}
	m.said = text.Plural(n, "thing") + " taken"
	if n == 0 {
		m.said = "nothing that would go is left to take"
	}
}

func (m *Model) move(n int) {
	m.at = max(min(m.at+n, len(m.rows)-1), 0)
}

// listHeight is how many lines the list has, beside the heading, the foot and the text about the row.
func (m *Model) listHeight() int { return max(m.height-2-footLines, 1) }

// footLines are the lines below the list: a blank one, the text about the row in two, and the keys.
const footLines = 4

// View implements tea.Model.
func (m *Model) View() tea.View {
	v := tea.NewView(m.screen())
	v.AltScreen = true
	return v
}

func (m *Model) screen() string {
	var lines []string
	switch {
	case m.paneOf != "":
		lines = m.paneLines()
	case m.asking:
		lines = m.askLines()
	default:
		lines = m.listLines()
	}
	for i, l := range lines {
		lines[i] = ansi.Truncate(l, m.width, "…")
	}
	return strings.Join(lines[:min(len(lines), m.height)], "\n")
}

func (m *Model) listLines() []string {
	p, n := m.o.Paint, m.listHeight()
	count := map[Mark]int{}
	for _, mark := range m.marks {
		count[mark]++
	}
	head := "winnow review"
	for _, mark := range []Mark{Take, Hold, Protect} {
		if count[mark] > 0 {
			head += fmt.Sprintf("  %d %s", count[mark], mark)
		}
	}
	lines := []string{p.Bold(head)}
	if len(m.rows) == 0 {
		lines = append(lines, "", "nothing would go, and nothing nearly would")
	}
	m.top = max(min(m.top, m.at), m.at-n+1)
	if m.top == 1 && m.at-n+1 <= 0 { // the first title stays in sight
		m.top = 0
	}
	w := m.columns()
	for i := m.top; i < min(m.top+n, len(m.rows)); i++ {
		lines = append(lines, m.line(i, w))
	}
	for len(lines) < n+1 {
		lines = append(lines, "")
	}
	lines = append(lines, "")
	lines = append(lines, m.detail()...)
	return append(lines, p.Dim(m.keys()))
}

func (m *Model) keys() string {
	for _, keys := range []string{
		"space take  a take all  h keep  p always protect  u unmark  e look closer  enter do it  q quit",
		"space take  a all  h keep  p protect  u unmark  e look closer  enter do  q quit",
	} {
		if ansi.StringWidth(keys) <= m.width {
			return keys
		}
	}
	return "space take  h keep  p protect  e why  enter do  q quit"
}

// detail are two lines about the row: what cannot stand in the list.
func (m *Model) detail() []string {
	said := m.said
	if said == "" && len(m.rows) > 0 {
		r := m.rows[m.at]
		if r.item == nil {
			said = text.Clean(m.o.Stories[r.story].Title) + ": " + text.Plural(len(m.o.Stories[r.story].Items), "thing") + " that belong together"
		} else {
			said = text.Clean(report.Label(r.item.Decision) + ": " + why(r.item))
		}
	}
	lines := text.Wrap(cmp.Or(said, text.Clean(m.o.Counts)), max(m.width, 20))
	if len(lines) > 2 {
		lines = []string{lines[0], strings.Join(lines[1:], " ")} // the rest is cut at the width
	}
	for len(lines) < 2 {
		lines = append(lines, "")
	}
	return lines
}

func why(it *story.Item) string {
	d := it.Decision
	said := report.Messages(d.Findings)
	if d.Main != nil && it.State == story.Goes {
		said = d.Main.Message
	}
	switch {
	case it.State == story.After:
		said += "; it goes after what uses it: " + strings.Join(d.After, ", ")
	case len(d.Objections) > 0:
		said += "; " + report.Messages(report.Real(d.Objections))
	}
	return said
}

// columns are the widths of label, size and age; size and age are left out where the terminal is narrow.
type columns struct{ label, size, age int }

func (m *Model) columns() columns {
	w := columns{size: 9, age: 6}
	for _, r := range m.rows {
		if r.item != nil {
			w.label = max(w.label, ansi.StringWidth(text.Clean(report.Label(r.item.Decision))))
		}
	}
	if m.width < 72 {
		w.size, w.age = 0, 0
	}
	w.label = min(w.label, max(m.width*2/5, 16))
	return w
}

func (m *Model) line(i int, w columns) string {
	p, r := m.o.Paint, m.rows[i]
	cursor := "  "
	if i == m.at {
		cursor = "> "
	}
	if r.item == nil {
		return cursor + p.Bold(text.Clean(m.o.Stories[r.story].Title))
	}
	d := r.item.Decision
	box := map[Mark]string{"": "[ ]", Take: "[x]", Hold: "[k]", Protect: "[p]"}[m.marks[d.ID]]
	if !r.item.Takeable && m.marks[d.ID] == "" {
		box = " - "
	}
	word := r.item.State
	if word == story.Goes {
		word = cmp.Or(d.Action, word)
	}
	state := fmt.Sprintf("%-5s", word)
	switch r.item.State {
	case story.Goes, story.After:
		state = p.Green(state)
	default:
		state = p.Yellow(state)
	}
	line := cursor + " " + box + " " + state + " " + fit(text.Clean(report.Label(d)), w.label)
	if w.size > 0 {
		line += " " + right(cmp.Or(story.Size(d), "-"), w.size) + " " + right(age(d), w.age)
	}
	return line + "  " + text.Clean(why(r.item))
}

// fit cuts a name that is too long: a path at its beginning, for its end says most, anything else at its end.
func fit(s string, n int) string {
	w := ansi.StringWidth(s)
	switch {
	case w <= n:
		return s + strings.Repeat(" ", n-w)
	case strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~"):
		return "…" + ansi.TruncateLeft(s, w-n+1, "")
	}
	return ansi.Truncate(s, n, "…")
}

func right(s string, n int) string {
	return strings.Repeat(" ", max(n-ansi.StringWidth(s), 0)) + s
}

func age(d decision.Decision) string {
	if d.About == nil || d.About.Age == nil {
		return "-"
	}
	return text.Span(config.Seconds(*d.About.Age))
}

func (m *Model) askLines() []string {
	c := m.chosen()
	lines := []string{m.o.Paint.Bold("do this?"), ""}
	add := func(head string, ds []decision.Decision, say func(decision.Decision) string) {
		if len(ds) == 0 {
			return
		}
		lines = append(lines, text.Wrap(head, m.width)...)
		room := max(m.height/3, 3)
		for i, d := range ds {
			if i == room {
				lines = append(lines, fmt.Sprintf("  and %d more", len(ds)-room))
				break
			}
			lines = append(lines, "  "+text.Clean(say(d)))
		}
		lines = append(lines, "")
	}
	label := func(d decision.Decision) string { return report.Label(d) }
	add("take away, as winnow sweep --apply does it: looked at again, within the caps, and only what still may go", c.Take, label)
	add("hold until winnow release ID", c.Hold, label)
	add("always protect: written into rules.protected of "+text.Clean(text.Home(m.o.File)), c.Protect, func(d decision.Decision) string { return m.o.Glob(d) })
	return append(lines, m.o.Paint.Bold("y yes  n back  q leave, and nothing is done"))
}

func (m *Model) paneLines() []string {
	page := max(m.height-3, 1)
	lines := []string{m.o.Paint.Bold(text.Clean(m.paneOf))}
	end := min(m.paneTop+page, len(m.pane))
	lines = append(lines, m.pane[min(m.paneTop, len(m.pane)):end]...)
	for len(lines) < page+1 {
		lines = append(lines, "")
	}
	return append(lines, "", m.o.Paint.Dim(fmt.Sprintf("%d to %d of %d lines  up/down move  q back", m.paneTop+1, end, len(m.pane))))
}

// Run shows the list on a terminal until the person leaves it, and gives what was chosen. The terminal is as it was before, also when ctx ends
// or the list itself fails.
func Run(ctx context.Context, in, out *os.File, o Options) (Choice, error) {
	m := New(o)
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler()).Run()
	switch {
	case ctx.Err() != nil:
		return Choice{}, errors.New("interrupted; nothing was done")
	case err != nil:
		return Choice{}, fmt.Errorf("show the list: %w; nothing was done", err)
	}
	return m.Choice(), nil
}

// Schema names the shape of what winnow review --format json prints.
const Schema = "winnow.review/v1"

// Document is what winnow review prints as JSON. docs/reference/schemas/review.json is generated from it.
type Document struct {
	Schema string `json:"schema" jsonschema:"enum=winnow.review/v1"`
	// Sweep is the look's id in the ledger.
	Sweep  string           `json:"sweep"`
	Policy report.PolicyRef `json:"policy"`
	// Stories are what belongs together, those in which something can be taken first.
	Stories []story.Story `json:"stories"`
}

// Glob is what protects a candidate in rules.protected: a folder's path, and the name of anything else.
func Glob(d decision.Decision) string {
	name := d.Label
	if d.Kind == snapshot.KindDir {
		name = strings.TrimPrefix(d.ID, snapshot.KindDir+":")
	}
	if text.Clean(name) != name { // a person could not read what was written
		return ""
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`).Replace(name)
}
