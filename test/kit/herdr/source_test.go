package herdr

import (
	"fmt"
	"slices"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// What is here is as herdr's source has it (src/app/api/tabs.rs, panes.rs, src/platform/linux.rs), and was found to differ once.

func TestMessages(t *testing.T) {
	t.Parallel()
	s, main, _ := repository(t, Options{})
	s.Expect("tab.close", "w9:t9")
	s.Expect("tab.close", main)
	for _, c := range []struct{ method, params, want string }{
		{"tab.close", `{"tab_id":"w9:t9"}`, "tab w9:t9 not found"},
		{"pane.read", `{"pane_id":"w9:p9","source":"recent_unwrapped"}`, "pane w9:p9 not found"},
		{"pane.process_info", `{"pane_id":"w9:p9"}`, "pane not found"},
		{"pane.current", `{"caller_pane_id":"w9:p9"}`, "pane not found"},
		{"tab.list", `{"workspace_id":"w9"}`, "workspace w9 not found"},
		{"tab.close", params("tab_id", main), "closing this tab would close a worktree group"},
	} {
		if a := call(t, s, c.method, c.params); a.Error.Message != c.want {
			t.Errorf("%s %s: %q, want %q", c.method, c.params, a.Error.Message, c.want)
		}
	}
}

func TestEmptyArgumentsAreLeftOut(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	id := s.Panes(s.Tab(s.Workspace("one"), "", Pane{Argv: []string{"sh", "-c", "read -r x; :", "", "a", "", "\xff"}}))[0].ID
	var argv []string
	wait.Eventually(t, "the command is in front", func() bool {
		a := call(t, s, "pane.process_info", params("pane_id", id))
		list, _ := a.Result["process_info"].(map[string]any)["foreground_processes"].([]any)
		if len(list) != 1 {
			return false
		}
		argv = nil
		for _, word := range list[0].(map[string]any)["argv"].([]any) {
			argv = append(argv, fmt.Sprint(word))
		}
		return list[0].(map[string]any)["name"] == "sh"
	})
	if want := []string{"sh", "-c", "read -r x; :", "a", "\ufffd"}; !slices.Equal(argv, want) {
		t.Errorf("%q, want %q", argv, want)
	}
}

func TestAnEmptyLabelStaysEmpty(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	tab := s.Tab(s.Workspace("one"), "mine")
	s.Rename(tab, "")
	s.Expect("tab.create", "w1")
	s.Expect("tab.create", "w1")
	empty := call(t, s, "tab.create", `{"workspace_id":"w1","label":""}`).Result["tab"].(map[string]any)
	none := call(t, s, "tab.create", `{"workspace_id":"w1"}`).Result["tab"].(map[string]any)
	if tabOf(t, s, tab)["label"] != "" || empty["label"] != "" || tabOf(t, s, "w1:t2")["label"] != "" || none["label"] != "3" {
		t.Errorf("%v, %v, %v, %v", tabOf(t, s, tab), empty["label"], tabOf(t, s, "w1:t2"), none["label"])
	}
}
