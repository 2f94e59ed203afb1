package subject_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// exceptedWorld has one candidate of several kinds, at home in /home/u.
func exceptedWorld() *snapshot.Snapshot {
	const wt, content = "dir:/home/u/wt/demo-1", "dir:/home/u/wt/demo-1/node_modules"
	return &snapshot.Snapshot{
		TakenAt: time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC), Host: snapshot.Host{Home: "/home/u", UID: new(0)},
		Sources: map[string]snapshot.Source{"proc": {Kind: "proc", Status: snapshot.OK}},
		Dirs: map[string]snapshot.Dir{
			wt:      {Path: "/home/u/wt/demo-1", Name: "demo-1", Root: "/home/u/wt", Git: &snapshot.Git{Main: "/home/u/src/acme"}},
			content: {Path: "/home/u/wt/demo-1/node_modules", Name: "node_modules", Root: "/home/u/wt", Content: &snapshot.Content{ID: wt, Worktree: "/home/u/wt/demo-1", Name: "demo-1", Main: "/home/u/src/acme"}},
		},
		Sessions: map[string]snapshot.Session{"session:tmux/default/$4": {Source: "tmux/default", Name: "worker-7", Panes: []snapshot.Pane{{ID: "%1", Cwd: "/home/u/src/acme"}}}},
		Registry: []snapshot.Record{{Source: "registry/r", ID: "TASK-9", Role: "reviewer", Session: "worker-7"}},
		Processes: map[string]*snapshot.Process{
			"process:10@100": {PID: 10, StartTicks: 100, Name: "sh", Cwd: new("/tmp"), PPID: new(1)},
			"process:11@110": {PID: 11, StartTicks: 110, Name: "postgres", Cwd: new("/data/pg"), PPID: new(10)},
		},
	}
}

func TestWhatAnExceptionMatches(t *testing.T) {
	t.Parallel()
	const dir, content, session, process = "dir:/home/u/wt/demo-1", "dir:/home/u/wt/demo-1/node_modules", "session:tmux/default/$4", "process:10@100"
	for _, c := range []struct {
		what    snapshot.Match
		id      string
		matches bool
	}{
		{snapshot.Match{ID: dir}, dir, true},
		{snapshot.Match{ID: "dir:/home/u/*/demo-1"}, dir, true},
		{snapshot.Match{ID: "dir:/home/*/demo-1"}, dir, false},
		{snapshot.Match{ID: dir}, content, true}, // it lies in it
		{snapshot.Match{ID: "session:tmux/*/$4"}, session, true},
		{snapshot.Match{ID: "process:11@*"}, process, true}, // it is below it, and ends with it
		{snapshot.Match{Path: "/home/u/wt/demo-1"}, dir, true},
		{snapshot.Match{Path: "/home/u/wt"}, dir, true},
		{snapshot.Match{Path: "/home/u/wt/**"}, dir, true},
		{snapshot.Match{Path: "~/wt/*"}, dir, true},
		{snapshot.Match{Path: "~"}, dir, true},
		{snapshot.Match{Path: "~/wt/demo-1/data/x"}, dir, true}, // it holds it
		{snapshot.Match{Path: "~/wt/demo-1/**"}, dir, true},
		{snapshot.Match{Path: "~/wt/demo"}, dir, false},
		{snapshot.Match{Path: "~/wt/demo-12"}, dir, false},
		{snapshot.Match{Path: "~/w*"}, session, false},
		{snapshot.Match{Path: "~/src/acme"}, session, true},
		{snapshot.Match{Path: "~/src/acme/below"}, session, false}, // only a folder goes with what is in it
		{snapshot.Match{Path: "/data"}, process, true},             // where what is below it works
		{snapshot.Match{Label: "demo-?"}, dir, true},
		{snapshot.Match{Label: "demo-?"}, content, true},
		{snapshot.Match{Label: "demo"}, dir, false},
		{snapshot.Match{Label: "worker-*"}, session, true},
		{snapshot.Match{Label: "post*"}, process, true},
		{snapshot.Match{Owner: "acme"}, dir, true},
		{snapshot.Match{Owner: "~/src/acme"}, dir, true},
		{snapshot.Match{Owner: "/home/u/src/*"}, dir, true},
		{snapshot.Match{Owner: "TASK-*"}, session, true},
		{snapshot.Match{Owner: "reviewer"}, session, true},
		{snapshot.Match{Owner: "acm"}, dir, false},
		{snapshot.Match{Label: "demo-1", Owner: "acme", Kind: "dir"}, dir, true},
		{snapshot.Match{Label: "demo-1", Owner: "other"}, dir, false},
		{snapshot.Match{Label: "demo-1", Kind: "session"}, dir, false},
	} {
		j := subject.Join(exceptedWorld(), &subject.Config{Exceptions: []snapshot.Keep{{Match: c.what, Why: "y", Who: "z", Until: "never"}}})
		sub, ok := j.Subject(c.id)
		if !ok {
			t.Fatalf("no %s", c.id)
		}
		if got := len(sub.Exceptions) == 1; got != c.matches {
			t.Errorf("%+v of %s: %v", c.what, c.id, got)
		} else if got && len(sub.Exceptions[0].Unknown) > 0 {
			t.Errorf("%+v of %s: %v is not known", c.what, c.id, sub.Exceptions[0].Unknown)
		}
	}
}

