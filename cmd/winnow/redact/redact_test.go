package redact

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"winnow/engine/snapshot"
	"winnow/engine/subject"
	"winnow/testkit/must"
)

// TestSentencesAndMemoriesNameNothing has texts of sources and what looks remember of sessions name a project, which no copy may do; what is
// remembered must still be about the same session.
func TestSentencesAndMemoriesNameNothing(t *testing.T) {
	const id = "session:tmux/project-x/$4"
	s := &snapshot.Snapshot{
		Sources:       map[string]snapshot.Source{"dirs//w/project-x": {Refused: []string{"/w/project-x/a is another user's"}, Fetch: []string{"fetch project-x: no answer"}}},
		Sessions:      map[string]snapshot.Session{id: {Source: "tmux/project-x", Name: "project-x"}},
		AgentSessions: []snapshot.AgentSession{{ID: id, Agent: "claude"}},
		Dirs: map[string]snapshot.Dir{"dir:/w/project-x": {Path: "/w/project-x", Git: &snapshot.Git{LandingError: "project-x", Lock: &snapshot.Lock{Text: new("project-x"), Owner: "project-x"},
			Landing: &snapshot.Landing{Into: "refs/remotes/origin/project-x"}, DifferingPaths: &[]string{"project-x"}, OnlyHerePaths: &[]string{"project-x"}}}},
	}
	out := Snapshot(s, subject.Names{})
	text := string(must.Get(json.Marshal(out))(t))
	if i := strings.Index(text, "project-x"); i >= 0 {
		t.Errorf("the copy names it: ...%s...", text[max(0, i-80):min(len(text), i+40)])
	}
	for name := range out.Sessions {
		if !slices.ContainsFunc(out.AgentSessions, func(a snapshot.AgentSession) bool { return a.ID == name && a.Agent == "claude" }) {
			t.Errorf("session %s is not the one that is remembered: %+v", name, out.AgentSessions)
		}
	}
	must.Equal(t, "/w/project-x/a is another user's", s.Sources["dirs//w/project-x"].Refused[0], "the original")
}
