package review

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/screen"
	"github.com/winnow-reaper/winnow/internal/story"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/schema"
	screentest "github.com/winnow-reaper/winnow/test/kit/screen"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func stories() []story.Story {
	item := func(id, state string) story.Item {
		d := decision.Decision{ID: "dir:/w/" + id, Kind: snapshot.KindDir, Verdict: decision.Reap, Findings: []decision.Reason{{Rule: "reap.x", Message: strings.Repeat("because ", 20)}}}
		if state == story.Near || state == story.Stay {
			d.Verdict, d.Objections = decision.Spare, []decision.Reason{{Rule: "protect.young", Message: "it is young"}}
		}
		return story.Item{State: state, Takeable: state != story.Near && state != story.Stay, Decision: d}
	}
	return []story.Story{
		{Title: "/w/a", Items: []story.Item{item("a", story.Goes), item("a/b", story.Near)}},
		{Title: "/w/c", Items: []story.Item{item("c", story.Ask)}},
		{Title: "/w/d", Items: []story.Item{item("d\x1b[31m", story.Goes)}},
		{Title: "/w/e", Items: []story.Item{item("e", story.Stay)}},
	}
}

func model() *Model {
	return New(options(stories()))
}

func options(all []story.Story) Options {
	long := func(int) string { return strings.Repeat("a line that is long\n", 100) }
	return Options{Stories: all, File: "/c/config.yaml", Counts: "2: 1 in use, 1 young", Glob: func(d decision.Decision) string { return d.ID },
		Explain: func(string) (short, rules screen.Text) { return long, long }}
}

func press(m *Model, keys ...string) {
	for _, k := range keys {
		m.Update(screentest.Key(k))
	}
}

func ids(ds []decision.Decision) string {
	var out []string
	for _, d := range ds {
		out = append(out, d.ID)
	}
	return strings.Join(out, " ")
}

// TestWhatIsChosen types into the list, and holds what comes of it.
func TestWhatIsChosen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, keys          string
		take, hold, protect string
	}{
		{name: "nothing is chosen before it was confirmed", keys: "space enter q"},
		{name: "enter without marks asks nothing", keys: "enter y"},
		{name: "one is taken", keys: "space enter y", take: "dir:/w/a"},
		{name: "what nearly goes cannot be taken", keys: "down space enter y"},
		{name: "and can be held", keys: "down h enter y", hold: "dir:/w/a/b"},
		{name: "a story is taken as far as it may be", keys: "home space enter y", take: "dir:/w/a"},
		{name: "a story is protected whole", keys: "home p enter y", protect: "dir:/w/a dir:/w/a/b"},
		{name: "all that would go, and not what is left to a person", keys: "a enter y", take: "dir:/w/a dir:/w/d\x1b[31m"},
		{name: "what a person is asked about", keys: "end up space enter y", take: "dir:/w/c"},
		{name: "a mark again takes it away", keys: "space up space enter y"},
		{name: "another mark stands in its place", keys: "space up up p enter y", protect: "dir:/w/a dir:/w/a/b"},
		{name: "unmarked", keys: "a home u enter y", take: "dir:/w/d\x1b[31m"},
		{name: "back, and then yes", keys: "space enter n enter y", take: "dir:/w/a"},
		{name: "no, and away", keys: "space enter n q"},
		{name: "only a yes is one", keys: "space enter enter e down esc enter", take: ""},
		{name: "escape leads back", keys: "space enter esc enter y", take: "dir:/w/a"},
		{name: "all that the filter leaves", keys: "/ w / d enter a enter y", take: "dir:/w/d\x1b[31m"},
		{name: "below a title what the filter leaves of it", keys: "/ w / a / b enter home p enter y", protect: "dir:/w/a/b"},
		{name: "what stays is held, and stays marked when it is listed no more", keys: ". end h . a enter y", take: "dir:/w/a dir:/w/d\x1b[31m", hold: "dir:/w/e"},
		{name: "what stays cannot be taken", keys: ". end space a enter y", take: "dir:/w/a dir:/w/d\x1b[31m"},
	} {
		m := model()
		press(m, strings.Fields(c.keys)...)
		got := m.Choice()
		if ids(got.Take) != c.take || ids(got.Hold) != c.hold || ids(got.Protect) != c.protect || got.Confirmed != (c.take+c.hold+c.protect != "") {
			t.Errorf("%s: %q chose %+v", c.name, c.keys, got)
		}
	}
}

