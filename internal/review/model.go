// Package review is the list in a terminal from which a person chooses what goes. It only gathers what was chosen: nothing is done before it has
// ended and was confirmed.
package review

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"charm.land/bubbles/v2/list"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/screen"
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
	// Stories have what stays too.
	Stories []story.Story
	// Counts says in one line what stays, "" where nothing does.
	Counts string
	// Explain gives what winnow explain says of a candidate, in short and with its rules. It is called outside of the list's own loop.
	Explain func(id string) (short, rules screen.Text)
	// Glob is what the mark protect writes for a candidate into rules.protected of the file; "" where it cannot be protected.
	Glob func(decision.Decision) string
	File string
	// Paint has the colours.
	Paint text.Paint
}

// Model is the list.
type Model struct {
	*screen.Screen
	o     Options
	marks map[string]Mark
	byID  map[string]*story.Item
	// order is by what the rows are sorted, a place in orders. stays has what stays listed too.
	order int
	stays bool
	// explained is how the program explained candidates, by id; explaining is the one that it is at, "" for none.
	explained  map[string]explained
	explaining string
	// said is a word about the last key.
	said   string
	choice Choice
}

// orders are by what rows are sorted, and groups by what stands first in each; at first by what belongs together.
var orders = append([]string{""}, report.Orders...)

// widestName is how many columns a name has beside a reason.
const widestName = 40

// row is a line of the list: the title of a group, or one thing, by the name that it has below its title.
type row struct {
	m                  *Model
	group, title, name string
	items              []*story.Item
	depth              int
}

// New gives the list, with nothing marked.
func New(o Options) *Model {
	m := &Model{o: o, marks: map[string]Mark{}, byID: map[string]*story.Item{}, explained: map[string]explained{}}
	for i := range o.Stories {
		for j := range o.Stories[i].Items {
			it := &o.Stories[i].Items[j]
			m.byID[it.Decision.ID] = it
		}
	}
	m.Screen = screen.New(o.Paint,
		screen.NewAction("space", "take", m.marking(Take), "space", "t", "x"),
		screen.NewAction("enter", "do it", m.ask, "enter"),
		screen.NewAction("h", "keep", m.marking(Hold), "h"),
		screen.NewAction("s", "sort", m.sort, "s"),
		screen.NewAction(".", "what stays", m.toggle, "."),
		screen.NewAction("e", "look closer", m.look, "e", "l", "right"),
		screen.NewAction("a", "take all that would go", m.all, "a"),
		screen.NewAction("p", "always protect", m.marking(Protect), "p"),
		screen.NewAction("u", "unmark", m.unmark, "u"),
	)
	m.Beside = true
	m.list()
	m.skipTitle()
	return m
}

// list makes the rows: what belongs together below its title, single folders below their repository, and other single things below their kind.
func (m *Model) list() {
	var groups []*row
	places := map[string]*row{}
	for i := range m.o.Stories {
		var items []*story.Item
		for j := range m.o.Stories[i].Items {
			if it := &m.o.Stories[i].Items[j]; m.stays || it.State != story.Stay || m.marks[it.Decision.ID] != "" {
				items = append(items, it)
			}
		}
		if len(items) > 1 {
			groups = append(groups, &row{title: m.o.Stories[i].Title, items: items})
		}
		if len(items) != 1 {
			continue
		}
		kind, _ := snapshot.KindOf(items[0].Decision.ID)
		place, _ := report.PlaceOf(items[0].Decision)
		place = cmp.Or(text.Home(place), kind.Plural)
		if places[place] == nil {
			places[place] = &row{title: place, name: place}
			groups = append(groups, places[place])
		}
		places[place].items = append(places[place].items, items[0])
	}
	compare := func(x, y *story.Item) int { return report.Compare(orders[m.order], x.Decision, y.Decision) }
	for _, g := range groups {
		slices.SortStableFunc(g.items, compare)
	}
	slices.SortStableFunc(groups, func(x, y *row) int { return compare(x.items[0], y.items[0]) })
	var rows []list.Item
	for _, g := range groups {
		depth := 0
		if len(g.items) > 1 { // of a single thing its own line says it all
			depth = 1
			rows = append(rows, row{m: m, group: g.title, title: g.title, items: g.items})
		}
		for _, it := range g.items {
			name := report.Label(it.Decision)
			if depth > 0 && g.name != "" && it.Decision.Kind == snapshot.KindDir {
				name = strings.TrimPrefix(name, folder(g.items))
			}
			rows = append(rows, row{m: m, group: g.title, items: []*story.Item{it}, name: name, depth: depth})
		}
	}
	m.SetRows(rows)
}

