package top

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/list"
	tea "charm.land/bubbletea/v2"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/screen"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Options are what the view needs of the program. All but Paint is called outside of the view's own loop.
type Options struct {
	// Look takes a look; it is asked again Every after the last one ended.
	Look  func(context.Context) (Look, error)
	Every time.Duration
	// Explain gives what winnow explain says of a candidate. Hold holds it and End ends it, as winnow retain and winnow cleanup --safe do, and both
	// say what they did, or why they did not.
	Explain   func(id string) (short, rules screen.Text)
	Hold, End func(id string) string
	Paint     text.Paint
}

// Model is the live view.
type Model struct {
	*screen.Screen
	o     Options
	ctx   context.Context
	look  Look
	err   error
	byCPU bool
	// asked is what a person is asked whether to end. doing is true while that, or a hold, goes on.
	asked row
	doing bool
	said  string
}

// New gives the view, with nothing looked at.
func New(ctx context.Context, o Options) *Model {
	m := &Model{o: o, ctx: ctx}
	sort := func(byCPU bool) func() tea.Cmd {
		return func() tea.Cmd {
			m.byCPU = byCPU
			m.list()
			return nil
		}
	}
	m.Screen = screen.New(o.Paint,
		screen.NewAction("e", "explain", m.choose(m.explain), "e", "enter", "l", "right"),
		screen.NewAction("x", "end", m.choose(m.ask), "x"),
		screen.NewAction("h", "hold", m.choose(func(r row) tea.Cmd { return m.act("holding ", r, o.Hold) }), "h"),
		screen.NewAction("m", "by memory", sort(false), "m"),
		screen.NewAction("c", "by processor", sort(true), "c"),
	)
	return m
}

type looked struct {
	look Look
	err  error
}

type again struct{}

// done is what came of an act, explained what the program says of a candidate.
type done struct{ said string }

type explained struct {
	name string
	text screen.Text
}

// Init implements tea.Model.
func (m *Model) Init() tea.Cmd { return m.take }

func (m *Model) take() tea.Msg {
	look, err := m.o.Look(m.ctx)
	return looked{look, err}
}

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case looked:
		if m.err = msg.err; msg.err == nil {
			m.look = msg.look
			m.list()
		}
		return m, tea.Tick(m.o.Every, func(time.Time) tea.Msg { return again{} })
	case again:
		return m, m.take
	case done:
		m.doing, m.said = false, text.Clean(msg.said)
		return m, nil
	case explained:
		m.Reading, m.said = true, ""
		m.Say(msg.name, msg.text)
		return m, nil
	case tea.KeyPressMsg:
		if m.Prompt != "" && msg.String() != "ctrl+c" {
			return m, m.answer(msg.String())
		}
		if !m.doing {
			m.said = ""
		}
	}
	return m, m.Screen.Update(msg)
}

// choose gives what a key does with the row under the cursor, where that is a thing.
func (m *Model) choose(do func(row) tea.Cmd) func() tea.Cmd {
	return func() tea.Cmd {
		r, ok := m.SelectedItem().(row)
		switch {
		case m.doing || !ok:
			return nil // what is done now is said
		case r.id == "":
			m.said = "an agent's session is no single thing: choose one below it"
			return nil
		}
		return do(r)
	}
}

func (m *Model) explain(r row) tea.Cmd {
	m.said = "looking at " + text.Clean(r.name)
	return func() tea.Msg {
		short, _ := m.o.Explain(r.id)
		return explained{r.name, short}
	}
}

func (m *Model) ask(r row) tea.Cmd {
	m.asked, m.Prompt = r, "y yes  n no"
	m.said = "end " + text.Clean(r.name) + "? winnow cleanup " + text.Clean(text.Quote(r.id)) + " --safe does it: it is judged again, and refused where anything keeps it"
	return nil
}

func (m *Model) answer(key string) tea.Cmd {
	if m.Prompt, m.said = "", "nothing was ended"; key != "y" && key != "Y" {
		return nil
	}
	return m.act("ending ", m.asked, m.o.End)
}

func (m *Model) act(doing string, r row, do func(string) string) tea.Cmd {
	m.doing, m.said = true, doing+text.Clean(r.name)
	return func() tea.Msg { return done{do(r.id)} }
}

// row is a line of the tree: an owner, a session or worktree, or a process.
type row struct {
	// key names it among all rows; id is that of the candidate, "" for an agent's session.
	key, id, name string
	depth         int
	paint         func(string) string
	cells         [columns]string
	// above is the owner's name, below what the filter finds in the rows of an owner.
	above, below string
}

