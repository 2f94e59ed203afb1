package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/saved"
	"github.com/winnow-reaper/winnow/internal/scaffold"
	"github.com/winnow-reaper/winnow/internal/state"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// judged is a program with the shipped rules that can do nothing but decide.
func judged(t testing.TB) *app {
	t.Helper()
	cfg := musts.Get(config.Defaults())(t)
	cfg.State = "/nowhere/at/all"
	return (&app{Ops: ops.New(state.Folder{Cfg: cfg, Log: hclog.NewNullLogger()}), out: io.Discard, errOut: io.Discard}).watched()
}

// For every content of a saved snapshot, reading it and deciding on it is done or says why not; what is not a snapshot of this version is
// refused; and nothing is ever reaped from one whose sources were not read.
func FuzzSnapshot(f *testing.F) {
	a := judged(f)
	e, _, err := a.Engine(context.Background())
	if err != nil {
		f.Fatal(err)
	}
	head := `{"schema":"` + snapshot.Schema + `","taken_at":"2026-11-20T12:00:00Z"`
	for _, s := range []string{
		`{}`, `null`, `[]`, `{"schema":"winnow.snapshot/v9"}`, head + `}`, head + `,"x":[{}],"spawns":[{"pth":"/w"}]}`,
		head + `,"sources":{"dirs//w":{"kind":"dirs","status":"ok"}},"dirs":{"dir:/w/a-review-12345678":{"source":"dirs//w","path":"/w/a-review-12345678"}}}`,
		head + `,"processes":{"process:7@8":{"source":"proc","pid":-7,"ppid":1e9}},"sources":{"proc":{"status":"ok"}}}`,
		head + `,"sessions":{"session:tmux/default/$1":{"panes":[null,{}]}},"sightings":{"x":null},"holds":[{}],"host":null}`,
		head + `,"dirs":{"":{"path":"../.."}},"terminals":{"\u0000":{}},"tabs":{"tab:":{"panes":[]}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := saved.Decode(data)
		_ = saved.Unknown(data)
		if err != nil {
			return
		}
		if s.Schema != snapshot.Schema || s.TakenAt.IsZero() {
			t.Fatalf("a snapshot of the schema %q, taken at %s, was read", s.Schema, s.TakenAt)
		}
		ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
		defer cancel()
		res, err := e.Decide(ctx, s, &a.Cfg.Rules.Config)
		if err != nil {
			return
		}
		for _, d := range res.Decisions {
			if d.Verdict == decision.Reap && !read(s) {
				t.Fatalf("%s is to go, and nothing was read: %s", d.ID, data)
			}
		}
	})
}

func read(s *snapshot.Snapshot) bool {
	for _, src := range s.Sources {
		if src.Status == snapshot.OK {
			return true
		}
	}
	return false
}

func TestUnknownFieldsOfASnapshot(t *testing.T) {
	t.Parallel()
	doc := `{"schema":"x","spwans":[{"path":1}],"spawns":[{"path":"/w","pth":"/w"},{"pth":"/x"}],"dirs":{"dir:/w":{"pat":1,"path":"/w"}}}`
	got := strings.Join(saved.Unknown([]byte(doc)), "; ")
	for _, want := range []string{"spwans (the nearest is spawns)", "spawns.pth (the nearest is path)", "dirs.*.pat (the nearest is path)"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if strings.Count(got, ";") != 2 {
		t.Errorf("got %q", got)
	}
}

// Between init's look at the folder and its writing, another program puts something there.
func TestAttackInitWhileLinksAppear(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{"config.yaml": []byte("version: 1\n"), "policies/main/main.rego": []byte("package main\n"), "policies/x.rego": []byte("package x\n")}
	a := attack.New(t, "the folder of init gets a link, a folder or a file where init is about to write")
	for name, put := range map[string]func(dir, outside string) error{
		"the configuration is a link": func(dir, outside string) error {
			return os.Symlink(filepath.Join(outside, "config.yaml"), filepath.Join(dir, "config.yaml"))
		},
		"the configuration is a link to a file": func(dir, outside string) error {
			return os.Symlink(filepath.Join(outside, "precious"), filepath.Join(dir, "config.yaml"))
		},
		"the policies are a link": func(dir, outside string) error { return os.Symlink(outside, filepath.Join(dir, "policies")) },
		"a folder is a link": func(dir, outside string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, "policies"), 0o700), os.Symlink(outside, filepath.Join(dir, "policies/main")))
		},
		"a policy is a link": func(dir, outside string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, "policies"), 0o700), os.Symlink(filepath.Join(outside, "precious"), filepath.Join(dir, "policies/x.rego")))
		},
		"a FIFO": func(dir, _ string) error { return unix.Mkfifo(filepath.Join(dir, "config.yaml"), 0o600) },
	} {
		dir, outside := t.TempDir(), t.TempDir()
		precious := filepath.Join(outside, "precious")
		musts.Do(t, errors.Join(os.WriteFile(precious, []byte("precious"), 0o600), put(dir, outside)))
		before := tree(t, dir)
		err := scaffold.Write(dir, files, false)
		left, _ := os.ReadDir(outside)
		text, _ := os.ReadFile(precious)
		switch {
		case err == nil:
			a.Lost("%s: it wrote", name)
		case len(left) != 1 || string(text) != "precious":
			a.Lost("%s: it wrote outside of its folder: %v, %q", name, left, text)
		case tree(t, dir) != before:
			a.Lost("%s: it left %s of %s", name, tree(t, dir), before)
		default:
			a.Held()
		}
	}
	dir := t.TempDir()
	if err := scaffold.Write(dir, files, false); err != nil || tree(t, dir) != ". config.yaml policies policies/main policies/main/main.rego policies/x.rego" {
		t.Errorf("an empty folder: %v, %s", err, tree(t, dir))
	}
}

// tree names everything in a folder.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	musts.Do(t, err)
	return strings.Join(all, " ")
}
