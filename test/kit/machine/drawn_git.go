package machine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

func (d *Drawing) git() {
	r := d.acme
	admin := func(p string) string { return r.git(p, "rev-parse", "--absolute-git-dir") }
	old := func(p string) { d.must(age(p, time.Hour)) }

	p := r.worktree(d.inside("squash"), "worktree-squash", 2)
	r.git(p, "push", "-q", "-u", "origin", "worktree-squash")
	r.land("worktree-squash", squash)
	r.git(p, "push", "-q", "origin", "--delete", "worktree-squash")
	r.git(p, "fetch", "-q", "--prune")
	d.gone("squash", "its two commits are one on origin/main, and the forge deleted its branch", dirPart(d.left(p)))

	p = r.worktree(d.inside("rebase"), "worktree-rebase", 2)
	r.land("worktree-rebase", rebased)
	d.gone("rebase", "its two commits are on origin/main under other ids", dirPart(d.left(p)))

	p = r.worktree(d.inside("unused"), "worktree-unused", 0)
	d.gone("unused", "an agent that only read had it; nothing was ever done in it", dirPart(d.left(p)))

	p = d.landed("dead-lock", squash)
	r.git(r.path, "worktree", "lock", "--reason", "claude agent agent-4f5e (pid 3999999 start 12345)", p)
	d.gone("dead lock", "landed, and the process that locked it ended long ago", dirPart(d.left(p)))

	p = r.worktree(d.inside("gone-folder"), "worktree-gone-folder", 0)
	at := admin(p)
	d.left(p)
	d.must(os.RemoveAll(p))
	d.gone("gone folder", "a person deleted the folder; only git's entry stands (794 of them in one report)",
		entryPart(p, at))

	p = r.worktree(d.inside("orphan"), "worktree-orphan", 0)
	at = admin(p)
	d.left(p)
	d.must(os.RemoveAll(at))
	d.gone("orphan folder",
		"git worktree prune took its entry, and every file in it is in origin/main (26 GB in one report)", dirPart(p))

	p = d.inside("pr-33-review")
	r.gitAt(3*day, r.path, "worktree", "add", "-q", "--detach", p, "main")
	d.gone("review", "an agent's detached worktree at a commit of origin/main", dirPart(d.left(p)))

	p = d.landed("litter", merged, "node_modules/.package-lock.json={}", "node_modules/vite/index.js=x",
		".next/BUILD_ID=a", ".next/server/page.js=x", "npm-debug.log=x")
	d.gone("litter", "landed, with node_modules, .next and npm's log", dirPart(p))

	p = d.landed("dead-git", squash)
	d.write(filepath.Join(admin(p), "index.lock"), "")
	d.gone("dead git", "landed, and an index.lock of a git that was killed two days ago", dirPart(d.left(p)))

	p = d.inside("half")
	r.gitAt(time.Hour, r.path, "worktree", "add", "-q", "--no-checkout", "-b", "worktree-half", p, "main")
	at = admin(p)
	d.write(filepath.Join(at, "locked"), "initializing\n")
	old(p)
	old(at)
	d.gone("half made", "git worktree add was killed: locked as initializing, and no file but .git", dirPart(p),
		entryPart(p, at))

	p = d.Path(".codex", "worktrees", "9f9f", "acme")
	d.must(os.MkdirAll(filepath.Dir(p), 0o755))
	r.git(d.Home, "clone", "-q", r.path+".remote", p)
	d.write(filepath.Join(p, "shared.txt"), "stashed\n")
	r.git(p, "stash", "-q")
	old(p)
	d.stays("stash in a clone", "an agent's own clone; its stash stands nowhere else", dirPart(p),
		d.filePart(filepath.Join(p, ".git", "refs", "stash")))

	p = d.landed("env", squash, ".env.local=TOKEN=1")
	d.stays(".env.local", "landed, and its ignored values stand nowhere else", dirPart(p),
		d.filePart(filepath.Join(p, ".env.local")))

	d.write(filepath.Join(r.path, ".git", "info", "exclude"), "findings.md\n")
	p = d.landed("findings", squash, "findings.md=what I found")
	d.stays("notes", "landed, and notes that .git/info/exclude ignores", dirPart(p),
		d.filePart(filepath.Join(p, "findings.md")))

	p = d.inside("detached")
	r.gitAt(3*day, r.path, "worktree", "add", "-q", "--detach", p, "main")
	d.write(filepath.Join(p, "deep.txt"), "deep\n")
	r.commit(p, "deep", 2*day)
	d.stays("detached", "a commit on no branch and on no remote (claude-code#74719)", dirPart(d.left(p)),
		d.filePart(filepath.Join(p, "deep.txt")))

	p = r.worktree(d.inside("rebasing"), "worktree-rebasing", 0)
	d.write(filepath.Join(p, "shared.txt"), "theirs\n")
	r.commit(p, "theirs", 3*day)
	r.git(p, "push", "-q", "-u", "origin", "worktree-rebasing")
	d.write(filepath.Join(r.path, "shared.txt"), "ours\n")
	r.commit(r.path, "ours", 2*day)
	r.publish()
	cmd := exec.Command("git", "-C", p, "rebase", "main")
	cmd.Env = d.Env()
	if cmd.Run() == nil {
		d.t.Fatal("the rebase did not stop")
	}
	d.stays("rebase", "it stopped with a conflict, and a person has begun to solve it", dirPart(d.left(p)),
		d.filePart(filepath.Join(p, "shared.txt")))

	p = d.landed("mine", squash)
	r.git(r.path, "worktree", "lock", "--reason", "keep: demo on Friday", p)
	d.stays("a person's lock", "a person locked it", dirPart(d.left(p)))

	p = d.landed("more", squash)
	d.write(filepath.Join(p, "more.txt"), "more\n")
	r.commit(p, "more", 2*day)
	d.stays("one more", "one commit more than was squashed", dirPart(d.left(p)),
		d.filePart(filepath.Join(p, "more.txt")))

	lib, outer := d.repo(d.Path("code", "lib"), true), d.repo(d.Path("code", "outer"), true)
	outer.git(outer.path, "submodule", "add", "-q", lib.path+".remote", "lib")
	outer.commit(outer.path, "with lib", 20*day)
	outer.publish()
	p = outer.worktree(filepath.Join(outer.path, ".claude", "worktrees", "sub"), "worktree-sub", 1)
	outer.git(p, "submodule", "update", "-q", "--init")
	outer.git(filepath.Join(p, "lib"), "checkout", "-q", "-b", "own")
	d.write(filepath.Join(p, "lib", "own.txt"), "own\n")
	outer.commit(filepath.Join(p, "lib"), "own", 2*day)
	outer.git(filepath.Join(p, "lib"), "checkout", "-q", "--detach", "HEAD~")
	outer.land("worktree-sub", squash)
	ref := filepath.Join(outer.git(filepath.Join(p, "lib"), "rev-parse", "--absolute-git-dir"), "refs", "heads", "own")
	outer.old(p, time.Hour)
	d.stays("submodule", "landed and clean, but the module has a branch with a commit of its own", dirPart(p),
		d.filePart(ref))

	p = d.landed("edited", squash)
	vim := d.terminal(p, []string{roleVar + "=wait"}, d.program("vim"), "shared.txt")
	d.stays("a person's editor", "it stands in a landed worktree", dirPart(p), pidPart(vim))

	p = d.landed("skipped", squash)
	r.git(p, "update-index", "--skip-worktree", "config.json")
	d.write(filepath.Join(p, "config.json"), fmt.Sprintln(`{"port":2,"token":"mine"}`))
	d.stays("skip-worktree", "git status says clean, but a file is changed and marked skip-worktree",
		dirPart(d.left(p)), d.filePart(filepath.Join(p, "config.json")))
}
