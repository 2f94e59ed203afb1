package herdr

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func TestBase32(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{1: "1", 9: "9", 10: "A", 31: "Z", 32: "0", 33: "11", 64: "10", 65: "21", 1056: "00", 1057: "111"} {
		if got := base32(n); got != want {
			t.Errorf("%d: want %q, got %q", n, want, got)
		}
	}
}

func TestIDsAreNeverReused(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	work := s.Workspace("work")
	keep := s.Tab(work, "", still, still)
	seen := map[string]bool{keep: true}
	for range 70 {
		tab := s.Tab(work, "", still)
		p := s.Panes(tab)[0]
		for _, id := range []string{tab, p.ID, p.Terminal} {
			if seen[id] {
				t.Fatalf("%s came back", id)
			}
			seen[id] = true
		}
		s.CloseTab(tab)
	}
	// Tabs and panes are counted apart, and both in their workspace.
	if tab := s.Tab(work, "", still); tab != "w1:t28" || s.Panes(tab)[0].ID != "w1:p29" {
		t.Errorf("%s, %v", tab, s.Panes(tab))
	}
	if other := s.Workspace("other"); other != "w2" || s.Tab(other, "", still) != "w2:t1" {
		t.Errorf("%s, %v", other, s.Tabs())
	}
	closes(t, s, "w2:t1")
	if third := s.Workspace("third"); third != "w3" {
		t.Errorf("%s came after w2 was closed", third)
	}
}

func TestLabelsAndNumbers(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	work := s.Workspace("work")
	first, second, third := s.Tab(work, "", still), s.Tab(work, "", still), s.Tab(work, "", still)
	s.Rename(second, "mine")
	look := func() string {
		tabs := must(t, s, "tab.list", "{}")["tabs"]
		return fmt.Sprint(column(tabs, "tab_id"), column(tabs, "label"), column(tabs, "number"))
	}
	if got := look(); got != "[w1:t1 w1:t2 w1:t3] [1 mine 3] [1 2 3]" {
		t.Error(got)
	}
	s.CloseTab(first)
	if got := look(); got != "[w1:t2 w1:t3] [mine 2] [2 3]" {
		t.Error(got)
	}
	_ = third
	other := s.Workspace("other")
	s.Tab(other, "", still)
	s.CloseTab(second)
	s.CloseTab(third)
	spaces := must(t, s, "workspace.list", "{}")["workspaces"]
	if got := fmt.Sprint(column(spaces, "workspace_id"), column(spaces, "number")); got != "[w2] [1]" {
		t.Error(got)
	}
}

func TestListsOfOneWorkspace(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	one, two := s.Workspace("one"), s.Workspace("two")
	s.Tab(one, "", still)
	s.Tab(two, "", still, still)
	s.Workspace("without a tab")
	of := params("workspace_id", two)
	if got := column(must(t, s, "tab.list", of)["tabs"], "tab_id"); fmt.Sprint(got) != "[w2:t1]" {
		t.Error(got)
	}
	if got := column(must(t, s, "pane.list", of)["panes"], "pane_id"); fmt.Sprint(got) != "[w2:p1 w2:p2]" {
		t.Error(got)
	}
	if got := column(must(t, s, "workspace.list", "{}")["workspaces"], "pane_count"); fmt.Sprint(got) != "[1 2]" {
		t.Error(got)
	}
	refused(t, s, "workspace_not_found", "tab.list", params("workspace_id", "w9"))
	refused(t, s, "workspace_not_found", "pane.list", params("workspace_id", "w9"))
}

func TestAttention(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	tab := s.Tab(s.Workspace("work"), "", still, still)
	panes := s.Panes(tab)
	for _, c := range []struct{ a, b, want string }{
		{"unknown", "unknown", "unknown"}, {"unknown", "idle", "idle"}, {"working", "idle", "working"},
		{"working", "done", "done"}, {"blocked", "done", "blocked"},
	} {
		s.SetStatus(panes[0].ID, c.a)
		s.SetStatus(panes[1].ID, c.b)
		got := tabOf(t, s, tab)["agent_status"]
		if got != c.want {
			t.Errorf("%s and %s: want %s, got %s", c.a, c.b, c.want, got)
		}
	}
}

