package herdr

import (
	"fmt"
	"slices"
	"testing"
)

// What is here is as herdr's source has it (src/app/api/tabs.rs, panes.rs, src/platform/linux.rs), and was found to differ once.

func TestMessages(t *testing.T) {
	t.Parallel()
	s, main, _ := repository(t, Options{})
	for _, c := range []struct{ method, params, want string }{
		{"tab.get", `{"tab_id":"w9:t9"}`, "tab w9:t9 not found"},
		{"pane.get", `{"pane_id":"w9:p9"}`, "pane w9:p9 not found"},
		{"pane.read", `{"pane_id":"w9:p9","source":"recent"}`, "pane w9:p9 not found"},
		{"pane.close", `{"pane_id":"w9:p9"}`, "pane w9:p9 not found"},
		{"pane.process_info", `{"pane_id":"w9:p9"}`, "pane not found"},
		{"pane.current", `{"caller_pane_id":"w9:p9"}`, "pane not found"},
		{"tab.list", `{"workspace_id":"w9"}`, "workspace w9 not found"},
		{"tab.close", params("tab_id", main), "closing this tab would close a worktree group"},
		{"pane.close", params("pane_id", "w1:p1"), "closing this pane would close a worktree group"},
	} {
		if target := map[string]string{"tab.close": main, "pane.close": "w1:p1"}[c.method]; target != "" {
			s.Expect(c.method, target)
			s.Expect(c.method, "w9:p9")
		}
		if a := call(t, s, c.method, c.params); a.Error.Message != c.want {
			t.Errorf("%s %s: %q, want %q", c.method, c.params, a.Error.Message, c.want)
		}
	}
}

func TestAFieldThatStandsTwice(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	tab := s.Tab(s.Workspace("one"), "", still)
	s.Tab("w1", "", still)
	for line, want := range map[string]string{
		`{"id":"1","method":"tab.close","params":{"tab_id":"w1:t2","tab_id":"w1:t1"}}`: "invalid request: duplicate field `tab_id`",
		`{"id":"1","method":"ping","method":"tab.close","params":{"tab_id":"w1:t1"}}`:  "invalid request: duplicate field `method`",
		`{"id":"1","id":"2","method":"ping","params":{}}`:                              "invalid request: duplicate field `id`",
		`{"id":"1","method":"ping","params":{},"params":{}}`:                           "invalid request: duplicate field `params`",
	} {
		if _, refused := s.parse([]byte(line)); refused == nil || refused.code != "invalid_request" || refused.message != want {
			t.Errorf("%s: %v", line, refused)
		}
	}
	for _, line := range []string{
		`{"id":"1","method":"ping","params":{}}`, `{"params":{"tab_id":"w1:t1"},"method":"tab.get","id":"tab_id"}`,
		`{"id":"1","method":"tab.create","params":{"env":{"A":"1","A":"2"}}}`,
	} {
		if _, refused := s.parse([]byte(line)); refused != nil {
			t.Errorf("%s: %v", line, refused)
		}
	}
	if !s.HasTab(tab) {
		t.Error("a request that was refused closed a tab")
	}
}

func TestEmptyArgumentsAreLeftOut(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	id := s.Panes(s.Tab(s.Workspace("one"), "", Pane{Argv: []string{"sh", "-c", "read -r x; :", "", "a", "", "\xff"}}))[0].ID
	var argv []string
	eventually(t, "the command is in front", func() bool {
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
	label := func(id string) any {
		return call(t, s, "tab.get", params("tab_id", id)).Result["tab"].(map[string]any)["label"]
	}
	s.Rename(tab, "")
	s.Expect("tab.create", "w1")
	s.Expect("tab.create", "w1")
	empty := call(t, s, "tab.create", `{"workspace_id":"w1","label":""}`).Result["tab"].(map[string]any)
	none := call(t, s, "tab.create", `{"workspace_id":"w1"}`).Result["tab"].(map[string]any)
	if label(tab) != "" || empty["label"] != "" || label("w1:t2") != "" || none["label"] != "3" {
		t.Errorf("%q, %q, %q, %q", label(tab), empty["label"], label("w1:t2"), none["label"])
	}
}
