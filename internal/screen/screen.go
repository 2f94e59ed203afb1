// Package screen is what review and top draw with: rows with a cursor and a filter, a text about one of them, and the keys.
package screen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"charm.land/bubbles/v2/help"
	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/list"
	"charm.land/bubbles/v2/textinput"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/winnow-reaper/winnow/internal/text"
)

// Row is a line of the list. The filter looks into its FilterValue, and Key names it in the next list too.
type Row interface {
	list.Item
	Key() string
	Line(width int) string
}

// Action is what a key does.
type Action struct {
	key.Binding
	Do func() tea.Cmd
}

// NewAction gives an action. The help shows its name and what it does.
func NewAction(name, does string, do func() tea.Cmd, keys ...string) Action {
	return Action{key.NewBinding(key.WithKeys(keys...), key.WithHelp(name, does)), do}
}

func bind(name, does string, keys ...string) key.Binding {
	return NewAction(name, does, nil, keys...).Binding
}

// Text is written for so many columns.
type Text func(width int) string

// Screen is a list, with a text beside it or in its place.
type Screen struct {
	list.Model
	Paint text.Paint
	// Beside wants the text beside the list where there is room, Reading has it in the place of the list, with Prompt below it.
	Beside, Reading bool
	Prompt          string
	Columns, Lines  int

	actions []Action
	pane    viewport.Model
	about   string
	say     Text
}

// The columns from which a text stands beside the list, and how many it has at most.
const besideFrom, widestText = 100, 80

var (
	back = bind("q", "back", "q", "esc", "enter", "e")
	keys = list.KeyMap{
		CursorUp: bind("↑/k", "up", "up", "k"), CursorDown: bind("↓/j", "down", "down", "j"),
		PrevPage: bind("pgup", "page up", "pgup", "ctrl+b"), NextPage: bind("pgdn", "page down", "pgdown", "ctrl+f"),
		GoToStart: bind("g", "first", "home", "g"), GoToEnd: bind("G", "last", "end", "G"),
		Filter: bind("/", "filter", "/"), ClearFilter: bind("esc", "all again", "esc"),
		CancelWhileFiltering: bind("esc", "all again", "esc"), AcceptWhileFiltering: bind("enter", "keep the filter", "enter"),
		ShowFullHelp: bind("?", "keys", "?"), CloseFullHelp: bind("?", "fewer keys", "?"), Quit: bind("q", "quit", "q", "esc"),
	}
)

// New gives a screen without rows. The most important actions come first.
func New(paint text.Paint, actions ...Action) *Screen {
	s := &Screen{Model: list.New(nil, delegate{}, 0, 0), Paint: paint, Columns: 80, Lines: 24, actions: actions, pane: viewport.New()}
	for _, show := range []func(bool){s.SetShowTitle, s.SetShowFilter, s.SetShowStatusBar, s.SetShowPagination, s.SetShowHelp} {
		show(false)
	}
	s.KeyMap, s.Filter = keys, matching
	s.AdditionalFullHelpKeys = s.bindings
	s.Help.Styles, s.Help.ShortSeparator = help.Styles{}, "  "
	s.FilterInput.Prompt = "/"
	s.FilterInput.SetStyles(textinput.Styles{})
	s.FilterInput.SetVirtualCursor(false)
	s.FilterInput.KeyMap.Paste.SetEnabled(false) // it would start a program that reads the clipboard
	return s
}

func (s *Screen) bindings() []key.Binding {
	return text.Map(s.actions, func(a Action) key.Binding { return a.Binding })
}

func matching(term string, values []string) (out []list.Rank) {
	for i, v := range values {
		if strings.Contains(strings.ToLower(v), strings.ToLower(term)) {
			out = append(out, list.Rank{Index: i})
		}
	}
	return out
}

// delegate draws a row of the list.
type delegate struct{}

func (delegate) Height() int                         { return 1 }
func (delegate) Spacing() int                        { return 0 }
func (delegate) Update(tea.Msg, *list.Model) tea.Cmd { return nil }

func (delegate) Render(w io.Writer, m list.Model, i int, item list.Item) {
	cursor := "  "
	if i == m.Index() {
		cursor = "> "
	}
	fmt.Fprint(w, ansi.Truncate(cursor+item.(Row).Line(max(m.Width()-2, 1)), m.Width(), "…"))
}

// SetRows shows other rows. The cursor stays on the one that it is on.
func (s *Screen) SetRows(rows []list.Item) {
	old, _ := s.SelectedItem().(Row)
	if filter := s.SetItems(rows); filter != nil { // at once: a result that comes later may be that of an older filter
		s.Model, _ = s.Model.Update(filter())
	}
	at, shown := s.Index(), s.VisibleItems()
	for i, r := range shown {
		if old != nil && r.(Row).Key() == old.Key() {
			at = i
		}
	}
	s.Select(max(min(at, len(shown)-1), 0))
}

// IsWide is true where the text stands beside the list.
func (s *Screen) IsWide() bool { return s.Beside && s.Columns >= besideFrom }

// Say has a text stand beside the list or in its place. about names what it is about.
func (s *Screen) Say(about string, say Text) {
	if about != s.about {
		s.pane.GotoTop()
	}
	s.about, s.say = about, say
}

