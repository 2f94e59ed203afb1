package holders_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/winnow-reaper/winnow/collectors/processes/holders"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/parts"
)

// playAsk says in one line of JSON who uses the folder args[0], as a plain user where ASK_UID says so.
func playAsk(args []string) error {
	if os.Getenv("ASK_UID") != "" {
		if err := parts.BecomePlain(); err != nil {
			return err
		}
	}
	held, _, err := holders.Find(context.Background(), holders.Options{Root: "/proc", Thorough: true}, args[:1])
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(held[args[0]])
}

// playWrap runs playAsk with its own arguments, as sudo and timeout do.
func playWrap(args []string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	c := exec.Command(exe, args...)
	c.Env = []string{parts.Variable + "=ask"}
	out, err := c.Output()
	fmt.Print(string(out))
	return err
}

func heldBy(t *testing.T, c parts.Child) []snapshot.Holder {
	t.Helper()
	var held []snapshot.Holder
	if err := json.Unmarshal([]byte(c.Said), &held); err != nil {
		t.Fatalf("%q: %v", c.Said, err)
	}
	return held
}

// TestAttackAnotherUsersUse has root use a folder in ways that a plain user cannot see in a process's links: what everybody may read
// shows it.
func TestAttackAnotherUsersUse(t *testing.T) {
	t.Parallel()
	parts.NeedRoot(t)
	a := attack.New(t, "another user's process, which shows nothing of itself, uses a folder")
	for _, w := range ways {
		if !slices.Contains([]string{"mount", "overlay", "argv", "socket", "lock"}, w.how) || w.undone != nil ||
			slices.Contains([]string{"runs a script by a relative path", "has a socket there by a relative name", "has a socket there through a link"}, w.name) {
			continue
		}
		base := treeOf(t)
		// What t.TempDir made, and nothing above it: the asker must be able to find the folder.
		for _, dir := range []string{base, filepath.Dir(base)} {
			must.Do(t, os.Chmod(dir, 0o755))
		}
		c := w.start(t, base)
		if strings.HasPrefix(c.Said, "skip:") {
			continue
		}
		asker := parts.Start(t, "ask", func(c *exec.Cmd) { c.Dir, c.Env = "/", append(c.Env, "ASK_UID=1") }, filepath.Join(base, "tree"))
		held := heldBy(t, asker)
		if !slices.ContainsFunc(held, func(h snapshot.Holder) bool { return h.How == w.how && (h.PID == c.Process.Pid || h.PID == 0) }) {
			a.Lost("%s: %d is not seen by %q: %v", w.name, c.Process.Pid, w.how, held)
			continue
		}
		a.Held()
	}
}

// TestWhoIsNoUser has processes that have to do with what is around a folder, or beside it, and not with the folder.
func TestWhoIsNoUser(t *testing.T) {
	t.Parallel()
	for _, w := range []way{
		{name: "watches the whole of what is around it", play: "watch-all"},
		{name: "is in another mount namespace", root: true, begin: space(syscall.CLONE_NEWNS)},
		{name: "sees all temporary files mounted", root: true, play: "mount-temp", begin: space(syscall.CLONE_NEWNS)},
		{name: "is in another network namespace", root: true, begin: space(syscall.CLONE_NEWNET)},
		{name: "runs a script of the folder beside it", begin: given("BASE/tree-2/src/server.js", "BASE/treetop", "--root=BASE", "-IBASE/tree-2:/x")},
		{name: "has words for arguments", begin: given("tree", "src", "/", "-", "--", "=", ":")},
		{name: "works in the repository", begin: at("repo")},
		{name: "has other folders in its environment", begin: env("PYTHONPATH=BASE/tree-2:BASE:/usr/lib")},
		{name: "has another worktree's GIT_DIR", begin: env("GIT_DIR=BASE/repo/.git")},
	} {
		t.Run(w.name, func(t *testing.T) {
			if w.root {
				parts.NeedRoot(t)
			}
			base := treeOf(t)
			w.start(t, base)
			tree := filepath.Join(base, "tree")
			for _, thorough := range []bool{false, true} {
				if held := Interactive(t, thorough, tree)[tree]; len(held) > 0 {
					t.Errorf("thorough %v: holders %v, want none", thorough, held)
				}
			}
			moved := filepath.Join(base, "moved")
			must.Do(t, os.Rename(tree, moved))
			if held := Interactive(t, true, moved)[moved]; len(held) > 0 {
				t.Errorf("after it was moved: holders %v, want none", held)
			}
		})
	}
}