// TestWhatIsNotKnownMayMatch takes away what an exception is compared with.
func TestWhatIsNotKnownMayMatch(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		what   snapshot.Match
		id     string
		change func(*snapshot.Snapshot)
	}{
		"path": {snapshot.Match{Path: "/elsewhere"}, "process:10@100", func(s *snapshot.Snapshot) {
			s.Processes["process:10@100"].Cwd = nil
		}},
		"home":         {snapshot.Match{Path: "~/elsewhere"}, "dir:/home/u/wt/demo-1", func(s *snapshot.Snapshot) { s.Host.Home = "" }},
		"owner's home": {snapshot.Match{Owner: "~/src/acme"}, "dir:/home/u/wt/demo-1", func(s *snapshot.Snapshot) { s.Host.Home = "" }},
		"label": {snapshot.Match{Label: "elsewhere"}, "process:10@100", func(s *snapshot.Snapshot) {
			s.Processes["process:10@100"].Name = ""
		}},
		"id": {snapshot.Match{ID: "process:99@*"}, "process:10@100", func(s *snapshot.Snapshot) {
			s.Sources["proc"] = snapshot.Source{Kind: "proc", Status: snapshot.Failed}
		}},
		"owner": {snapshot.Match{Owner: "elsewhere"}, "process:10@100", func(*snapshot.Snapshot) {}},
	} {
		s := exceptedWorld()
		c.change(s)
		sub, _ := subject.Join(s, &subject.Config{Exceptions: []snapshot.Keep{{Match: c.what, Until: "never"}}}).Subject(c.id)
		if len(sub.Exceptions) != 1 || strings.Join(sub.Exceptions[0].Unknown, " ") != strings.NewReplacer("owner's home", "owner", "home", "path").Replace(want) {
			t.Errorf("%s: %+v", want, sub.Exceptions)
		}
	}
}

