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
