package codev

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/tower"
)

// fixture is a Tower, a workspace of it, and how both are looked at.
type fixture struct {
	*tower.Server
	t    *testing.T
	ws   string
	env  map[string]string
	o    Options
	logs safeBuffer
}

type safeBuffer struct {
	sync.Mutex
	bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.Write(p)
}

func newFixture(t *testing.T, o tower.Options) *fixture {
	t.Helper()
	f := &fixture{Server: tower.Start(t, o), t: t}
	f.ws = f.workspace("acme")
	f.env = map[string]string{"SHELLPER_SOCKET_DIR": f.SocketDir()}
	f.o = Options{
		Homes: []string{f.Home()}, Tower: f.URL(), Env: func(k string) string { return f.env[k] }, Home: filepath.Join(t.TempDir(), "me"),
		Log: hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: &f.logs}),
	}
	t.Cleanup(func() {
		if text := f.logs.String(); strings.Contains(text, tower.Secret) || strings.Contains(text, f.Key()) {
			t.Error("a secret is in the log")
		}
	})
	return f
}

// workspace makes a folder with something in it, and one for worktrees.
func (f *fixture) workspace(name string) string {
	f.t.Helper()
	path := filepath.Join(f.t.TempDir(), name)
	must.Do(f.t, os.MkdirAll(filepath.Join(path, ".builders"), 0o755))
	return f.Workspace(path)
}

// builder writes the row of a builder that has its folder, and opens its terminal.
func (f *fixture) builder(ws, id string) tower.TerminalState {
	f.t.Helper()
	must.Do(f.t, os.MkdirAll(f.worktree(ws, id), 0o755))
	f.Builder(ws, tower.Builder{ID: id})
	return f.Terminal(ws, tower.Terminal{RoleID: id})
}

// row writes the row of a builder, and that of a terminal without a process, and gives the terminal's id.
func (f *fixture) row(ws, builder string) string {
	f.t.Helper()
	f.Builder(ws, tower.Builder{ID: builder})
	id := fmt.Sprintf("00000000-0000-4000-8000-%012d", rand.Int64N(1e12))
	f.Exec(`INSERT INTO terminal_sessions (id, workspace_path, type, role_id, cwd) VALUES (?, ?, 'builder', ?, ?)`, id, ws, builder, f.worktree(ws, builder))
	return id
}

func (f *fixture) worktree(ws, id string) string {
	return filepath.Join(ws, ".builders", strings.TrimPrefix(id, "builder-"))
}

func (f *fixture) try(ctx context.Context) (collectors.Part, error) {
	f.t.Helper()
	sources, err := Sources(f.o)
	if err != nil || len(sources) != 1 {
		f.t.Fatalf("%d sources, %v", len(sources), err)
	}
	p, err := sources[0].Reader.Read(ctx)
	text, _ := json.Marshal(p)
	if all := string(text) + fmt.Sprint(err); strings.Contains(all, tower.Secret) || strings.Contains(all, f.Key()) {
		f.t.Error("a secret is in what was given")
	}
	return p, err
}

func (f *fixture) read() collectors.Part {
	f.t.Helper()
	p := must.Get(f.try(f.t.Context()))(f.t)
	return p
}

// only is the terminal with that native id.
func (f *fixture) only(p collectors.Part, id string) snapshot.Terminal {
	f.t.Helper()
	x, ok := p.Terminals[ID("codev/home", id)]
	if !ok {
		f.t.Fatalf("there is no %s among %v", id, slices.Sorted(maps.Keys(p.Terminals)))
	}
	return x
}

// says writes what is known of a terminal in words, ! before what is known not to be so, and nothing for what is not known.
func says(x snapshot.Terminal) string {
	out := []string{x.RoleKind, x.Role, x.Status}
	if x.ExitCode != nil {
		out = append(out, fmt.Sprint(*x.ExitCode))
	}
	flag := func(word string, b *bool) {
		if b != nil && !*b {
			word = "!" + word
		}
		if b != nil {
			out = append(out, word)
		}
	}
	flag("listed", x.Listed)
	flag("recorded", x.Recorded)
	flag("scoped", x.Scoped)
	if x.PID != nil && x.StartTicks != nil {
		out = append(out, "pid")
	}
	if o := x.Owner; o != nil {
		out = append(out, "| "+o.How, o.ID)
		flag("recorded", o.Recorded)
		flag("gone", o.Gone)
		flag("unregistered", o.Unregistered)
	}
	return strings.Join(slices.DeleteFunc(out, func(s string) bool { return s == "" }), " ")
}

func (f *fixture) want(p collectors.Part, want map[string]string) {
	f.t.Helper()
	got := map[string]string{}
	for id, x := range p.Terminals {
		if id != ID(x.Source, x.ID) {
			f.t.Errorf("%s stands under %s", x.ID, id)
		}
		got[x.ID] = says(x)
	}
	must.Equal(f.t, want, got, "terminals")
}

func runGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func isAbsent(err error) bool { return errors.Is(err, collectors.ErrAbsent) }