// Update takes what happened: a key, another size.
func (s *Screen) Update(msg tea.Msg) (cmd tea.Cmd) {
	if size, ok := msg.(tea.WindowSizeMsg); ok {
		s.Columns, s.Lines = size.Width, size.Height
	}
	press, pressed := msg.(tea.KeyPressMsg)
	if pressed && press.String() == "ctrl+c" {
		return tea.Quit
	}
	if s.Reading {
		if s.pane, cmd = s.pane.Update(msg); pressed && s.Prompt == "" && key.Matches(press, back) {
			s.Reading = false
		}
		return cmd
	}
	for _, a := range s.actions {
		if pressed && !s.SettingFilter() && key.Matches(press, a.Binding) {
			return a.Do()
		}
	}
	if s.Model, cmd = s.Model.Update(msg); s.SettingFilter() {
		s.SetRows(s.Items())
		return nil
	}
	return cmd
}

// View draws the screen: above and foot are the lines that stand over and under the rows, empty what stands in the place of no rows.
func (s *Screen) View(above, foot []string, empty string) tea.View {
	if s.Reading {
		above, foot = []string{s.Paint.Bold(text.Clean(s.about))}, []string{""}
	}
	room := max(s.Lines-len(above)-len(foot)-len(s.bottom()), 1)
	lines := append(above[:len(above):len(above)], strings.Split(s.body(room, empty), "\n")...)
	lines = append(append(lines, foot...), s.bottom()...)
	for i, l := range lines {
		lines[i] = strings.TrimRight(ansi.Truncate(l, s.Columns, "…"), " ")
	}
	v := tea.NewView(strings.Join(lines[:min(len(lines), s.Lines)], "\n"))
	v.AltScreen = true
	if v.Cursor = s.FilterInput.Cursor(); v.Cursor != nil {
		v.Cursor.Y = s.Lines - 1
	}
	return v
}

// body is what stands between the lines above and the foot.
func (s *Screen) body(room int, empty string) string {
	width, said := s.Columns, 0
	switch {
	case s.Reading:
		said = width
	case s.IsWide():
		said = min(width/2, widestText)
	}
	s.SetSize(width-said, room)
	s.pane.SetWidth(said)
	s.pane.SetHeight(room)
	s.pane.Style = lipgloss.NewStyle()
	if !s.Reading {
		s.pane.Style = s.pane.Style.Border(lipgloss.NormalBorder(), false, false, false, true).PaddingLeft(1)
	}
	if s.say != nil && said > 0 {
		s.pane.SetContent(strings.TrimRight(s.say(said-s.pane.Style.GetHorizontalFrameSize()), "\n"))
	}
	rows := s.Model.View()
	switch shown := len(s.VisibleItems()); {
	case s.Reading:
		return s.pane.View()
	case shown == 0 && s.FilterState() != list.Unfiltered:
		rows = "nothing here has " + text.Clean(s.FilterValue())
	case shown == 0:
		rows = empty
	}
	rows = lipgloss.NewStyle().Width(width - said).Height(room).MaxHeight(room).Render(rows)
	return lipgloss.JoinHorizontal(lipgloss.Top, rows, s.pane.View())
}

// bottom are the last lines: the filter while it is written, a question, how far one has read, or the keys, in one line as many as it holds.
func (s *Screen) bottom() []string {
	first, all := s.pane.YOffset()+1, s.pane.TotalLineCount()
	s.Help.SetWidth(s.Columns)
	switch {
	case s.SettingFilter():
		return []string{s.FilterInput.View()}
	case s.Prompt != "":
		return []string{s.Paint.Bold(s.Prompt)}
	case s.Reading:
		return []string{s.Paint.Dim(fmt.Sprintf("%d to %d of %d lines  ↑/↓ move  q back", first, min(first+s.pane.Height()-1, all), all))}
	case s.Help.ShowAll:
		return text.Map(strings.Split(s.Help.FullHelpView(s.FullHelp()), "\n"), s.Paint.Dim)
	}
	own := s.bindings()
	fit := append([]key.Binding{own[0], own[1], keys.Filter, keys.ShowFullHelp, keys.Quit}, own[2:]...)
	for len(fit) > 1 && lipgloss.Width(s.Help.ShortHelpView(fit)) > s.Columns {
		fit = fit[:len(fit)-1]
	}
	return []string{s.Paint.Dim(s.Help.ShortHelpView(fit))}
}

// Cell writes s into n columns. What is too long is cut: a path at its beginning, for its end says most, anything else at its end.
func Cell(s string, n int) string {
	if w := ansi.StringWidth(s); w > n && (strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~")) {
		s = ansi.TruncateLeft(s, w-n+1, "…")
	}
	return lipgloss.PlaceHorizontal(n, lipgloss.Left, ansi.Truncate(s, n, "…"))
}

// Number writes s at the right of n columns.
func Number(s string, n int) string { return lipgloss.PlaceHorizontal(n, lipgloss.Right, s) }

// Run shows a model on a terminal until the person leaves it. The terminal is as it was before, also when ctx ends or the model itself fails.
func Run(ctx context.Context, in, out *os.File, m tea.Model) error {
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler()).Run()
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return err
}
