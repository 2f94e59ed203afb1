package subject_test

import (
	"testing"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// TestOwnerAlive holds what the floor itself reads of records: an owner is alive where one says so, and an absent fact is no such record.
func TestOwnerAlive(t *testing.T) {
	t.Parallel()
	ended := subject.Entry{ID: "7", Source: "registry/w", Status: "completed", By: "session"}
	running := subject.Entry{ID: "8", Source: "registry/w", Status: "running", By: "session"}
	by := func(e subject.Entry, by string) subject.Entry { e.By = by; return e }
	agent := &subject.Lineage{IsAgent: new(true)}
	for _, c := range []struct {
		name string
		sub  subject.Subject
		want string
	}{
		{"no record", subject.Subject{Kind: "dir"}, ""},
		{"its owner has ended", subject.Subject{Kind: "session", Entries: []subject.Entry{ended}}, ""},
		{"its owner runs", subject.Subject{Kind: "session", Entries: []subject.Entry{ended, running}}, "8 in registry/w has not ended"},
		{"its status is missing", subject.Subject{Kind: "dir", Entries: []subject.Entry{{ID: "9", Source: "registry/w", By: "path"}}}, "9 in registry/w has not ended"},
		{"the format says that it has ended", subject.Subject{Kind: "dir", Entries: []subject.Entry{{Status: "odd", Terminal: new(true), By: "path"}}}, ""},
		{"the format says that it has not", subject.Subject{Kind: "dir", Entries: []subject.Entry{{ID: "9", Source: "registry/s", Status: "completed", Terminal: new(false), By: "path"}}}, "9 in registry/s has not ended"},
		{"who started a spawn", subject.Subject{Kind: "dir", Entries: []subject.Entry{by(running, "spawn")}}, ""},
		{"the owner of the folder that a process stands in", subject.Subject{Kind: "process", Entries: []subject.Entry{by(running, "path")}}, ""},
		{"an open spawn", subject.Subject{Kind: "dir", Spawns: []subject.Spawn{{ID: "s", Source: "spawns/s"}}}, "spawn s in spawns/s is open"},
		{"a completed spawn", subject.Subject{Kind: "dir", Spawns: []subject.Spawn{{ID: "s", Completed: new(9.0)}}}, ""},
		{"an open spawn of an owner that has ended", subject.Subject{Kind: "dir", Spawns: []subject.Spawn{{ID: "s", Owner: "7"}}, Entries: []subject.Entry{by(ended, "spawn")}}, ""},
		{"the agent that started it lives", subject.Subject{Kind: "process", Lineage: &subject.Lineage{StarterGone: new(false)}}, "a marker names a living agent's process"},
		{"the agent that started it is gone", subject.Subject{Kind: "process", Lineage: &subject.Lineage{StarterGone: new(true), AgentAncestor: new(false)}}, ""},
		{"an agent is above it", subject.Subject{Kind: "process", Lineage: &subject.Lineage{AgentAncestor: new(true)}}, "an agent is above it"},
		{"an agent in a session", subject.Subject{Kind: "session", Members: []subject.Member{{PID: 5, Name: "vi", Lineage: &subject.Lineage{}}, {PID: 6, Name: "claude", Lineage: agent}}}, "claude (6) is an agent in it"},
		{"an agent below a terminal's process", subject.Subject{Kind: snapshot.KindTerminal, Lineage: &subject.Lineage{AgentBelow: new(true)}}, ""},
	} {
		c.sub.Config = &subject.Config{TerminalStatuses: []string{"completed"}}
		if got := c.sub.OwnerAlive(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
