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
	"github.com/winnow-reaper/winnow/internal/story"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/schema"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func stories() []story.Story {
	item := func(id, state string) story.Item {
		d := decision.Decision{ID: "dir:/w/" + id, Kind: snapshot.KindDir, Verdict: decision.Reap, Findings: []decision.Reason{{Rule: "reap.x", Message: strings.Repeat("because ", 20)}}}
		if state == story.Near {
			d.Verdict, d.Objections = decision.Spare, []decision.Reason{{Rule: "protect.young", Message: "it is young"}}
		}
		return story.Item{State: state, Takeable: state != story.Near, Decision: d}
	}
	return []story.Story{
		{Title: "/w/a", Items: []story.Item{item("a", story.Goes), item("a/b", story.Near)}},
		{Title: "/w/c", Items: []story.Item{item("c", story.Ask)}},
		{Title: "/w/d", Items: []story.Item{item("d\x1b[31m", story.Goes)}},
	}
}

func model() *Model {
	return New(Options{Stories: stories(), File: "/c/config.yaml", Glob: func(d decision.Decision) string { return d.ID }})
}

func press(m *Model, keys ...string) {
	for _, k := range keys {
		m.key(k)
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
			for _, keys := range []string{"", "end", "a", "enter", "esc"} {
				press(m, strings.Fields(keys)...)
				screens = append(screens, m.screen())
			}
			m.Update(explained{id: "dir:/w/a", said: strings.Repeat("a line that is long\n", 100)})
			press(m, "pgdown", "down", "up")
			for _, s := range append(screens, m.screen()) {
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
	if s := New(Options{}).screen(); !strings.Contains(s, "nothing would go") {
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
	m := New(Options{Stories: all})
	m.Update(tea.WindowSizeMsg{Width: 60, Height: 12})
	for _, key := range strings.Fields(strings.Repeat("down ", 99) + strings.Repeat("pgup ", 5) + "end home pgdown pgdown up up") {
		press(m, key)
		if s := m.screen(); !strings.Contains(s, "\n> ") {
			t.Fatalf("after %s at %d the cursor is out of sight:\n%s", key, m.at, s)
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
	choice, err := Run(ctx, slave, slave, Options{
		Stories: stories(), Glob: func(decision.Decision) string { return "" }, Paint: text.Paint{},
		Explain: func(string, int) (string, error) { panic("of the test") },
	})
	if err == nil || choice.Confirmed {
		t.Errorf("it ended with %v, %+v", err, choice)
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