// list makes the rows: each owner, the sessions and worktrees that it works in, and its processes below those that started them.
func (m *Model) list() {
	p, owners := m.o.Paint, slices.Clone(m.look.Owners)
	if m.byCPU {
		slices.SortStableFunc(owners, func(x, y Owner) int { return cmp.Compare(value(y.CPU), value(x.CPU)) })
	}
	var rows []list.Item
	for _, o := range owners {
		state, paint := "may run", p.Bold
		if o.Alive != nil {
			state = map[bool]string{true: "lives", false: "ended"}[*o.Alive]
		}
		first := len(rows)
		rows = append(rows, row{key: o.Name, id: o.ID, name: o.Name, paint: paint,
			cells: [columns]string{Share(o.CPU), Bytes(&o.Memory), "", state, text.Plural(len(o.Processes), "process")}})
		for _, x := range o.Places {
			rows = append(rows, row{key: o.Name + x.ID, id: x.ID, name: x.Name, depth: 1, above: o.Name, paint: p.Dim})
		}
		rows = append(rows, m.processes(o)...)
		owner := rows[first].(row) // the filter leaves it with what it leaves below
		owner.below = text.Join(rows[first+1:], "\n", func(r list.Item) string { return r.FilterValue() })
		rows[first] = owner
	}
	m.SetRows(rows)
}

// processes are the rows of an owner's processes, each below the one that started it.
func (m *Model) processes(o Owner) (rows []list.Item) {
	all := slices.Clone(o.Processes)
	if m.byCPU {
		slices.SortStableFunc(all, func(x, y Process) int { return cmp.Compare(value(y.CPU), value(x.CPU)) })
	}
	var add func(parent, depth int)
	add = func(parent, depth int) {
		for _, x := range all {
			above := x.Parent
			if !slices.ContainsFunc(all, func(y Process) bool { return y.PID == above }) {
				above = 0
			}
			if above != parent {
				continue
			}
			age, state, paint := "-", x.Verdict, m.o.Paint.Yellow
			if x.Age != nil {
				age = text.Span(config.Seconds(*x.Age))
			}
			switch {
			case x.Agent:
				state, paint = "agent", m.o.Paint.Bold
			case x.Verdict == "reap":
				state = "go"
			case x.Verdict == "keep":
				state, paint = "stay", m.o.Paint.Dim
			}
			rows = append(rows, row{key: x.ID, id: x.ID, name: fmt.Sprintf("%s (%d)", x.Command, x.PID), depth: depth, above: o.Name, paint: paint,
				cells: [columns]string{Share(x.CPU), Bytes(x.Memory), age, cmp.Or(state, "-"), text.Home(x.Folder), x.Why}})
			add(x.PID, depth+1)
		}
	}
	add(0, 1)
	return rows
}

// Key implements screen.Row.
func (r row) Key() string { return r.key }

// FilterValue implements screen.Row.
func (r row) FilterValue() string {
	return strings.Join(append(r.cells[:], r.name, r.above, r.below), "\n")
}

// columns are those beside the name: processor, memory, age, state, folder and reason. On a narrow terminal some are left out.
const columns = 6

var titles = [columns]string{"cpu", "memory", "age", "state", "folder", "why"}

// Line implements screen.Row.
func (r row) Line(width int) string {
	cell := func(i int) string { return text.Clean(r.cells[i]) }
	facts, rest := " "+screen.Number(cell(0), 5), width-17
	if width >= 40 {
		facts, rest = facts+" "+screen.Number(cell(1), 10), rest-11
	}
	if width >= 60 {
		facts, rest = facts+" "+screen.Number(cell(2), 7), rest-8
	}
	name := max(rest, 1)
	if width >= 60 {
		name = min(rest*3/5, 40)
	}
	folder := min(rest-name, 44)
	line := r.paint(screen.Cell(strings.Repeat("  ", r.depth)+text.Clean(r.name), name)) + facts + "  " + r.paint(screen.Cell(cell(3), 8)) + " "
	if folder > 0 {
		line += screen.Cell(cell(4), folder)
	}
	if rest > name+folder+20 {
		line += "  " + cell(5)
	}
	return line
}

// View implements tea.Model.
func (m *Model) View() tea.View {
	p, head, empty := m.o.Paint, "winnow top", "looking"
	if !m.look.TakenAt.IsZero() {
		empty = "no agent runs here, and nothing of one that has ended"
		head += "  " + m.look.TakenAt.Local().Format(time.TimeOnly) + "  " + text.Plural(len(m.look.Owners), "owner")
	}
	if m.IsFiltered() {
		head += "  /" + text.Clean(m.FilterValue())
	}
	if m.err != nil {
		head += "  the last look failed: " + text.Clean(m.err.Error())
	}
	above := append([]string{p.Bold(head)}, text.Map(m.look.Notes, func(note string) string { return p.Yellow(text.Clean(note)) })...)
	above = append(above, "  "+row{name: "owner, place, process", cells: titles, paint: p.Dim}.Line(m.Columns-2))
	said := m.said
	if r, ok := m.SelectedItem().(row); ok && said == "" && r.cells[columns-1] != "" {
		said = text.Clean(r.name + ": " + r.cells[columns-1])
	}
	foot := append(text.Wrap(said, max(m.Columns, 20)), "")
	return m.Screen.View(above, foot[:min(max(len(foot)-1, 2), len(foot), max(m.Lines/3, 1))], empty)
}
