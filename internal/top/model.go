package top

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Options are what the view needs of the program.
type Options struct {
	// Look takes a look; it is asked again Every after the last one ended.
	Look  func(context.Context) (Look, error)
	Every time.Duration
	Paint text.Paint
}

// Model is the live view.
type Model struct {
	o             Options
	ctx           context.Context
	look          Look
	err           error
	byCPU         bool
	top           int
	width, height int
}

// New gives the view, with nothing looked at.
func New(ctx context.Context, o Options) *Model {
	return &Model{o: o, ctx: ctx, width: 80, height: 24}
}

type looked struct {
	look Look
	err  error
}

type again struct{}

// Init implements tea.Model.
func (m *Model) Init() tea.Cmd { return m.take }

func (m *Model) take() tea.Msg {
	look, err := m.o.Look(m.ctx)
	return looked{look, err}
}

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case looked:
		m.err = msg.err
		if msg.err == nil {
			m.look = msg.look
		}
		return m, tea.Tick(m.o.Every, func(time.Time) tea.Msg { return again{} })
	case again:
		return m, m.take
	case tea.KeyPressMsg:
		return m, m.key(msg.String())
	}
	return m, nil
}

func (m *Model) key(key string) tea.Cmd {
	page := max(m.height-4, 1)
	switch key {
	case "q", "esc", "ctrl+c":
		return tea.Quit
	case "up", "k":
		m.top--
	case "down", "j":
		m.top++
	case "pgup":
		m.top -= page
	case "pgdown", "space", " ":
		m.top += page
	case "home", "g":
		m.top = 0
	case "c":
		m.byCPU = true
	case "m":
		m.byCPU = false
	}
	m.top = max(m.top, 0)
	return nil
}

// View implements tea.Model.
func (m *Model) View() tea.View {
	v := tea.NewView(m.screen())
	v.AltScreen = true
	return v
}

func (m *Model) screen() string {
	p := m.o.Paint
	look := m.look
	look.Owners = slices.Clone(look.Owners)
	if m.byCPU {
		slices.SortStableFunc(look.Owners, func(x, y Owner) int { return cmp.Compare(share(y.CPU), share(x.CPU)) })
	}
	lines := Lines(p, look, m.width)
	if m.look.TakenAt.IsZero() {
		lines = []string{"looking"}
	}
	room := max(m.height-3, 1)
	m.top = max(min(m.top, len(lines)-room), 0)
	lines = lines[m.top:min(m.top+room, len(lines))]
	for len(lines) < room {
		lines = append(lines, "")
	}
	head := "winnow top"
	if !m.look.TakenAt.IsZero() {
		head += "  " + m.look.TakenAt.Local().Format(time.TimeOnly) + "  " + text.Plural(len(m.look.Owners), "owner")
	}
	if m.err != nil {
		head += "  the last look failed: " + text.Clean(m.err.Error())
	}
	keys := "m by memory  c by processor  up/down  q quit"
	lines = append(append([]string{p.Bold(head)}, lines...), "", p.Dim(keys))
	for i, l := range lines {
		lines[i] = ansi.Truncate(l, m.width, "…")
	}
	return strings.Join(lines[:min(len(lines), m.height)], "\n")
}

func share(cpu *float64) float64 {
	if cpu == nil {
		return 0
	}
	return *cpu
}

// Lines write a look: an owner's line, and one for each of its processes. On a narrow terminal the folder and the age are left out. With a
// width of 0 nothing is.
func Lines(p text.Paint, look Look, width int) []string {
	out := text.Map(look.Notes, func(note string) string { return p.Yellow(text.Clean(note)) })
	wide := width == 0 || width >= 100
	for _, o := range look.Owners {
		name := p.Bold(text.Clean(o.Name))
		if o.Alive == nil {
			name += p.Dim(" (may still run)")
		} else if !*o.Alive {
			name += p.Yellow(" (ended)")
		}
		out = append(out, fmt.Sprintf("%s  %s  %s  %s", name, Bytes(&o.Memory), Share(o.CPU), text.Plural(len(o.Processes), "process")))
		command, folder := 0, 0
		for _, x := range o.Processes {
			command = max(command, ansi.StringWidth(text.Clean(x.Command)))
			folder = max(folder, ansi.StringWidth(text.Clean(text.Home(x.Folder))))
		}
		for _, x := range o.Processes {
			line := fmt.Sprintf("  %7d %5s %10s ", x.PID, Share(x.CPU), Bytes(x.Memory))
			if width == 0 || width >= 70 {
				age := "-"
				if x.Age != nil {
					age = text.Span(config.Seconds(*x.Age))
				}
				line += fmt.Sprintf("%7s ", age)
			}
			line += verdict(p, x) + " " + padded(text.Clean(x.Command), min(command, 40))
			if wide {
				line += "  " + p.Dim(padded(text.Clean(text.Home(x.Folder)), min(folder, 40)))
			}
			if x.Why != "" && (x.Verdict != "keep" || wide) {
				line += "  " + text.Clean(x.Why)
			}
			out = append(out, strings.TrimRight(line, " "))
		}
	}
	if len(look.Owners) == 0 {
		out = append(out, "no agent runs here, and nothing of one that has ended")
	}
	return out
}

func padded(s string, n int) string {
	return s + strings.Repeat(" ", max(n-ansi.StringWidth(s), 0))
}

func verdict(p text.Paint, x Process) string {
	word, color := x.Verdict, p.Dim
	switch {
	case x.Agent:
		word, color = "agent", p.Bold
	case word == "reap":
		color = p.Green
	case word != "" && word != "keep":
		color = p.Yellow
	case word == "":
		word = "-"
	}
	return color(fmt.Sprintf("%-7s", word))
}

// Run shows the view on a terminal until the person leaves it.
func Run(ctx context.Context, in, out *os.File, o Options) error {
	_, err := tea.NewProgram(New(ctx, o), tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler()).Run()
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case err != nil:
		return fmt.Errorf("show the view: %w", err)
	}
	return nil
}
