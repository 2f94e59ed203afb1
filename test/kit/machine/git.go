package machine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const day = 24 * time.Hour

// repo is a repository with its main checkout. Its remote, where it has one, is a bare repository beside it.
type repo struct {
	m      *Machine
	path   string
	remote bool
	files  int
}

func (m *Machine) repo(path string, remote bool) *repo {
	m.t.Helper()
	r := &repo{m: m, path: path, remote: remote}
	m.must(os.MkdirAll(path, 0o755))
	r.git(path, "init", "-q", "-b", "main")
	r.git(path, "config", "user.name", "u")
	r.git(path, "config", "user.email", "u@example.org")
	r.m.write(filepath.Join(path, "shared.txt"), "one\ntwo\nthree\nfour\nfive\n")
	r.m.write(filepath.Join(path, ".gitignore"), ".env\nnode_modules/\n*.log\n.claude/\n")
	r.commit(path, "first", 30*day)
	if remote {
		bare := path + ".remote"
		r.git(path, "clone", "-q", "--bare", path, bare)
		r.git(path, "remote", "add", "origin", bare)
		r.git(path, "fetch", "-q")
		r.git(path, "remote", "set-head", "origin", "main")
		r.git(path, "branch", "-q", "-u", "origin/main")
	}
	return r
}

func (r *repo) git(dir string, args ...string) string {
	r.m.t.Helper()
	return r.gitAt(0, dir, args...)
}

func (r *repo) gitAt(ago time.Duration, dir string, args ...string) string {
	r.m.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	at := time.Now().Add(-ago).Format(time.RFC3339)
	cmd.Env = append(r.m.Env(), "GIT_AUTHOR_DATE="+at, "GIT_COMMITTER_DATE="+at)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.m.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repo) commit(dir, message string, ago time.Duration) {
	r.m.t.Helper()
	r.git(dir, "add", "-A")
	r.gitAt(ago, dir, "commit", "-q", "-m", message)
}

// worktree makes a linked worktree with a branch of its own and so many commits, each of a file of its own, ten days ago.
func (r *repo) worktree(path, branch string, commits int) string {
	r.m.t.Helper()
	r.m.must(os.MkdirAll(filepath.Dir(path), 0o755))
	r.gitAt(10*day, r.path, "worktree", "add", "-q", "-b", branch, path, "main")
	for i := range commits {
		r.files++
		r.m.write(filepath.Join(path, fmt.Sprintf("%s-%d.txt", filepath.Base(branch), i)), fmt.Sprintf("work %d of %s\n", i, branch))
		r.commit(path, fmt.Sprintf("%s %d", branch, i), 10*day-time.Duration(i)*time.Hour)
	}
	return path
}

// The ways in which a branch lands on main.
const (
	merged  = "merged"
	squash  = "squashed"
	rebased = "rebased"
	mixed   = "squashed together with other work"
)

// land brings a branch into main, nine days ago, and publishes that.
func (r *repo) land(branch, how string) {
	r.m.t.Helper()
	ago := 9 * day
	switch how {
	case merged:
		r.gitAt(ago, r.path, "merge", "-q", "--no-ff", "-m", "Merge "+branch, branch)
	case squash:
		r.git(r.path, "merge", "-q", "--squash", branch)
		r.gitAt(ago, r.path, "commit", "-q", "-m", branch+" (#1)")
	case rebased:
		base := r.git(r.path, "merge-base", "main", branch)
		r.gitAt(ago, r.path, "cherry-pick", base+".."+branch)
	case mixed:
		r.git(r.path, "merge", "-q", "--squash", branch)
		r.files++
		r.m.write(filepath.Join(r.path, fmt.Sprintf("other-%d.txt", r.files)), "other work\n")
		r.git(r.path, "add", "-A")
		r.gitAt(ago, r.path, "commit", "-q", "-m", "several things")
	}
	r.publish()
}

func (r *repo) publish() {
	r.m.t.Helper()
	if r.remote {
		r.git(r.path, "push", "-q", "origin", "main")
	}
}

// old sets a worktree's own times, and those of what git keeps for it, so far back.
func (r *repo) old(worktree string, by time.Duration) {
	r.m.t.Helper()
	r.m.must(age(worktree, by))
	r.m.must(age(r.git(worktree, "rev-parse", "--absolute-git-dir"), by))
}
