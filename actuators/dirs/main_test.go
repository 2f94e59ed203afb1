package dirs

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/original"
)

// roleVar makes the test binary play a Winnow that is killed in the middle of an act.
const roleVar = "WINNOW_TEST_ROLE"

var originals original.Folders

func TestMain(m *testing.M) {
	if os.Getenv(roleVar) == "crash" {
		crash()
	}
	machine.Alone()
	os.Exit(originals.Run(m))
}

// world is a repository with one linked worktree, and the places that an actuator needs.
type world struct {
	t testing.TB
	// base holds all of it; roots is the folder of worktrees, main the repository, tree the worktree.
	base, root, main, tree string
	// gone are branches that are removed while the worktree is away.
	gone []string
	o    Options
}

// newWorld makes a world with two commits on main, a remote that has them, and a worktree on a branch of its own.
func newWorld(t testing.TB) *world {
	t.Helper()
	base := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	originals.CopyTo(t, "world", base, func(at string) { original.LinkedWorktree((&world{t: t}).git, at) })
	w := &world{t: t, base: base, root: base + "/trees", main: base + "/repo", tree: base + "/trees/work"}
	w.o = Options{StateTrash: filepath.Join(base, "state", "trash"), Roots: []string{w.root}, Home: filepath.Join(base, "home"), Holders: scanner{}}
	w.git(w.main, "update-index", "-q", "--refresh")
	w.git(w.tree, "update-index", "-q", "--refresh")
	return w
}

func (w *world) git(dir string, args ...string) string {
	w.t.Helper()
	out, err := w.tryGit(dir, args...)
	if err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return out
}

