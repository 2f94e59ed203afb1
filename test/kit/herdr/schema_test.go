package herdr

import (
	"encoding/json"
	"strings"
	"testing"
)

// busy makes a world in which every field that can be there is.
func busy(t *testing.T, o Options) *Server {
	t.Helper()
	s := Start(t, o)
	tree := Worktree{RepoKey: "k", RepoName: "r", RepoRoot: "/r", CheckoutPath: "/r"}
	s.Tab(s.Workspace("main", tree), "review", Pane{}, Pane{Argv: []string{"sleep", "1000"}, AgentStatus: "working"})
	s.Tab(s.Workspace("other"), "", Pane{Fake: &Info{ShellPID: 7}, AgentStatus: "done", Agent: "codex"})
	return s
}

var requests = [][2]string{
	{"ping", "{}"}, {"workspace.list", "{}"}, {"tab.list", "{}"}, {"pane.list", "{}"}, {"pane.current", "{}"},
	{"pane.process_info", `{"pane_id":"w1:p1"}`}, {"pane.process_info", `{"pane_id":"w1:p2"}`}, {"pane.process_info", `{"pane_id":"w2:p1"}`},
	{"pane.read", `{"pane_id":"w1:p1","source":"recent_unwrapped","format":"text"}`}, {"tab.list", `{"workspace_id":"w9"}`}, {"tab.list", `{"workspace_id":9}`},
	{"session.snapshot", "{}"},
}

// TestEveryReplyIsAsTheSchemaSays leaves the looking to Start.
func TestEveryReplyIsAsTheSchemaSays(t *testing.T) {
	t.Parallel()
	for profile, protocol := range protocols {
		for _, o := range []Options{{}, {Nulls: true}, {Labels: true}} {
			o.Profile = profile
			s := busy(t, o)
			text := ""
			for _, r := range requests {
				text += ask(t, s, line(r[0], r[1]))
			}
			if got := must(t, s, "ping", "{}"); got["version"] != string(profile) || got["protocol"] != float64(protocol) {
				t.Errorf("%s: %v", profile, got)
			}
			for what, want := range map[string]bool{
				"null": o.Nulls, `"label":"review"`: true, `"name":"review"`: o.Labels && profile != V071, "x_future": profile == Future,
				`"pondering"`: profile == Future, `"working"`: profile != Future, `"terminal_title"`: o.Nulls && profile != V071,
				`"is_linked_worktree":false`: true, `"agent":"codex"`: true, `"agent":"claude"`: true,
			} {
				if strings.Contains(text, what) != want {
					t.Errorf("%s, %+v: %s: want %v", profile, o, what, want)
				}
			}
		}
	}
}

func TestPaneLabelsWereOfThePast(t *testing.T) {
	t.Parallel()
	for _, labels := range []bool{false, true} {
		s := busy(t, Options{Profile: V074, Labels: labels})
		pane := must(t, s, "pane.list", "{}")["panes"].([]any)[1].(map[string]any)
		if _, got := pane["label"]; got != labels {
			t.Errorf("labels %v: %v", labels, pane)
		}
	}
}

func TestWhoCountsAsAnAgent(t *testing.T) {
	t.Parallel()
	for profile, want := range map[Profile]int{V074: 1, V075: 0} {
		s := Start(t, Options{Profile: profile})
		s.Tab(s.Workspace("work"), "", Pane{}, Pane{Argv: []string{"sleep", "1000"}})
		if got := must(t, s, "session.snapshot", "{}")["snapshot"].(map[string]any)["agents"].([]any); len(got) != want {
			t.Errorf("%s: %v", profile, got)
		}
	}
}

func TestABadReplyFailsTheTest(t *testing.T) {
	t.Parallel()
	w := &witness{TB: t}
	s := Start(w, Options{})
	s.Tab(s.Workspace("work"), "", Pane{Fake: &Info{}, AgentStatus: "daydreaming"})
	must(t, s, "pane.list", "{}")
	w.cleanup()
	if got := strings.Join(w.failed, "\n"); !strings.Contains(got, "pane.list") || !strings.Contains(got, "daydreaming") {
		t.Errorf("%q", got)
	}
}

func TestWithoutTheSchemaNothingIsHeldAgainstIt(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{NoSchema: true})
	s.Tab(s.Workspace("work"), "", Pane{Fake: &Info{}, AgentStatus: "daydreaming"})
	must(t, s, "pane.list", "{}")
	if got := s.Invalid(); len(got) > 0 {
		t.Error(got)
	}
}

func TestTheSchemaSeesWhatIsWrong(t *testing.T) {
	t.Parallel()
	wire, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	tab := `{"tab_id":"w1:t1","workspace_id":"w1","number":1,"label":"1","focused":true,"pane_count":1,"agent_status":"idle"}`
	right := `{"id":"q","result":{"type":"tab_info","tab":` + tab + `}}`
	if got := wire.wrong([]byte(right)); got != "" {
		t.Fatal(got)
	}
	for old, now := range map[string]string{
		`"type":"tab_info"`: `"type":"tab_inf"`, `"number":1`: `"number":-1`, `"focused":true`: `"focused":null`, `"label":"1",`: ``,
		`"idle"`: `"lazy"`, `"id":"q"`: `"id":null`, `"pane_count":1`: `"pane_count":1.5`, `"tab":`: `"tabs":`, `"result"`: `"outcome"`,
		`"w1",`: `["w1"],`, `"tab_info","tab"`: `"tab_list","tabs"`,
	} {
		bad := strings.Replace(right, old, now, 1)
		if bad == right || wire.wrong([]byte(bad)) == "" {
			t.Errorf("%s instead of %s passes", now, old)
		}
	}
	for name, text := range map[string]string{
		"an error without a code": `{"id":"q","error":{"message":"m"}}`,
		"an event without data":   `{"event":"tab_closed"}`,
		"an unknown event":        `{"event":"tab_burnt","data":{"type":"tab_burnt"}}`,
		"an event with a dot":     `{"event":"tab.closed","data":{"type":"tab_closed","tab_id":"a","workspace_id":"b"}}`,
		"no JSON":                 `{`,
	} {
		if wire.wrong([]byte(text)) == "" {
			t.Errorf("%s passes", name)
		}
	}
}

// BenchmarkSnapshot is a reply about 500 tabs, with and without holding it against the schema.
func BenchmarkSnapshot(b *testing.B) {
	for name, o := range map[string]Options{"checked": {}, "unchecked": {NoSchema: true}} {
		b.Run(name, func(b *testing.B) {
			s := Start(b, o)
			w := s.Workspace("work")
			for range 500 {
				s.Tab(w, "", still)
			}
			for b.Loop() {
				if text := ask(b, s, line("session.snapshot", "{}")); !json.Valid([]byte(text)) {
					b.Fatal("no snapshot")
				}
			}
		})
	}
}
