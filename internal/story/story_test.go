package story

import (
	"fmt"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/report"
)

func reason(rule string) []decision.Reason {
	return []decision.Reason{{Rule: rule, Message: rule}}
}

// TestWhatBelongsTogether joins a worktree, a session whose pane stands in it, what runs there, and what the same agent session left elsewhere.
func TestWhatBelongsTogether(t *testing.T) {
	t.Parallel()
	in, out := "/w/a/src", "/tmp"
	s := &snapshot.Snapshot{
		Dirs: map[string]snapshot.Dir{"dir:/w/a": {Path: "/w/a"}, "dir:/w/a-2": {Path: "/w/a-2"}, "dir:/w/a/deep": {Path: "/w/a/deep"}},
		Sessions: map[string]snapshot.Session{
			"session:tmux/default/$1": {Name: "one", Panes: []snapshot.Pane{{Cwd: "/w/a", SessionPIDs: []int{7}, Descendants: []snapshot.PaneProc{{PID: 8}}}}},
			"session:tmux/default/$2": {Name: "two", Panes: []snapshot.Pane{{Cwd: "/elsewhere"}}},
		},
		Terminals: map[string]snapshot.Terminal{"terminal:codev/x": {Cwd: "/w/a-2/src"}},
		Processes: map[string]*snapshot.Process{
			"process:5@1": {PID: 5, Cwd: &in}, "process:6@1": {PID: 6, Cwd: &out}, "process:7@1": {PID: 7, Cwd: &out}, "process:8@1": {PID: 8, Cwd: &out},
			"process:9@1": {PID: 9, Cwd: &out}, "process:10@1": {PID: 10, Cwd: &out},
		},
	}
	owners := map[string]string{"process:5@1": "session-a", "process:6@1": "session-a", "process:9@1": "1", "process:10@1": "1"}
	r := &report.Report{}
	for _, kind := range snapshot.Kinds {
		for id := range kind.IDs(s) {
			r.Decisions = append(r.Decisions, decision.Decision{ID: id, Kind: kind.Name, Verdict: decision.Reap, Findings: reason("reap.x"), Owner: owners[id], Label: id})
		}
	}
	var got []string
	for _, x := range Build(s, r, "") {
		line := ""
		for _, it := range x.Items {
			line += it.Decision.ID + " "
		}
		got = append(got, strings.TrimSpace(line))
	}
	want := []string{
		"dir:/w/a session:tmux/default/$1 process:5@1 process:6@1 process:7@1 process:8@1",
		"dir:/w/a-2 terminal:codev/x",
		"dir:/w/a/deep",
		"process:10@1",
		"process:9@1",
		"session:tmux/default/$2",
	}
	for _, line := range want {
		if !strings.Contains("\n"+strings.Join(got, "\n")+"\n", "\n"+line+"\n") {
			t.Errorf("there is no story %q among\n%s", line, strings.Join(got, "\n"))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d stories, want %d", len(got), len(want))
	}
}

// TestWhatMayBeTaken holds which decisions a review shows, and what a person may take.
func TestWhatMayBeTaken(t *testing.T) {
	t.Parallel()
	thrift := decision.Reason{Rule: "protect.unsaved", Message: "it was not looked into, because it changed within the last 15m"}
	for i, c := range []struct {
		d     decision.Decision
		state string
		take  bool
	}{
		{decision.Decision{Verdict: decision.Reap, Findings: reason("reap.x")}, Goes, true},
		{decision.Decision{Findings: reason("reap.x"), Level: decision.Ask}, Ask, true},
		{decision.Decision{Findings: reason("reap.x"), Level: decision.Observe}, "", false},
		{decision.Decision{Findings: reason("reap.x"), Objections: reason(decision.RuleDebounce)}, Waits, false},
		{decision.Decision{Findings: reason("reap.x"), Objections: reason("protect.young")}, Near, false},
		{decision.Decision{Findings: reason("reap.x"), Objections: append(reason("protect.young"), thrift)}, Near, false},
		{decision.Decision{Findings: reason("reap.x"), Objections: append(reason("protect.young"), reason("protect.live")...)}, "", false},
		{decision.Decision{Findings: reason("reap.x"), Objections: reason("protect.live")}, "", false},
		{decision.Decision{Objections: reason("protect.young")}, "", false},
		{decision.Decision{}, "", false},
		{decision.Decision{Findings: reason("reap.x"), Objections: reason("protect.live"), After: []string{"dir:/w/0"}}, After, true},
		{decision.Decision{Findings: reason("reap.x"), Objections: reason("protect.live"), After: []string{"dir:/w/0", "dir:/w/3"}}, After, false},
	} {
		goes := decision.Decision{ID: "dir:/w/0", Kind: snapshot.KindDir, Verdict: decision.Reap, Findings: reason("reap.x")}
		c.d.ID, c.d.Kind = fmt.Sprintf("dir:/v/%d", i), snapshot.KindDir
		if n := len(c.d.Objections); n > 0 && c.d.Objections[0].Rule == "protect.young" { // as the METADATA of that rule has it
			c.d.Main = &decision.Main{Rule: c.d.Objections[0].Rule, Passes: true}
		}
		if c.d.Verdict == "" {
			c.d.Verdict = decision.Spare
		}
		state, take := "", false
		for _, x := range Build(&snapshot.Snapshot{}, &report.Report{Decisions: []decision.Decision{goes, c.d}}, "") {
			for _, it := range x.Items {
				if it.Decision.ID == c.d.ID {
					state, take = it.State, it.Takeable
				}
			}
		}
		if state != c.state || take != c.take {
			t.Errorf("%+v is %q, takeable %v; want %q, %v", c.d, state, take, c.state, c.take)
		}
	}
}