func (w *world) tryGit(dir string, args ...string) (string, error) {
	all := append([]string{"-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always", "-c", "commit.gpgsign=false",
		"-c", "maintenance.auto=false"}, args...)
	c := exec.Command("git", all...)
	c.Dir = dir
	c.Env = append(gitsafe.Environ(os.Environ()), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_ALLOW_PROTOCOL=file", "GIT_EDITOR=true")
	out, err := c.CombinedOutput()
	return string(out), err
}

func (w *world) commit(dir, message string) {
	w.t.Helper()
	w.git(dir, "add", "-A")
	w.git(dir, "commit", "-q", "-m", message)
}

func (w *world) mkdir(path string) {
	w.t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) write(path, text string) {
	w.t.Helper()
	w.mkdir(filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// identity reads what identifies a folder, by paths and stock git.
func (w *world) identity(path string) decision.Dir {
	w.t.Helper()
	var x unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME|unix.STATX_MNT_ID, &x); err != nil {
		w.t.Fatal(err)
	}
	d := decision.Dir{Path: path, Root: w.root, Device: unix.Mkdev(x.Dev_major, x.Dev_minor), Inode: x.Ino, MountID: x.Mnt_id,
		BornAt: time.Unix(x.Btime.Sec, int64(x.Btime.Nsec)).UTC()}
	if st, err := os.Lstat(filepath.Join(path, ".git")); err == nil && st.Mode().IsRegular() {
		d.Worktree, d.Main = true, w.main
		is := strings.Split(w.git(path, "rev-parse", "HEAD", "--absolute-git-dir", "--path-format=absolute", "--git-common-dir"), "\n")
		d.Head, d.AdminDir, d.CommonDir = is[0], is[1], is[2]
	}
	return d
}

func (w *world) decision(path string) decision.Decision {
	return decision.Decision{ID: "dir:" + path, Kind: "dir", Verdict: decision.Reap, Label: path,
		Identity: decision.Identity{Key: path, Dir: new(w.identity(path))}}
}

// hold takes hold of a folder and gives the intent that the carrier would write down.
func (w *world) hold(act, path string) (actuators.Held, decision.Intent, error) {
	w.t.Helper()
	d := w.decision(path)
	g, err := New(w.o).Hold(w.t.Context(), act, d)
	if err != nil {
		return nil, decision.Intent{}, err
	}
	in := decision.Intent{ID: act, Candidate: d.ID, Kind: d.Kind, Label: path, Identity: d.Identity, At: time.Now(),
		RestoreUntil: time.Now().Add(time.Hour), Plan: g.Plan()}
	return g, throughJSON(w.t, in), nil
}

// throughJSON is what the ledger makes of an intent.
func throughJSON(t testing.TB, in decision.Intent) decision.Intent {
	t.Helper()
	var out decision.Intent
	text, err := json.Marshal(in)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	must.Do(t, err)
	return out
}

// do sets a folder aside, or not.
func (w *world) do(act, path string) (decision.Outcome, decision.Intent) {
	w.t.Helper()
	g, in, err := w.hold(act, path)
	if err != nil {
		w.t.Fatalf("hold: %v", err)
	}
	defer g.Close()
	return w.act(g, in), in
}

// act saves and acts, as the carrier does: what is between the two is when the folder is judged for the last time.
func (w *world) act(g actuators.Held, in decision.Intent) decision.Outcome {
	w.t.Helper()
	if err := g.Save(w.t.Context()); err != nil {
		return actuators.OutcomeOf(err)
	}
	if w.o.Step != nil {
		w.o.Step("held")
	}
	return g.Act(w.t.Context(), in)
}

// aside sets the worktree aside and fails the test when that does not work.
func (w *world) aside(act, path string) decision.Intent {
	w.t.Helper()
	out, in := w.do(act, path)
	if out.Outcome != decision.Done {
		w.t.Fatalf("outcome: %+v", out)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		w.t.Fatalf("%s is still there: %v", path, err)
	}
	return in
}

// state is everything of a worktree that must not be lost: what git says, and every file of it and of its entry.
type state struct {
	Status, Worktrees, Branches string
	Files, Admin                map[string]string
}

func (w *world) state() state {
	w.t.Helper()
	s := state{Files: w.list(w.tree)}
	if _, err := os.Lstat(filepath.Join(w.tree, ".git")); err == nil {
		s.Status = w.git(w.tree, "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--ignored")
		s.Admin = w.list(strings.TrimSpace(w.git(w.tree, "rev-parse", "--absolute-git-dir")))
		delete(s.Admin, ".") // its time changes with the lock
	}
	s.Worktrees = w.git(w.main, "worktree", "list", "--porcelain")
	s.Branches = w.git(w.main, "for-each-ref", "--format=%(refname) %(objectname)")
	return s
}

// list gives mode, time and content of everything below path.
func (w *world) list(path string) map[string]string {
	w.t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := e.Info()
		if err != nil {
			return err
		}
		text := st.Mode().String() + " " + st.ModTime().UTC().Format(time.RFC3339Nano)
		switch {
		case st.Mode().IsRegular():
			content, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(" %x", sha256.Sum256(content))
		case st.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(p)
			if err != nil {
				return err
			}
			text += " -> " + to
		}
		rel, err := filepath.Rel(path, p)
		files[rel] = text
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return files
}

// same fails when anything has changed, or something of an act is left behind.
func (w *world) same(was state) {
	w.t.Helper()
	if diff := cmp.Diff(was, w.state()); diff != "" {
		w.t.Errorf("it is not as it was (-want +got):\n%s", diff)
	}
	for _, gone := range []string{filepath.Join(w.root, rootTrash), filepath.Join(w.main, ".git", commonTrash)} {
		if _, err := os.Lstat(gone); !errors.Is(err, os.ErrNotExist) {
			w.t.Errorf("%s is left: %v", gone, err)
		}
	}
	if left, err := os.ReadDir(w.o.StateTrash); len(left) > 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Errorf("left in the trash: %v %v", left, err)
	}
}

// scanner finds who has a working directory in a folder, without the collectors.
type scanner struct{}

func (scanner) Holding(_ context.Context, paths []string) (map[string][]string, bool, error) {
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		return nil, false, err
	}
	who := map[string][]string{}
	for _, l := range links {
		cwd, err := os.Readlink(l)
		for _, path := range paths {
			if err == nil && actuators.IsBelow(cwd, path) {
				who[path] = append(who[path], "pid "+filepath.Base(filepath.Dir(l)))
			}
		}
	}
	return who, true, nil
}