// folder is the innermost folder that the names of all items lie in, "" where they have no such folder.
func folder(items []*story.Item) string {
	out := path.Dir(report.Label(items[0].Decision)) + "/"
	for slices.ContainsFunc(items, func(it *story.Item) bool { return !strings.HasPrefix(report.Label(it.Decision), out) }) {
		if out == "./" || out == "//" {
			return ""
		}
		out = path.Dir(path.Clean(out)) + "/"
	}
	return out
}

// Choice is what was chosen, once the list has ended.
func (m *Model) Choice() Choice { return m.choice }

// Init implements tea.Model.
func (m *Model) Init() tea.Cmd { return nil }

// explained is how the program explained a candidate.
type explained struct {
	id           string
	short, rules screen.Text
}

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case explained:
		m.explained[msg.id], m.explaining = msg, ""
	case tea.KeyPressMsg:
		m.said = ""
		if cmd, answered := m.answer(msg.String()); answered {
			return m, tea.Batch(cmd, m.explain())
		}
	}
	cmd := m.Screen.Update(msg)
	return m, tea.Batch(cmd, m.explain())
}

// explain has the text be about the row that the cursor is on, and asks for it where it is wanted and not known.
func (m *Model) explain() tea.Cmd {
	r, ok := m.SelectedItem().(row)
	switch {
	case m.Prompt != "":
		return nil
	case !ok:
		m.Say("", nil)
		return nil
	case r.title != "":
		m.Say(r.title, func(width int) string { return strings.Join(text.Wrap(m.about(r), width), "\n") })
		return nil
	}
	id := r.items[0].Decision.ID
	x, known := m.explained[id]
	switch {
	case !known:
		m.Say(id, func(int) string { return "looking at " + text.Clean(r.name) })
	case m.Reading:
		m.Say(id, x.rules)
	default:
		m.Say(id, x.short)
	}
	if known || m.explaining != "" || !m.Reading && !m.IsWide() {
		return nil
	}
	m.explaining = id
	return func() tea.Msg {
		short, rules := m.o.Explain(id)
		return explained{id, short, rules}
	}
}

// ask shows what was marked, and asks whether to do it.
func (m *Model) ask() tea.Cmd {
	if len(m.marks) == 0 {
		m.said = "nothing is marked: space takes what the cursor is on, a takes all that would go"
		return nil
	}
	m.Reading, m.Prompt = true, "y yes  n back  q leave, and nothing is done"
	m.Say("do this?", m.question)
	return nil
}

func (m *Model) sort() tea.Cmd {
	m.order = (m.order + 1) % len(orders)
	m.list()
	return nil
}

func (m *Model) toggle() tea.Cmd {
	m.stays = !m.stays
	m.list()
	return nil
}

func (m *Model) look() tea.Cmd {
	r, ok := m.SelectedItem().(row)
	m.Reading = ok && r.title == ""
	return nil
}

// answer takes the answer to a question, where one was asked and the key is one.
func (m *Model) answer(key string) (cmd tea.Cmd, answered bool) {
	switch {
	case m.Prompt == "":
		return nil, false
	case key == "y" || key == "Y":
		m.choice = m.chosen()
		return tea.Quit, true
	case key == "q":
		return tea.Quit, true
	case key == "n" || key == "N" || key == "esc":
		m.Reading, m.Prompt = false, ""
		return nil, true
	}
	return nil, false
}

func (m *Model) chosen() Choice {
	c := Choice{Confirmed: true}
	for _, s := range m.o.Stories {
		for _, it := range s.Items {
			d := it.Decision
			switch m.marks[d.ID] {
			case Take:
				c.Take = append(c.Take, d)
			case Hold:
				c.Hold = append(c.Hold, d)
			case Protect:
				c.Protect = append(c.Protect, d)
			}
		}
	}
	return c
}