// TestUsersOfWhatIsInTheTrash asks about a worktree that was set aside with its fakeproc.Entry, as before it is removed for good.
func TestUsersOfWhatIsInTheTrash(t *testing.T) {
	t.Parallel()
	for _, w := range []way{
		{name: "nobody"},
		{name: "runs a script by the path of before", how: "argv", begin: given("BASE/tree/src/server.js")},
		{name: "runs a script by the relative path of before", how: "argv", begin: func(_ *testing.T, base string, c *exec.Cmd) {
			c.Dir, c.Args = base, append(c.Args, "tree/src/server.js")
		}},
		{name: "works in git's folder for it", how: "admin", begin: at("repo/.git/worktrees/tree")},
		{name: "watches a folder below it", how: "watch", play: "watch-below"},
		{name: "has a file mapped", how: "map", play: "map"},
		{name: "has a thread with a file open", how: "thread", play: "thread-files"},
		{name: "has a socket there by a relative name", how: "socket", play: "socket-relative"},
	} {
		t.Run(w.name, func(t *testing.T) {
			base := treeOf(t)
			c := w.start(t, base)
			trash := filepath.Join(base, "trash")
			must.Do(t, os.Mkdir(trash, 0o700))
			for from, to := range map[string]string{"tree": "tree", "repo/.git/worktrees/tree": "admin"} {
				must.Do(t, os.Rename(filepath.Join(base, from), filepath.Join(trash, to)))
			}
			tree := filepath.Join(trash, "tree")
			held := Interactive(t, true, tree)[tree]
			if w.how == "" && len(held) > 0 {
				t.Errorf("holders %v, want none", held)
			} else if w.how != "" && uses(held, c, w.how, "in the trash") != "" {
				t.Error(uses(held, c, w.how, "in the trash"))
			}
			// A folder of another user that has the old name now is not the one in the trash.
			must.Do(t, os.MkdirAll(filepath.Join(base, "tree", "src"), 0o700))
			if held := Interactive(t, true, tree)[tree]; w.how == "argv" && len(held) > 0 {
				t.Errorf("by the name of another folder: holders %v, want none", held)
			}
		})
	}
}

// TestServersCommandLine has a process with the command line of the process that started it, as a multiplexer's server has.
func TestServersCommandLine(t *testing.T) {
	t.Parallel()
	base := treeOf(t)
	tree := filepath.Join(base, "tree")
	c := parts.Start(t, "way", func(c *exec.Cmd) {
		c.Dir, c.Args = "/", append(c.Args, "new-session", "-c", tree)
		c.Env = append(c.Env, "GIT_WORK_TREE="+tree)
	})
	ask := func(servers ...string) []snapshot.Holder {
		held, _ := ask(t, holders.Options{Root: "/proc", Thorough: true, Servers: servers}, tree)
		return held[tree]
	}
	if wrong := uses(ask(), c, "argv", "as any process"); wrong != "" {
		t.Error(wrong)
	}
	if held := ask(holder(c, "").Name); len(held) > 0 {
		t.Errorf("as a server: holders %v, want none", held)
	}
}

// TestOwnCommandLine has a parent process name the folder on its command line, as sudo and timeout do.
func TestOwnCommandLine(t *testing.T) {
	t.Parallel()
	base := treeOf(t)
	tree := filepath.Join(base, "tree")
	c := parts.Start(t, "wrap", func(c *exec.Cmd) { c.Dir = "/" }, tree)
	if held := heldBy(t, c); len(held) > 0 {
		t.Errorf("holders %v, want none", held)
	}
	// Another process with the same argument uses it.
	other := parts.Start(t, "idle", func(c *exec.Cmd) { c.Dir = "/" }, tree)
	c = parts.Start(t, "wrap", func(c *exec.Cmd) { c.Dir = "/" }, tree)
	held := heldBy(t, c)
	if wrong := uses(held, other, "argv", "beside it"); wrong != "" {
		t.Error(wrong)
	}
}