// TestAnEntryOfARepository keeps what lies or works there, or may, and nothing else that it matches. A path in it is relative to the main checkout.
func TestAnEntryOfARepository(t *testing.T) {
	t.Parallel()
	everything, none := []snapshot.Keep{{Match: snapshot.Match{Label: "*e*"}}}, []snapshot.Keep{}
	at := func(globs ...string) *[]snapshot.Keep {
		var all []snapshot.Keep
		for _, g := range globs {
			all = append(all, snapshot.Keep{Match: snapshot.Match{Path: g}})
		}
		return &all
	}
	const dir, session, process = "dir:/home/u/wt/demo-1", "session:tmux/default/$4", "process:11@110"
	for name, c := range map[string]struct {
		path     string
		keeps    *[]snapshot.Keep
		change   func(*snapshot.Snapshot)
		id, want string
	}{
		"a worktree of it": {"/home/u/src/acme", &everything, nil, dir, "[]"},
		"a session in it":  {"/home/u/src/acme", &everything, nil, session, "[]"},
		"elsewhere":        {"/home/u/src/other", &everything, nil, dir, "not there"},
		"it is not known where the repository is": {"", &everything, nil, dir, "not known"},
		"it is not known what it keeps":           {"/home/u/src/acme", nil, nil, dir, "not known"},
		"it keeps nothing":                        {"/home/u/src/acme", &none, nil, dir, ""},
		"it is not known where it works": {"/home/u/src/acme", &everything, func(s *snapshot.Snapshot) {
			s.Processes[process].Cwd = nil
		}, process, "not known"},
		"its label is not known": {"/home/u/src/acme", at("**"), func(s *snapshot.Snapshot) {
			x := s.Sessions[session]
			x.Name = ""
			s.Sessions[session] = x
		}, session, "[]"},
		"a worktree by its name":      {"/home/u/src/acme", at("demo-?"), nil, dir, "[]"},
		"by what it is in":            {"/home/u/src/acme", at("demo-1/**"), nil, dir, "[]"},
		"by what lies in it":          {"/home/u/src/acme", at("demo-1/data/x"), nil, dir, "[]"},
		"by what lies in it anywhere": {"/home/u/src/acme", at("**/x"), nil, dir, "[]"},
		"by several":                  {"/home/u/src/acme", at("demo-1", "x", "d*"), nil, dir, "[] []"},
		"a part of its name":          {"/home/u/src/acme", at("demo", "emo-1", "demo-12", "x/demo-1"), nil, dir, ""},
		"what is no glob":             {"/home/u/src/acme", at("[oops"), nil, dir, "[]"},
	} {
		s := exceptedWorld()
		s.Projects = []snapshot.Project{{Path: c.path, File: "f", State: "trusted", Keeps: c.keeps}}
		if c.change != nil {
			c.change(s)
		}
		sub, _ := subject.Join(s, &subject.Config{}).Subject(c.id)
		got := "not there"
		for _, p := range sub.Projects {
			if got = "not known"; p.Keeps != nil {
				got = ""
				for _, x := range *p.Keeps {
					must.Equal(t, "f", x.File, "the file")
					got += fmt.Sprint(x.Unknown) + " "
				}
			}
		}
		must.Equal(t, c.want, strings.TrimSpace(got), "%s: what is not known of the entries that match", name)
	}
}

func TestWhenAnExceptionEnds(t *testing.T) {
	t.Parallel()
	s := exceptedWorld()
	left := func(until string) *float64 {
		sub, _ := subject.Join(s, &subject.Config{Exceptions: []snapshot.Keep{{Match: snapshot.Match{Label: "demo-1"}, Until: until}}}).Subject("dir:/home/u/wt/demo-1")
		return sub.Exceptions[0].Left
	}
	must.Equal(t, 60.0, *left(s.TakenAt.Add(time.Minute).Format(time.RFC3339)), "a minute is left")
	must.Equal(t, -60.0, *left(s.TakenAt.Add(-time.Minute).Format(time.RFC3339)), "it has passed for a minute, and is there for the policies to say so")
	for _, until := range []string{snapshot.Never, "", "soon"} {
		if left(until) != nil {
			t.Errorf("one that ends %q has time left", until)
		}
	}
	until := s.TakenAt.Format(time.RFC3339)
	s.TakenAt = time.Time{}
	if left(until) != nil {
		t.Error("at a time that is not known one has time left")
	}
}

// TestAHomeWithSignsOfAGlobIsItself has a home folder whose name reads like a pattern.
func TestAHomeWithSignsOfAGlobIsItself(t *testing.T) {
	t.Parallel()
	s := exceptedWorld()
	s.Host.Home = "/home/[u]*"
	s.Dirs = map[string]snapshot.Dir{"dir:/home/u/x": {Path: "/home/u/x", Name: "x"}, "dir:/home/[u]*/x": {Path: "/home/[u]*/x", Name: "x"}}
	j := subject.Join(s, &subject.Config{Exceptions: []snapshot.Keep{{Match: snapshot.Match{Path: "~/x"}}}})
	for id, want := range map[string]int{"dir:/home/u/x": 0, "dir:/home/[u]*/x": 1} {
		sub, _ := j.Subject(id)
		must.Equal(t, want, len(sub.Exceptions), "exceptions of %s", id)
	}
}
