package dirs_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/dirs"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/original"
)

// TestMain gives all git processes, the reader's own among them, a home without any configuration.
func TestMain(m *testing.M) {
	machine.Alone()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	home, err := os.MkdirTemp("", "winnow-dirs-home-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(home) }()
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "GIT_") {
			_ = os.Unsetenv(name)
		}
	}
	for name, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": home} {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	config := "[user]\n\tname = t\n\temail = t@example.org\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n" +
		"[advice]\n\tdetachedHead = false\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[commit]\n\tgpgSign = false\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return originals.Run(m)
}

// world is a bare origin, a clone of it that is the main checkout, and a folder for worktrees.
type world struct {
	testing.TB
	dir, origin, main, wts string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	originals.CopyTo(t, "world", dir, func(at string) { original.PushedRepository((&world{TB: t}).git, at) })
	w := &world{TB: t, dir: dir, origin: dir + "/origin.git", main: dir + "/app", wts: dir + "/wts"}
	w.git(w.main, "update-index", "-q", "--refresh")
	return w
}

var originals original.Folders

// git runs git and gives its output without the last newline.
func (w *world) git(dir string, args ...string) string {
	w.Helper()
	out, err := w.try(dir, args...)
	if err != nil {
		w.Fatalf("git %s in %s: %v\n%s", args[0], dir, err, out)
	}
	return out
}

func (w *world) try(dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(w.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_EDITOR=true")
	out, err := cmd.CombinedOutput()
	return strings.TrimSuffix(string(out), "\n"), err
}

func (w *world) write(path, text string) {
	w.Helper()
	must.Do(w, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(w, os.WriteFile(path, []byte(text), 0o600))
}

func (w *world) commit(dir, file string) string {
	w.Helper()
	w.write(filepath.Join(dir, file), file+"\n")
	w.git(dir, "add", file)
	w.git(dir, "commit", "-q", "-m", "add "+file)
	return w.git(dir, "rev-parse", "HEAD")
}

// branch adds a worktree with a branch of its own, which nothing has been done on.
func (w *world) branch(name string) string {
	w.Helper()
	path := filepath.Join(w.wts, name)
	w.git(w.main, "worktree", "add", "-q", "-b", name, path, "origin/main")
	return path
}

// registered adds a worktree whose commit names a submodule that is not filled: an empty folder, called sub.
func (w *world) registered(name string) string {
	w.Helper()
	path := w.landed(name)
	w.gitlink(path, "sub")
	w.git(path, "push", "-q", "origin", "HEAD:main")
	w.mkdir(filepath.Join(path, "sub"))
	return path
}

// gitlink commits a submodule as a clone has it before it is filled.
func (w *world) gitlink(path, sub string) {
	w.Helper()
	w.write(filepath.Join(path, ".gitmodules"), "[submodule \""+sub+"\"]\n\tpath = "+sub+"\n\turl = "+w.origin+"\n")
	w.git(path, "add", ".gitmodules")
	w.git(path, "update-index", "--add", "--cacheinfo", "160000,"+w.git(path, "rev-parse", "HEAD")+","+sub)
	w.git(path, "commit", "-q", "-m", "submodule "+sub)
	w.mkdir(filepath.Join(path, sub))
}

func (w *world) mkdir(path string) {
	w.Helper()
	must.Do(w, os.MkdirAll(path, 0o755))
}

func (w *world) link(to, name string) {
	w.Helper()
	must.Do(w, os.Symlink(to, name))
}

func (w *world) remove(path string) {
	w.Helper()
	must.Do(w, os.RemoveAll(path))
}

// detached adds a worktree that is on no branch.
func (w *world) detached(name string) string {
	w.Helper()
	path := filepath.Join(w.wts, name)
	w.git(w.main, "worktree", "add", "-q", "--detach", path, "origin/main")
	return path
}

// landed adds a worktree on a branch whose one commit is on origin's main.
func (w *world) landed(name string) string {
	w.Helper()
	path := w.branch(name)
	w.commit(path, name+".txt")
	w.git(path, "push", "-q", "origin", "HEAD:main")
	return path
}

// admin is a worktree's admin folder.
func (w *world) admin(path string) string {
	w.Helper()
	return w.git(path, "rev-parse", "--absolute-git-dir")
}

func noHolders(context.Context, []string) (map[string][]snapshot.Holder, bool, error) {
	return nil, true, nil
}

// options are those under which nothing but the folder itself keeps git from being asked.
func options() dirs.Options {
	home := os.Getenv("HOME")
	return dirs.Options{Rebuildable: []string{"node_modules", "vendor/bundle", "*.pyc"}, Holders: noHolders, Home: home, Machine: filepath.Join(home, "machine")}
}

func read(t testing.TB, s collectors.Source) collectors.Part {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	part, err := s.Reader.Read(ctx)
	if err != nil {
		t.Fatalf("read %s: %v", s.Name, err)
	}
	return part
}

// root reads one folder's children.
func root(t testing.TB, o dirs.Options, path string) collectors.Part {
	t.Helper()
	sources := dirs.Roots(o, []string{path})
	if len(sources) != 1 {
		t.Fatalf("%d sources for one root", len(sources))
	}
	return read(t, sources[0])
}

// one reads a root and gives one of its children.
func one(t testing.TB, o dirs.Options, path string) snapshot.Dir {
	t.Helper()
	part := root(t, o, filepath.Dir(path))
	d, ok := part.Dirs[dirs.ID(path)]
	if !ok {
		t.Fatalf("%s is not among the %d candidates", path, len(part.Dirs))
	}
	return d
}

// counting gives a git program that writes a line for each run, and a function that reads those lines.
func counting(t testing.TB) (program string, runs func() []string) {
	t.Helper()
	real := must.Get(exec.LookPath("git"))(t)
	dir := t.TempDir()
	log, program := filepath.Join(dir, "log"), filepath.Join(dir, "git")
	script := fmt.Sprintf("#!/bin/sh\necho \"$*\" >>'%s'\nexec '%s' \"$@\"\n", log, real)
	executable.Write(t, program, script)
	return program, func() []string {
		data, err := os.ReadFile(log)
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	}
}