// holding is an answer of the test's own.
type holding func(path string) ([]string, bool, error)

func (h holding) Holding(_ context.Context, paths []string) (map[string][]string, bool, error) {
	who := map[string][]string{}
	for _, path := range paths {
		found, known, err := h(path)
		if err != nil || !known {
			return nil, known, err
		}
		who[path] = found
	}
	return who, true, nil
}

// enter starts a process that works in dir, until the test has ended or the returned function is called.
func enter(t testing.TB, dir string) (pid int, leave func()) {
	t.Helper()
	c := exec.Command("sleep", "300")
	c.Dir = dir
	must.Do(t, c.Start())
	done := false
	leave = func() {
		if !done {
			done = true
			c.Process.Kill()
			c.Wait()
		}
	}
	t.Cleanup(leave)
	return c.Process.Pid, leave
}

// crashInput is what a Winnow that is to die needs to know.
type crashInput struct {
	Verb   string
	At     int
	Trash  string
	Roots  []string
	Home   string
	Intent decision.Intent
	// Others are the rest of a batch.
	Others []decision.Intent
}

// crash does one thing and dies at its n-th step.
func crash() {
	var c crashInput
	if err := json.NewDecoder(os.Stdin).Decode(&c); err != nil {
		panic(err)
	}
	steps := 0
	a := New(Options{StateTrash: c.Trash, Roots: c.Roots, Home: c.Home, Holders: scanner{}, Step: func(string) {
		if steps++; steps == c.At {
			unix.Kill(os.Getpid(), unix.SIGKILL)
			select {}
		}
	}})
	var err error
	switch c.Verb {
	case "do":
		var g actuators.Held
		g, err = a.Hold(context.Background(), c.Intent.ID, decision.Decision{ID: c.Intent.Candidate, Kind: "dir", Identity: c.Intent.Identity})
		if err == nil {
			err = g.Save(context.Background())
		}
		if err == nil {
			if out := g.Act(context.Background(), c.Intent); out.Outcome != decision.Done {
				err = errors.New(out.Detail)
			}
		}
	case "together":
		ins := append([]decision.Intent{c.Intent}, c.Others...)
		var held []actuators.Held
		for _, in := range ins {
			g, fail := a.Hold(context.Background(), in.ID, decision.Decision{ID: in.Candidate, Kind: "dir", Identity: in.Identity})
			if fail == nil {
				fail = g.Save(context.Background())
			}
			held, err = append(held, g), errors.Join(err, fail)
		}
		if err == nil {
			for _, out := range a.ActTogether(context.Background(), held, ins, func(int) error { return nil }) {
				if out.Outcome != decision.Done {
					err = errors.Join(err, errors.New(out.Detail))
				}
			}
		}
	case "restore":
		_, err = a.Restore(context.Background(), c.Intent)
	case "purge":
		_, err = a.Purge(context.Background(), c.Intent)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// dies runs a verb in another process that is killed at its n-th step. It reports false when there is no such step: then the verb
// came to its end.
func (w *world) dies(verb string, at int, in decision.Intent) bool {
	w.t.Helper()
	return w.diesWith(verb, at, in)
}

// diesWith is dies of a verb that takes several acts.
func (w *world) diesWith(verb string, at int, ins ...decision.Intent) bool {
	w.t.Helper()
	text, err := json.Marshal(crashInput{verb, at, w.o.StateTrash, w.o.Roots, w.o.Home, ins[0], ins[1:]})
	if err != nil {
		w.t.Fatal(err)
	}
	c := exec.Command("/proc/self/exe")
	c.Env, c.Stdin = append(os.Environ(), roleVar+"=crash"), strings.NewReader(string(text))
	out, err := c.CombinedOutput()
	if err == nil {
		return false
	}
	if c.ProcessState.ExitCode() != -1 {
		w.t.Fatalf("%s at step %d: %v %s", verb, at, err, out)
	}
	return true
}

func nth(n int) string { return "A" + strconv.Itoa(n) }
