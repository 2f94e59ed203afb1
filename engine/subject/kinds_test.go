package subject_test

import (
	"fmt"
	"testing"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/test/kit/schema"
)

// A kind that the join knows no facts of would be in no document, so that nothing of it is ever judged.
func TestEveryKindIsJoined(t *testing.T) {
	t.Parallel()
	s := look(func(s *snapshot.Snapshot) {
		s.Tabs["tab:x"], s.Sessions["session:x"], s.Terminals["terminal:x"] = snapshot.Tab{}, snapshot.Session{}, snapshot.Terminal{}
		s.Dirs["dir:x"], s.Processes["process:x"] = snapshot.Dir{}, &snapshot.Process{}
	})
	for _, kind := range snapshot.Kinds {
		same(t, kind.Name, kind.Name, of(t, s, kind.Name+":x").Kind)
	}
}

// Ancestors end at the first process that is another user's, or whose user is not known, and there are at most 16 of them.
func TestAncestors(t *testing.T) {
	t.Parallel()
	above := func(id string, change func(*snapshot.Snapshot)) *[]subject.Ancestor {
		s := look(func(s *snapshot.Snapshot) {
			s.Host.UID = new(7)
			for pid := 1; pid <= 40; pid++ {
				uid := 7
				if pid == 1 {
					uid = 0
				}
				p := snapshot.Process{PID: pid, StartTicks: uint64(pid), PPID: new(pid - 1), UID: &uid, Name: fmt.Sprint("p", pid)}
				s.Processes[fmt.Sprintf("process:%d@%d", pid, pid)] = &p
			}
			change(s)
		})
		return of(t, s, id).Lineage.Ancestors
	}
	same(t, "two", &[]subject.Ancestor{{PID: 3, Name: "p3", Exe: "/bin/x"}, {PID: 2, Name: "p2"}}, above("process:4@4", func(s *snapshot.Snapshot) {
		s.Processes["process:3@3"].Exe = new("/bin/x")
	}))
	same(t, "none of this user", &[]subject.Ancestor{}, above("process:2@2", func(*snapshot.Snapshot) {}))
	same(t, "whose is not known", &[]subject.Ancestor{}, above("process:4@4", func(s *snapshot.Snapshot) {
		s.Processes["process:3@3"].UID = nil
	}))
	same(t, "the parent is not known", (*[]subject.Ancestor)(nil), above("process:4@4", func(s *snapshot.Snapshot) { delete(s.Processes, "process:3@3") }))
	same(t, "this user is not known", (*[]subject.Ancestor)(nil), above("process:4@4", func(s *snapshot.Snapshot) { s.Host.UID = nil }))
	if all := above("process:40@40", func(*snapshot.Snapshot) {}); len(*all) != 16 {
		t.Errorf("%d ancestors", len(*all))
	}
}

// TestSchemaIsCurrent keeps the schema that the engine and stock OPA check policies with equal to the Go type.
func TestSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	schema.Current(t, subject.Subject{}, subject.Schema, []string{"../../policies/schemas/subject.json"}, []string{"../snapshot"})
}
