package attack_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/test/kit/attack"
)

// scopeName is a worktree's name that the shipped rules take for one that was made to be thrown away.
const scopeName = "project-review-1a2b3c4d"

// scope is a user with a repository, a worktree of it that may go in the folder "real", and the program.
type scope struct {
	t       *testing.T
	user    attack.User
	program string
	tree    string
}

func newScope(t *testing.T, user attack.User, program string) *scope {
	t.Helper()
	s := &scope{t: t, user: user, program: program, tree: filepath.Join(user.Home, "real", scopeName)}
	s.git("init", "-q", "-b", "main", "project")
	s.git("-C", "project", "commit", "-q", "--allow-empty", "-m", "start")
	s.user.Mkdir(t, filepath.Join(user.Home, "real"), 0o700)
	s.git("-C", "project", "worktree", "add", "-q", "--detach", s.tree)
	return s
}

func (s *scope) git(args ...string) {
	s.t.Helper()
	cmd := s.user.Command("git", args...)
	cmd.Env = append(cmd.Env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@localhost",
		"GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@localhost")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// winnow runs the program as the user, in dir, with these roots and agents' folders.
func (s *scope) winnow(dir string, roots, agents []string, discover bool, args ...string) string {
	s.t.Helper()
	config := filepath.Join(s.user.Home, "config.yaml")
	s.user.Write(s.t, config, fmt.Sprintf("version: 1\nstate: %s/state\ncollect: {tmux: {sockets: []}, herdr: {sockets: []}, vscode: {sockets: []}, codev: {homes: []}, "+
		"shepherd: {stores: []}, dirs: {roots: [%s], agent_folders: [%s], discover: %v, discover_from: []}}\nrules: {grace: {dir: 0s}, steady_for: 0s}\n",
		s.user.Home, strings.Join(roots, ", "), strings.Join(agents, ", "), discover), 0o600)
	cmd := s.user.Command(s.program, append(args, "--config", config)...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "XDG_RUNTIME_DIR="+s.user.Home)
	out, err := cmd.CombinedOutput()
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.Sys().(syscall.WaitStatus).Signaled()) {
		s.t.Fatalf("winnow: %v\n%s", err, out)
	}
	return string(out)
}

// untouched says what is wrong when the worktree is not where it was.
func (s *scope) untouched(out string) string {
	if _, err := os.Lstat(filepath.Join(s.tree, ".git")); err != nil {
		return fmt.Sprintf("the worktree is gone: %v\n%s", err, out)
	}
	return ""
}

// TestAttackScope widens what Winnow looks at, and hides who uses it, with the real program and real users.
func TestAttackScope(t *testing.T) {
	victim, attacker := attack.Users(t)
	program := attack.Winnow(t)
	for name, try := range map[string]func(t *testing.T, victim, attacker attack.User, program string){
		"links": leadElsewhere, "entries": nameAnothers, "root": actAsRoot, "swapped": swapRoot, "users": hideUsers,
	} {
		t.Run(name, func(t *testing.T) {
			mine, his := victim, attacker
			mine.Home, his.Home = filepath.Join(victim.Home, name), filepath.Join(attacker.Home, name)
			mine.Mkdir(t, mine.Home, 0o755)
			his.Mkdir(t, his.Home, 0o755)
			try(t, mine, his, program)
		})
	}
}

