// Package attack_test attacks the program as a whole: an attacker plays against it with what a repository, another user or a program
// beside it can do.
package attack_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"

	"github.com/winnow-reaper/winnow/test/kit/attack"
)

// trashWorld is a repository with worktrees that the shipped rule for disposable folders takes.
type trashWorld struct {
	t                          *testing.T
	program, dir, root, config string
	env                        []string
}

func newTrashWorld(t *testing.T, program, ttl string) *trashWorld {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &trashWorld{t: t, program: program, dir: dir, root: filepath.Join(dir, "wt"), config: filepath.Join(dir, "config.yaml")}
	w.env = append(os.Environ(), "HOME="+dir, "XDG_RUNTIME_DIR="+dir, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@localhost")
	w.write(w.config, fmt.Sprintf("version: 1\nstate: %s/state\ncollect: {tmux: {sockets: []}, herdr: {sockets: []}, vscode: {sockets: []}, dirs: {roots: [%s], agent_folders: [], discover: false}}\n"+
		"rules: {grace: {dir: 0s}, steady_for: 0s}\nact: {trash_ttl: %s}\n", dir, w.root, ttl))
	w.must("git", "init", "-q", "-b", "main", "project")
	w.write(dir+"/project/.gitignore", "node_modules\n")
	w.must("git", "-C", "project", "add", ".")
	w.must("git", "-C", "project", "commit", "-q", "-m", "start")
	return w
}

func (w *trashWorld) write(path, text string) {
	w.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		w.t.Fatal(err)
	}
}

// add makes the n-th worktree, with something in it that can be built again.
func (w *trashWorld) add(n int) string {
	w.t.Helper()
	path := filepath.Join(w.root, fmt.Sprintf("project-review-%08x", n))
	w.must("git", "-C", "project", "worktree", "add", "-q", "--detach", path)
	w.write(path+"/node_modules/x", "built\n")
	return path
}

func (w *trashWorld) run(program string, args ...string) (string, error) {
	if program == "winnow" {
		program, args = w.program, append([]string{args[0], "--config", w.config}, args[1:]...)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// oneLine undoes the folding of lines to a terminal's width.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func (w *trashWorld) must(program string, args ...string) string {
	w.t.Helper()
	out, err := w.run(program, args...)
	if err != nil {
		w.t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return out
}

// aside sets path aside. On a busy machine a look may have a gap, and what is not known is kept: then it is tried again.
func (w *trashWorld) aside(path string) string {
	w.t.Helper()
	var out string
	for range 20 {
		out, _ = w.run("winnow", "sweep", "--kind", "dir", "--apply") // one that was put back is its code 3
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			return out
		}
	}
	w.t.Fatalf("%s stayed:\n%s", path, out)
	return ""
}

// state is a worktree as git and the file system show it.
func (w *trashWorld) state(path string) string {
	w.t.Helper()
	return w.must("git", "-C", path, "status", "--porcelain=v2", "--branch", "--ignored") + w.must("find", path, "-printf", "%P %m %s %i\n") +
		w.must("git", "-C", "project", "worktree", "list", "--porcelain")
}

// kept are the acts that winnow trash lists, by the path of their folder.
func (w *trashWorld) kept() map[string]string {
	w.t.Helper()
	cmd := exec.Command(w.program, "trash", "--config", w.config, "--format", "json")
	cmd.Dir, cmd.Env = w.dir, w.env
	out, _ := cmd.Output() // with a broken ledger it says so by its code, and lists all the same
	var list struct {
		Acts []struct {
			Intent struct{ ID, Candidate string }
		}
	}
	if err := json.Unmarshal(out, &list); err != nil {
		w.t.Fatalf("trash: %v\n%s", err, out)
	}
	kept := map[string]string{}
	for _, act := range list.Acts {
		kept[strings.TrimPrefix(act.Intent.Candidate, "dir:")] = act.Intent.ID
	}
	return kept
}

func (w *trashWorld) ledger() string { return filepath.Join(w.dir, "state", "ledger.db") }

func (w *trashWorld) dropLedger() {
	w.t.Helper()
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(w.ledger() + end); err != nil && !errors.Is(err, os.ErrNotExist) {
			w.t.Fatal(err)
		}
	}
}

// exec changes the ledger.
func (w *trashWorld) exec(query string, args ...any) {
	w.t.Helper()
	db, err := sql.Open("sqlite", w.ledger())
	if err == nil {
		_, err = db.Exec(query, args...)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestAttackTrash plays against the trash from outside, with one program for all.
func TestAttackTrash(t *testing.T) {
	t.Parallel()
	program := attack.Winnow(t)
	for name, play := range map[string]func(*testing.T, string){
		"ledger is lost": ledgerIsLost, "clock jumps": clockJumps, "clock is not steady": unsteadyClock, "no time": nothingComesBack,
		"own rule without objections": ruleOfOnesOwn, "commit during a sweep": commitDuringASweep,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, program)
		})
	}
}