func TestFocus(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	one, two := s.Workspace("one"), s.Workspace("two")
	first := s.Tab(one, "", still)
	second := s.Tab(two, "", Pane{Fake: &Info{}, AgentStatus: "done"})
	focused := func() (out []string) {
		snap := must(t, s, "session.snapshot", "{}")["snapshot"].(map[string]any)
		for _, tab := range snap["tabs"].([]any) {
			if o := tab.(map[string]any); o["focused"] == true {
				out = append(out, o["tab_id"].(string))
			}
		}
		if len(out) == 1 && out[0] != snap["focused_tab_id"] {
			t.Errorf("%v and %v", out, snap["focused_tab_id"])
		}
		return out
	}
	if got := focused(); !slices.Equal(got, []string{first}) {
		t.Errorf("at first: %v", got)
	}
	s.Focus(second)
	if got := focused(); !slices.Equal(got, []string{second}) {
		t.Errorf("moved: %v", got)
	}
	current := must(t, s, "pane.current", "{}")["pane"].(map[string]any)
	if current["tab_id"] != second || current["agent_status"] != "idle" {
		t.Errorf("what was done is not seen: %v", current)
	}
	closes(t, s, second)
	if got := focused(); !slices.Equal(got, []string{first}) {
		t.Errorf("after the focused one went: %v", got)
	}
}

func TestMoveAcrossWorkspaces(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	from := s.Tab(s.Workspace("one"), "", still)
	to := s.Tab(s.Workspace("two"), "", still)
	before := s.Panes(from)[0]
	now := s.MovePane(before.ID, to)
	if now != "w2:p2" || s.HasTab(from) || s.Panes(to)[1].Terminal != before.Terminal {
		t.Errorf("%s, %v, %v", now, s.Tabs(), s.Panes(to))
	}
	own := must(t, s, "pane.current", params("caller_pane_id", before.ID))["pane"].(map[string]any)
	if own["pane_id"] != now || own["tab_id"] != to {
		t.Errorf("by its old id: %v", own)
	}
	closes(t, s, to)
	refused(t, s, "pane_not_found", "pane.current", params("caller_pane_id", before.ID))
}

func TestHiddenPane(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	tab := s.Tab(s.Workspace("work"), "", still, still)
	hidden := s.Panes(tab)[1].ID
	s.Hide(hidden)
	text := ask(t, s, line("session.snapshot", "{}")) + ask(t, s, line("pane.list", "{}"))
	if strings.Contains(text, hidden) {
		t.Errorf("%s is listed: %s", hidden, text)
	}
	if got := tabOf(t, s, tab)["pane_count"]; got != 2.0 {
		t.Errorf("its tab counts %v", got)
	}
}

func TestTabCreate(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	s.Expect("tab.create", "")
	refused(t, s, "workspace_not_found", "tab.create", "{}")
	s.Tab(s.Workspace("work"), "", still)
	s.Expect("tab.create", "w1")
	dir := t.TempDir()
	got := must(t, s, "tab.create", fmt.Sprintf(`{"workspace_id":"w1","label":"made","cwd":%q,"focus":true,"env":{"MADE":"yes"}}`, dir))
	tab, root := got["tab"].(map[string]any), got["root_pane"].(map[string]any)
	if tab["label"] != "made" || tab["focused"] != true || root["cwd"] != dir {
		t.Errorf("%v", got)
	}
	id := root["pane_id"].(string)
	s.Type(id, "echo $MADE-$HERDR_ENV-$HERDR_WORKSPACE_ID-$HERDR_TAB_ID-$HERDR_PANE_ID\n")
	wait.Eventually(t, "printed", func() bool { return strings.Contains(s.Output(id), "yes-1-w1-w1:t2-w1:p2\n") })
	s.Type(id, "printf '\\033[31m%0200d\\033[0m' 7; seq 40; echo en''d\n")
	wait.Eventually(t, "printed", func() bool { return strings.Contains(s.Output(id), "end\n") })
	read := func(more string) string {
		params := fmt.Sprintf(`{"pane_id":%q,"source":"recent_unwrapped","format":"text"%s}`, id, more)
		return must(t, s, "pane.read", params)["read"].(map[string]any)["text"].(string)
	}
	if text := read(""); !strings.Contains(text, "yes-1-w1") || !strings.Contains(text, strings.Repeat("0", 199)+"7") || strings.Contains(text, "\x1b") {
		t.Errorf("%q", text)
	}
	if text := read(`,"lines":3`); strings.Count(text, "\n") != 2 {
		t.Errorf("the last three lines: %q", text)
	}
}