// TestEverySize draws the list, the question and the explanation on terminals of every size: no line is wider, no more lines than there are, and
// nothing that a terminal obeys comes from a name.
func TestEverySize(t *testing.T) {
	t.Parallel()
	for _, width := range []int{1, 10, 20, 40, 60, 80, 200} {
		for _, height := range []int{1, 3, 5, 10, 50} {
			m := model()
			m.Update(tea.WindowSizeMsg{Width: width, Height: height})
			var screens []string
			for _, keys := range []string{"", "s", ". end", "/ w", "?", "a", "enter", "esc", "? home down e"} {
				press(m, strings.Fields(keys)...)
				screens = append(screens, m.View().Content)
			}
			_, long := m.o.Explain("")
			m.Update(explained{id: m.explaining, rules: long})
			press(m, "pgdown", "down", "up")
			for _, s := range append(screens, m.View().Content) {
				lines := strings.Split(s, "\n")
				if len(lines) > height {
					t.Fatalf("at %d x %d there are %d lines:\n%s", width, height, len(lines), s)
				}
				for _, l := range lines {
					if ansi.StringWidth(l) > width || strings.ContainsRune(l, '\x1b') {
						t.Fatalf("at %d x %d a line is wider, or has an escape: %q", width, height, l)
					}
				}
			}
		}
	}
	if s := New(Options{}).View().Content; !strings.Contains(s, "nothing would go") {
		t.Errorf("an empty list shows %q", s)
	}
}

// TestTheCursorIsInSight goes through a long list: the line of the cursor is always shown.
func TestTheCursorIsInSight(t *testing.T) {
	t.Parallel()
	var all []story.Story
	for i := range 100 {
		d := decision.Decision{ID: fmt.Sprintf("dir:/w/%d", i), Kind: snapshot.KindDir, Verdict: decision.Reap}
		all = append(all, story.Story{Title: strconv.Itoa(i), Items: []story.Item{{State: story.Goes, Takeable: true, Decision: d}}})
	}
	m := New(options(all))
	m.Update(tea.WindowSizeMsg{Width: 60, Height: 12})
	for _, key := range strings.Fields(strings.Repeat("down ", 99) + strings.Repeat("pgup ", 5) + "end home pgdown pgdown up up") {
		press(m, key)
		if s := m.View().Content; !strings.Contains(s, "\n> ") {
			t.Fatalf("after %s at %d the cursor is out of sight:\n%s", key, m.Index(), s)
		}
	}
}

// TestAPanicLeavesTheTerminalAsItWas runs the list on a terminal, and has the program's own part of it panic.
func TestAPanicLeavesTheTerminalAsItWas(t *testing.T) {
	t.Parallel()
	if attack.Raced {
		t.Skip("bubbletea's own reader and its end after a panic race for the terminal; .ci/run runs it without the race detector")
	}
	master, slave := procs.TerminalOf(t)
	// The slave stays open: after a panic the library's reader still has it.
	t.Cleanup(func() { _ = master.Close() })
	before := must.Get(unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS))(t)
	shown := make(chan string)
	go func() {
		var all strings.Builder
		b := make([]byte, 4096)
		for typed := false; ; {
			n, err := master.Read(b)
			all.Write(b[:n])
			if !typed && strings.Contains(all.String(), "winnow review") {
				typed = true
				_, _ = master.WriteString("e")
			}
			if err != nil || strings.Contains(all.String(), "\x1b[?1049l") {
				shown <- all.String()
				return
			}
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience)
	defer cancel()
	m := New(Options{Stories: stories(), Explain: func(string) (short, rules screen.Text) { panic("of the test") }})
	if err := screen.Run(ctx, slave, slave, m); err == nil || m.Choice().Confirmed {
		t.Errorf("it ended with %v, %+v", err, m.Choice())
	}
	after, e := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	if e != nil || *after != *before {
		t.Errorf("the terminal is not as it was: %+v, %+v, %v", before, after, e)
	}
	select {
	case <-shown:
	case <-time.After(wait.Patience):
		t.Error("the other screen was never left")
	}
}

// TestReviewSchemaIsCurrent keeps the published schema of the list equal to the Go type.
func TestReviewSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	schema.Current(t, Document{}, Schema, []string{"../../docs/reference/schemas/review.json"},
		[]string{"../story", "../report", "../../engine/decision", "../../engine/snapshot"})
}