// ledgerIsLost has the ledger removed, replaced by an older one, or broken after a folder was set aside. It is still
// listed, no sweep removes it, and it comes back whole.
func ledgerIsLost(t *testing.T, program string) {
	a := attack.New(t, "a ledger that is lost, older or broken while something lies in the trash")
	for name, lose := range map[string]func(w *trashWorld, old []byte){
		"removed": func(w *trashWorld, _ []byte) { w.dropLedger() },
		"older": func(w *trashWorld, old []byte) {
			w.dropLedger()
			w.write(w.ledger(), string(old))
		},
		"broken":               func(w *trashWorld, _ []byte) { w.dropLedger(); w.write(w.ledger(), "no database") },
		"holds it for purged":  func(w *trashWorld, _ []byte) { w.exec("UPDATE acts SET purged_at = 1") },
		"restored and swept":   func(w *trashWorld, _ []byte) { w.dropLedger(); w.must("winnow", "sweep", "--apply") },
		"removed, and expired": func(w *trashWorld, _ []byte) { w.dropLedger() },
	} {
		ttl := "168h"
		if strings.Contains(name, "expired") {
			ttl = "2s"
		}
		w := newTrashWorld(t, program, ttl)
		w.must("winnow", "sweep")
		w.exec("PRAGMA wal_checkpoint(TRUNCATE)")
		old, err := os.ReadFile(w.ledger())
		if err != nil {
			t.Fatal(err)
		}
		path := w.add(1)
		before := w.state(path)
		w.aside(path)
		lose(w, old)
		if strings.Contains(name, "expired") {
			time.Sleep(2 * time.Second)
			w.must("winnow", "sweep", "--apply")
		}
		id, listed := w.kept()[path]
		doctor, _ := w.run("winnow", "doctor")
		out, err := w.run("winnow", "restore", "--no-hold", id)
		switch {
		case !listed:
			a.Lost("%s: it is not listed", name)
		case err != nil:
			a.Lost("%s: restore: %v\n%s", name, err, out)
		case cmp.Diff(before, w.state(path)) != "":
			a.Lost("%s: it came back as (-want +got):\n%s", name, cmp.Diff(before, w.state(path)))
		case (name == "removed" || name == "older") && !strings.Contains(oneLine(doctor), "that the ledger does not know"):
			a.Lost("%s: doctor says nothing of it:\n%s", name, doctor)
		default:
			a.Held()
		}
	}
}

// clockJumps has the wall clock jump eight days ahead after something was set aside, as the ledger sees it: everything it
// remembers is eight days older, and the machine's own count is not.
func clockJumps(t *testing.T, program string) {
	a := attack.New(t, "a wall clock that jumps eight days ahead, and a sweep after it")
	const days = int64(8 * 24 * time.Hour)
	for n := range 3 {
		w := newTrashWorld(t, program, "168h")
		path := w.add(n)
		w.aside(path)
		w.exec("UPDATE acts SET at = at - ?, restore_until = restore_until - ?", days, days)
		w.exec("UPDATE looks SET at = at - ?", days)
		var out string
		for range 2 { // the look that sees the jump, and one by which the clock is steady again
			out = w.must("winnow", "sweep", "--apply")
		}
		if _, ok := w.kept()[path]; !ok {
			a.Lost("it was purged:\n%s", out)
			continue
		}
		a.Held()
		if n > 0 {
			continue
		}
		// Eight days that the machine counted, too, have ended.
		w.exec("UPDATE looks SET counted = counted + 8 * 86400")
		if out := w.must("winnow", "sweep", "--apply"); len(w.kept()) != 0 {
			t.Errorf("what was kept for its time stays:\n%s", out)
		}
	}
}

// unsteadyClock waits until the machine has been awake for long enough.
func unsteadyClock(t *testing.T, program string) {
	w := newTrashWorld(t, program, "1s")
	path := w.add(1)
	w.aside(path)
	text, err := os.ReadFile(w.config)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond)
	w.exec("UPDATE looks SET up_seconds = up_seconds - 3600") // the machine counted an hour more than the clock
	w.write(w.config, strings.ReplaceAll(string(text), "steady_for: 0s", "steady_for: 1h"))
	if out := w.must("winnow", "sweep", "--apply"); len(w.kept()) != 1 || !strings.Contains(oneLine(out), "rules.steady_for") {
		t.Errorf("purged, or not reported:\n%s", out)
	}
	w.write(w.config, string(text))
	if out := w.must("winnow", "sweep", "--apply"); len(w.kept()) != 0 {
		t.Errorf("what was kept for its time stays:\n%s", out)
	}
}