// items are the thing under the cursor, or below a title all that is shown of its group.
func (m *Model) items() (out []*story.Item) {
	for i, item := range m.VisibleItems() {
		r := item.(row)
		switch {
		case i < m.Index() || i == m.Index() && r.title != "":
		case i == m.Index():
			return r.items
		case r.depth == 0:
			return out
		default:
			out = append(out, r.items...)
		}
	}
	return out
}

// skipTitle moves the cursor from a title to what stands below it.
func (m *Model) skipTitle() {
	if r, ok := m.SelectedItem().(row); ok && r.title != "" {
		m.CursorDown()
	}
}

func (m *Model) unmark() tea.Cmd {
	for _, it := range m.items() {
		delete(m.marks, it.Decision.ID)
	}
	return nil
}

// marking sets a mark on what is under the cursor, or takes it away where all of it has it.
func (m *Model) marking(mark Mark) func() tea.Cmd {
	return func() tea.Cmd {
		can := slices.DeleteFunc(slices.Clone(m.items()), func(it *story.Item) bool {
			switch {
			case mark == Take && !it.Takeable:
				m.said = text.Clean(whyNot(it))
				return true
			case mark == Protect && m.o.Glob(it.Decision) == "":
				m.said = "it has no name that could be protected; h holds it"
				return true
			}
			return false
		})
		on := !slices.ContainsFunc(can, func(it *story.Item) bool { return m.marks[it.Decision.ID] != mark })
		for _, it := range can {
			if on {
				delete(m.marks, it.Decision.ID)
			} else {
				m.marks[it.Decision.ID] = mark
				m.selectFirst(it, mark)
			}
		}
		if r, ok := m.SelectedItem().(row); ok && r.title == "" && len(can) > 0 { // a whole group's lines show what was marked
			m.CursorDown()
			m.skipTitle()
		}
		return nil
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
	if m := it.Decision.Main; it.State == story.Stay && m != nil {
		return "it cannot be taken: " + m.Message
	}
	return "it cannot be taken yet: " + report.Messages(report.Real(it.Decision.Objections))
}

// all takes everything that is shown, would go and has no mark.
func (m *Model) all() tea.Cmd {
	n := 0
	for _, item := range m.VisibleItems() {
		r := item.(row)
		if it := r.items[0]; r.title == "" && it.Takeable && it.State != story.Ask && m.marks[it.Decision.ID] == "" {
			m.marks[it.Decision.ID] = Take
			n++
		}
	}
	m.said = text.Plural(n, "thing") + " taken"
	if n == 0 {
		m.said = "nothing that would go is left to take"
	}
	return nil
}

// View implements tea.Model.
func (m *Model) View() tea.View {
	return m.Screen.View([]string{m.o.Paint.Bold(m.head())}, m.detail(), "nothing would go, and nothing nearly would")
}

// head says what is marked, and how the rows are chosen and sorted.
func (m *Model) head() string {
	count := map[Mark]int{}
	var taken []*story.Item
	for id, mark := range m.marks {
		if count[mark]++; mark == Take && !m.inTaken(id) {
			taken = append(taken, m.byID[id])
		}
	}
	head := "winnow review"
	for _, mark := range []Mark{Take, Hold, Protect} {
		if count[mark] > 0 {
			head += fmt.Sprintf("  %d %s", count[mark], mark)
		}
	}
	if n := len(m.marks); n > 0 {
		head += fmt.Sprintf("  %d marked", n) + sum(taken)
	}
	if m.order > 0 {
		head += "  by " + orders[m.order]
	}
	if m.IsFiltered() {
		head += "  /" + text.Clean(m.FilterValue())
	}
	return head
}

// inTaken reports whether a folder lies in another one that is taken: it takes up no more.
func (m *Model) inTaken(id string) bool {
	for up := path.Dir(id); strings.Contains(up, "/"); up = path.Dir(up) {
		if m.marks[up] == Take {
			return true
		}
	}
	return false
}

// sum is what things free, behind a comma; "" where that is not known.
func sum(items []*story.Item) (out string) {
	var disk, memory int64
	for _, it := range items {
		if n := report.BytesOf(it.Decision); it.Decision.Size == nil {
			memory += n
		} else {
			disk += n
		}
	}
	if disk > 0 {
		out = ", " + text.Size(disk)
	}
	if memory > 0 {
		out += ", " + text.Size(memory) + " of memory"
	}
	return out
}

// detail are two lines about the row: what cannot stand in the list.
func (m *Model) detail() []string {
	r, ok := m.SelectedItem().(row)
	said := m.said
	switch {
	case said == "" && ok && !m.IsWide():
		said = m.about(r)
	case said == "" && m.o.Counts != "":
		said = "stay  " + text.Clean(m.o.Counts)
	}
	lines := text.Wrap(said, max(m.Columns, 20))
	if len(lines) > 2 {
		lines = []string{lines[0], strings.Join(lines[1:], " ")} // the rest is cut at the width
	}
	return append(lines, "")[:2]
}

// about says in words what a row stands for.
func (m *Model) about(r row) string {
	if len(r.items) != 1 {
		return text.Clean(r.title) + ": " + text.Plural(len(r.items), "thing") + sum(r.items)
	}
	return text.Clean(report.Label(r.items[0].Decision) + ": " + why(r.items[0]))
}

func why(it *story.Item) string {
	d := it.Decision
	said := report.Messages(d.Findings)
	if d.Main != nil && (it.State == story.Goes || it.State == story.Stay) {
		return d.Main.Message
	}
	switch {
	case it.State == story.After:
		said += "; it goes after what uses it: " + strings.Join(d.After, ", ")
	case len(d.Objections) > 0:
		said += "; " + report.Messages(report.Real(d.Objections))
	}
	return said
}

// Key implements screen.Row.
func (r row) Key() string {
	if r.title != "" {
		return "title " + r.title + "\n" + r.items[0].Decision.ID
	}
	return r.items[0].Decision.ID
}

// FilterValue implements screen.Row: a thing is found by its id, its title and name, its state and why it goes or stays, and a title by all below it.
func (r row) FilterValue() string {
	return text.Join(r.items, "\n", func(it *story.Item) string {
		return strings.Join([]string{it.Decision.ID, r.group, report.Label(it.Decision), state(it), why(it)}, "\n")
	})
}

// state is the word for how a thing stands.
func state(it *story.Item) string {
	switch it.State {
	case story.Goes:
		return cmp.Or(it.Decision.Action, "go")
	case story.Near:
		return "wait"
	default:
		return it.State
	}
}

// Line implements screen.Row. Size and age are left out where there is little room.
func (r row) Line(width int) string {
	p := r.m.o.Paint
	if r.title != "" {
		return p.Bold(text.Clean(r.title)) + p.Dim("  "+text.Plural(len(r.items), "thing")+sum(r.items))
	}
	it, d := r.items[0], r.items[0].Decision
	box := map[Mark]string{"": "[ ]", Take: "[x]", Hold: "[k]", Protect: "[p]"}[r.m.marks[d.ID]]
	if !it.Takeable && r.m.marks[d.ID] == "" {
		box = " - "
	}
	color := p.Yellow
	if it.State == story.Stay {
		color = p.Dim
	}
	line := strings.Repeat("  ", r.depth) + box + " " + color(screen.Cell(state(it), 5)) + " "
	facts, room := "", width-ansi.StringWidth(line)
	if width >= 46 {
		age := "-"
		if seconds := report.AgeOf(d); seconds >= 0 {
			age = text.Span(config.Seconds(seconds))
		}
		facts = " " + screen.Number(cmp.Or(story.Size(d), "-"), 10) + " " + screen.Number(age, 6)
		room -= ansi.StringWidth(facts)
	}
	if width >= 90 { // the reason stands beside it
		room = min(room, widestName-2*r.depth)
		facts += "  " + p.Dim(text.Clean(why(it)))
	}
	return line + screen.Cell(text.Clean(r.name), max(room, 8)) + facts
}

// question says what would be done with what is marked.
func (m *Model) question(width int) string {
	c := m.chosen()
	var lines []string
	add := func(head string, ds []decision.Decision, say func(decision.Decision) string) {
		if len(ds) > 0 {
			lines = append(append(lines, ""), text.Wrap(head, width)...)
			lines = append(lines, text.Map(ds, func(d decision.Decision) string { return "  " + text.Clean(say(d)) })...)
		}
	}
	add("take away, as winnow sweep --apply does it: looked at again, within the caps, and only what still may go", c.Take, report.Label)
	add("hold until winnow release ID", c.Hold, report.Label)
	add("always protect: written into rules.protected of "+text.Clean(text.Home(m.o.File)), c.Protect, m.o.Glob)
	return strings.Join(lines, "\n")
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
