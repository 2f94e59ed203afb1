package subject_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// TestGroups has what belongs to one project, by its repository, by its records and by its folder.
func TestGroups(t *testing.T) {
	t.Parallel()
	s := &snapshot.Snapshot{
		Host: snapshot.Host{Home: "/home/u"},
		Dirs: map[string]snapshot.Dir{"dir:/w/feature": {Path: "/w/feature", Root: "/w", Git: &snapshot.Git{Main: "/src/acme"}}},
		Sessions: map[string]snapshot.Session{
			"session:tmux/default/$1": {Source: "tmux/default", Name: "worker-1", Panes: []snapshot.Pane{{Cwd: "/w/feature/src"}, {Cwd: "/home/u"}}},
			"session:tmux/default/$2": {Source: "tmux/default", Name: "worker-2", Panes: []snapshot.Pane{{Cwd: "/home/u/project"}, {}}},
		},
		Processes: map[string]*snapshot.Process{"process:7@70": {PID: 7, StartTicks: 70, Cwd: new("/src/acme (deleted)"), CwdDeleted: new(true)}},
		Registry:  []snapshot.Record{{Source: "registry/workers", Session: "worker-2", Path: "/w/feature"}},
		Spawns:    []snapshot.Record{{Source: "spawns/reviews", Path: "/w/feature"}},
	}
	j := subject.Join(s, &subject.Config{})
	for id, want := range map[string][]string{
		"dir:/w/feature":          {"/src/acme", "registry/workers", "spawns/reviews"},
		"session:tmux/default/$1": {"/src/acme", "registry/workers", "spawns/reviews", "tmux/default"},
		"session:tmux/default/$2": {"/home/u/project", "/src/acme", "registry/workers", "tmux/default"},
		"process:7@70":            {"/src/acme"},
	} {
		sub, ok := j.Subject(id)
		if !ok {
			t.Fatalf("%s: no such candidate", id)
		}
		if diff := cmp.Diff(want, j.Groups(sub)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}

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
