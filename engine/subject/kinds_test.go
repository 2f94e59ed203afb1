package subject_test

import (
	"testing"

	"winnow/engine/snapshot"
)

// A kind that the join knows no facts of would be in no document, so that nothing of it is ever judged.
func TestEveryKindIsJoined(t *testing.T) {
	t.Parallel()
	s := look(func(s *snapshot.Snapshot) {
		s.Tabs["tab:x"], s.Sessions["session:x"], s.Terminals["terminal:x"] = snapshot.Tab{}, snapshot.Session{}, snapshot.Terminal{}
		s.Dirs["dir:x"], s.Processes["process:x"] = snapshot.Dir{}, snapshot.Process{}
	})
	for _, kind := range snapshot.Kinds {
		same(t, kind.Name, kind.Name, of(t, s, kind.Name+":x").Kind)
	}
}
