package records_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/records"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/tower"
)

// newCodev gives a young store, all of which is still in its -wal, and the source that reads it.
func newCodev(t *testing.T) (*tower.Server, collectors.Source) {
	t.Helper()
	s := tower.Start(t, tower.Options{})
	path := filepath.Join(s.Home(), "global.db")
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		t.Fatalf("the store's -wal: %v", err)
	}
	src, err := records.Source(records.Registry, "codev", records.Codev, path, records.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s, src
}

func TestCodev(t *testing.T) {
	t.Parallel()
	s, src := newCodev(t)
	if src.Name != "registry/codev" || src.Format != "codev" || src.Kind != "registry" {
		t.Errorf("source %+v", src)
	}
	s.Builder("/w/acme", tower.Builder{ID: "builder-pir-883", Worktree: "/w/acme/.builders/pir-883-demo", Status: "complete"})
	s.Builder("/w/acme", tower.Builder{ID: "Builder-Task-0007", Task: "the prompt", Status: "pr"})
	s.Builder("/w/other", tower.Builder{ID: "builder-pir-883"})
	s.Exec("UPDATE builders SET started_at = '2026-11-20 17:50:41'")
	s.Exec("UPDATE builders SET started_at = '2026-11-20T17:50:41Z' WHERE workspace_path = '/w/other'")
	at := time.Date(2026, 11, 20, 17, 50, 41, 0, time.UTC)
	entry := func(id, status, path string, at *time.Time) snapshot.Entry {
		return snapshot.Entry{Source: "registry/codev", ID: id, Status: status, Terminal: new(false), Path: path, Role: "builder", StartedAt: at, Endless: new(true)}
	}
	waiting := entry("Builder-Task-0007", "pr", "/w/acme/.builders/Builder-Task-0007", &at)
	waiting.PullRequest = &snapshot.PullRequest{By: "Codev", State: snapshot.PullOpen}
	want := collectors.Part{
		Registry: []snapshot.Entry{
			waiting,
			entry("builder-pir-883", "complete", "/w/acme/.builders/pir-883-demo", &at),
			entry("builder-pir-883", "implementing", "/w/other/.builders/pir-883", nil),
		},
		Named:      []string{"/w/acme/.builders/Builder-Task-0007", "/w/acme/.builders/pir-883-demo", "/w/other/.builders/pir-883"},
		Unreadable: 1, // a time that says its zone is not Codev's
	}
	p, err := src.Reader.Read(t.Context())
	if d := cmp.Diff(want, p); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	s.RemoveBuilder("/w/other", "builder-pir-883")
	if p, err = src.Reader.Read(t.Context()); err != nil || len(p.Registry) != 2 {
		t.Errorf("after a row went: %+v, %v", p, err)
	}
}

func TestCodevsRowsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ change, want string }{
		"a relative worktree": {"worktree = 'acme'", "builders: builder-a: worktree is not absolute"},
		"no worktree":         {"worktree = ''", "no worktree"},
		"no id":               {"id = ''", "builders: row 1: it has no id"},
		"an id of bytes":      {"id = x'00'", "id is not text"},
		"no workspace":        {"workspace_path = ''", "no workspace_path"},
		"a NUL in the path":   {"worktree = '/w/' || char(0)", "has a NUL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, src := newCodev(t)
			s.Builder("/w/acme", tower.Builder{ID: "builder-a", Task: "the prompt"})
			s.Builder("/w/acme", tower.Builder{ID: "builder-b"})
			s.Exec("UPDATE builders SET " + tc.change + " WHERE id = 'builder-a'")
			p, err := src.Reader.Read(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "prompt") {
				t.Errorf("gave %v; want %q", err, tc.want)
			}
			if !p.Partial || p.Unreadable != 1 || len(p.Registry) != 1 || p.Registry[0].ID != "builder-b" {
				t.Errorf("gave %+v", p)
			}
		})
	}
}

func TestACodevOfAnotherVersion(t *testing.T) {
	t.Parallel()
	s, src := newCodev(t)
	s.Exec("ALTER TABLE builders RENAME COLUMN worktree TO folder")
	if _, err := src.Reader.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "has no column worktree; a newer or older Codev") {
		t.Errorf("gave %v", err)
	}
	s.Exec("DROP TABLE builders")
	if _, err := src.Reader.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "no table builders; a newer or older Codev") {
		t.Errorf("gave %v", err)
	}
}