// nothingComesBack says so where act.trash_ttl is 0.
func nothingComesBack(t *testing.T, program string) {
	w := newTrashWorld(t, program, "0s")
	path := w.add(1)
	if out := w.aside(path); !strings.Contains(oneLine(out), "nothing brings it back") || strings.Contains(oneLine(out), "winnow restore") {
		t.Errorf("the report does not say it:\n%s", out)
	}
	if len(w.kept()) != 0 {
		t.Error("it is kept")
	}
	if out, _ := w.run("winnow", "doctor"); !strings.Contains(oneLine(out), "nothing can be brought back") {
		t.Errorf("doctor does not say it:\n%s", out)
	}
}

// ruleOfOnesOwn takes every shipped objection away and has a rule want a worktree with other work in it.
func ruleOfOnesOwn(t *testing.T, program string) {
	a := attack.New(t, "policies without a single objection, and a worktree with another one's work in it")
	w := newTrashWorld(t, program, "168h")
	w.must("winnow", "init", "own")
	objections, err := os.ReadDir(w.dir + "/own/policies/protect")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objections {
		if o.Name() == "held" { // a tree without any objection is not loaded at all
			continue
		}
		if err := os.RemoveAll(filepath.Join(w.dir, "own/policies/protect", o.Name())); err != nil {
			t.Fatal(err)
		}
	}
	sweep := []string{"sweep", "--kind", "dir", "--apply", "--policy", w.dir + "/own/policies", "--no-embedded-policy"}
	inner := map[string]func(path string){
		"a nested worktree": func(path string) {
			w.must("git", "-C", "project", "worktree", "add", "-q", "--detach", path+"/node_modules/in")
			w.must("git", "-C", path+"/node_modules/in", "commit", "-q", "--allow-empty", "-m", "inner")
		},
		"a clone":             func(path string) { w.must("git", "clone", "-q", "project", path+"/node_modules/in") },
		"a bare repository":   func(path string) { w.must("git", "clone", "-q", "--bare", "project", path+"/node_modules/in") },
		"a Jujutsu workspace": func(path string) { w.write(path+"/node_modules/in/.jj/repo/store/type", "git") },
	}
	n := 0
	for name, put := range inner {
		n++
		path := w.add(n)
		put(path)
		before := w.state(path)
		out, _ := w.run("winnow", sweep...)
		w.must("git", "-C", "project", "worktree", "prune", "--expire=now")
		w.must("git", "-C", "project", "gc", "-q", "--prune=now")
		switch _, err := os.Lstat(path); {
		case err != nil:
			a.Lost("%s: it is gone:\n%s", name, out)
		case before != w.state(path):
			a.Lost("%s: it is not as it was", name)
		case !strings.Contains(oneLine(out), "would not come back whole"):
			a.Lost("%s: the reason why it stayed is not reported:\n%s", name, out)
		default:
			a.Held()
		}
		w.must("git", "-C", "project", "worktree", "remove", "--force", "--force", path)
		w.must("git", "-C", "project", "worktree", "prune", "--expire=now")
	}
	// The same policies take a worktree without any work in it.
	path := w.add(n + 1)
	for range 20 { // on a busy machine a look may have a gap, and what is not known is kept
		out, _ := w.run("winnow", sweep...)
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			return
		}
		t.Logf("it stayed:\n%s", out)
	}
	t.Error("it stayed 20 times")
}

// commitDuringASweep commits in a worktree at a random moment of an acting sweep. A commit that git said was made must be
// there afterwards, in the worktree or in what restore brings back, also when the repository throws objects away.
func commitDuringASweep(t *testing.T, program string) {
	a := attack.New(t, "a commit on no branch at a random moment of an acting sweep, then gc --prune=now")
	w := newTrashWorld(t, program, "168h")
	for n := range 15 {
		path := w.add(n)
		entry := filepath.Join(w.dir, "project", ".git", "worktrees", filepath.Base(path))
		swept := make(chan error, 1)
		go func() { _, err := w.run("winnow", "sweep", "--kind", "dir", "--apply"); swept <- err }()
		time.Sleep(time.Duration(rand.Int64N(int64(250 * time.Millisecond))))
		// From outside of the folder, so that no process is seen in it.
		_, failed := w.run("git", "--git-dir="+entry, "--work-tree="+path, "commit", "-q", "--allow-empty", "-m", fmt.Sprint("late ", n))
		<-swept
		w.must("git", "-C", "project", "worktree", "prune", "--expire=now")
		w.must("git", "-C", "project", "reflog", "expire", "--expire=now", "--expire-unreachable=now", "refs/heads/main")
		w.must("git", "-C", "project", "gc", "-q", "--prune=now")
		if id, away := w.kept()[path]; away {
			w.must("winnow", "restore", "--no-hold", id)
		}
		out, err := w.run("git", "-C", path, "log", "-1", "--format=%s")
		switch {
		case err != nil:
			a.Lost("trial %d: HEAD cannot be read: %v\n%s", n, err, out)
		case failed == nil && strings.TrimSpace(out) != fmt.Sprint("late ", n):
			a.Lost("trial %d: the commit is lost: HEAD is %s", n, out)
		default:
			a.Held()
		}
		w.must("git", "-C", "project", "worktree", "remove", "--force", path)
	}
}