func leadElsewhere(t *testing.T, victim, attacker attack.User, program string) {
	s := newScope(t, victim, program)
	tmp := filepath.Join(filepath.Dir(filepath.Dir(victim.Home)), "tmp")
	if err := os.Mkdir(tmp, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(tmp, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	real := filepath.Dir(s.tree)
	attacker.Link(t, real, filepath.Join(tmp, "vibe"))
	attacker.Mkdir(t, filepath.Join(tmp, "kanban"), 0o755)
	attacker.Link(t, real, filepath.Join(tmp, "kanban", "worktrees"))
	victim.Mkdir(t, filepath.Join(victim.Home, "agents"), 0o700)
	victim.Link(t, real, filepath.Join(victim.Home, "agents", "x"))
	victim.Link(t, victim.Home, filepath.Join(victim.Home, "dotfiles"))
	a := attack.New(t, "a link leads from a root to the worktrees of a user who never named them, and sweep --apply runs")
	for path, words := range map[string]string{
		filepath.Join(tmp, "vibe"):                "belongs to another user",
		filepath.Join(tmp, "kanban", "worktrees"): "belongs to another user",
		filepath.Join(tmp, "*", "worktrees"):      "belongs to another user",
		filepath.Join(tmp, "*"):                   "belongs to another user",
		filepath.Join(victim.Home, "agents/*"):    "write that in collect.dirs.roots",
		filepath.Join(victim.Home, "dotfiles/r*"): "write that in collect.dirs.roots",
	} {
		roots, agents := []string{path}, []string(nil)
		if strings.HasPrefix(path, tmp) {
			roots, agents = agents, roots
		}
		out := s.winnow("/", roots, agents, false, "sweep", "--apply", "--kind", "dir", "--format", "json")
		wrong := s.untouched(out)
		if wrong == "" && !strings.Contains(out, words) {
			wrong = fmt.Sprintf("%s: %q is not reported:\n%s", path, words, out)
		}
		a.Check(wrong)
	}
	// The folder by its own name is a root, and what may go in it goes.
	if out := s.winnow("/", []string{real}, nil, false, "sweep", "--apply", "--kind", "dir"); s.untouched("") == "" {
		t.Errorf("nothing keeps it and it stayed:\n%s", out)
	}
}

func nameAnothers(t *testing.T, victim, attacker attack.User, program string) {
	s := newScope(t, victim, program)
	evil := filepath.Join(victim.Home, "clone", "evil.git")
	s.git("init", "-q", "clone")
	s.git("clone", "-q", "--bare", "project", evil)
	entry := filepath.Join(evil, "worktrees", "e")
	victim.Mkdir(t, filepath.Dir(entry), 0o755)
	victim.Mkdir(t, entry, 0o755)
	victim.Write(t, filepath.Join(entry, "gitdir"), filepath.Join(s.tree, ".git")+"\n", 0o644)
	victim.Write(t, filepath.Join(entry, "commondir"), "../..\n", 0o644)
	victim.Write(t, filepath.Join(entry, "HEAD"), "ref: refs/heads/main\n", 0o644)
	his := filepath.Join(filepath.Dir(filepath.Dir(victim.Home)), "his")
	s.git("clone", "-q", "--bare", evil, filepath.Join(victim.Home, "his"))
	if err := os.Rename(filepath.Join(victim.Home, "his"), his); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("chown", "-R", fmt.Sprint(attacker.UID), his).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	a := attack.New(t, "a repository in a clone, or of another user, has an entry for a worktree of this user, and sweep --apply runs in it")
	for _, dir := range []string{evil, filepath.Join(evil, "refs"), his} {
		out := s.winnow(dir, nil, nil, true, "sweep", "--apply", "--kind", "dir")
		wrong := s.untouched(out)
		if wrong == "" && strings.Contains(out, s.tree) {
			wrong = "it was looked at: " + out
		}
		a.Check(wrong)
	}
}

func actAsRoot(t *testing.T, victim, _ attack.User, program string) {
	s := newScope(t, victim, program)
	root := *s
	root.user = attack.User{UID: 0, GID: 0, Home: filepath.Join(filepath.Dir(filepath.Dir(victim.Home)), "root")}
	root.user.Mkdir(t, root.user.Home, 0o700)
	a := attack.New(t, "root runs sweep --apply over another user's worktrees")
	for _, dir := range []string{"/", s.tree} {
		out := root.winnow(dir, []string{filepath.Dir(s.tree)}, nil, dir != "/", "sweep", "--apply", "--kind", "dir", "--format", "json")
		wrong := s.untouched(out)
		if wrong == "" && !strings.Contains(out, "belongs to another user") {
			wrong = "the reason is not reported:\n" + out
		}
		a.Check(wrong)
	}
}

// swapRoot swaps a root for a link to other worktrees, over and over, while the program acts.
func swapRoot(t *testing.T, victim, _ attack.User, program string) {
	s := newScope(t, victim, program)
	root, away := filepath.Join(victim.Home, "root"), filepath.Join(victim.Home, "swap")
	victim.Mkdir(t, root, 0o700)
	victim.Mkdir(t, filepath.Join(root, scopeName), 0o700)
	victim.Write(t, filepath.Join(root, scopeName, "work"), "not done", 0o600)
	victim.Link(t, filepath.Dir(s.tree), away)
	ctx, stop := context.WithCancel(t.Context())
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for ctx.Err() == nil {
			_ = unix.Renameat2(unix.AT_FDCWD, root, unix.AT_FDCWD, away, unix.RENAME_EXCHANGE)
		}
	})
	a := attack.New(t, "a root is swapped for a link to other worktrees while sweep --apply runs")
	for range 10 {
		out := s.winnow("/", []string{root}, nil, false, "sweep", "--apply", "--kind", "dir")
		a.Check(s.untouched(out))
	}
	stop()
	swapping.Wait()
}

// hideUsers uses a worktree in ways that are not asked about in a look at everything: the look right before
// the act sees them, and explain names them.
func hideUsers(t *testing.T, victim, _ attack.User, program string) {
	s := newScope(t, victim, program)
	real := filepath.Dir(s.tree)
	admin := filepath.Join(victim.Home, "project/.git/worktrees", scopeName)
	a := attack.New(t, "a program uses a worktree by its command line, its environment or git's folder for it, and sweep --apply runs")
	for how, start := range map[string]func(c *exec.Cmd){
		"admin": func(c *exec.Cmd) { c.Dir = admin },
		"env":   func(c *exec.Cmd) { c.Env = append(c.Env, "GIT_WORK_TREE="+s.tree) },
		"argv": func(c *exec.Cmd) {
			c.Path, c.Dir = "/bin/sh", victim.Home
			c.Args = []string{"sh", "-c", "sleep 300; :", "real/" + scopeName}
		},
	} {
		c := victim.Command("sleep", "300")
		c.Dir = "/"
		start(c)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		out := s.winnow("/", []string{real}, nil, false, "sweep", "--apply", "--kind", "dir")
		wrong := s.untouched(out)
		if wrong == "" {
			x := s.winnow("/", []string{real}, nil, false, "explain", "dir:"+s.tree, "--format", "json")
			if !strings.Contains(x, fmt.Sprintf("%q", how)) {
				wrong = fmt.Sprintf("explain does not name %q:\n%s", how, x)
			}
		}
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		_ = c.Wait()
		a.Check(wrong)
	}
	if out := s.winnow("/", []string{real}, nil, false, "sweep", "--apply", "--kind", "dir"); s.untouched("") == "" {
		t.Errorf("no process uses it any more and it stayed:\n%s", out)
	}
}
