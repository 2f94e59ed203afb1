package original

import (
	"os"
	"path/filepath"
)

// quiet keeps git from starting programs beside those that a test asks for.
func quiet(git Git, repositories ...string) {
	for _, at := range repositories {
		git(at, "config", "maintenance.auto", "false")
		git(at, "config", "gc.auto", "0")
		git(at, "config", "receive.autogc", "false")
	}
}

// Git runs git in a folder.
type Git func(dir string, args ...string) string

// write writes files, by their paths, with the folders that they lie in.
func write(files map[string]string) {
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			panic(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			panic(err)
		}
	}
}

// LinkedWorktree is a repository with two commits (repo), a remote that has them (remote.git), and a worktree on a branch of its own, work (trees/work).
func LinkedWorktree(git Git, at string) {
	main := at + "/repo"
	write(map[string]string{main + "/.gitignore": "*.env\nignored/\n", main + "/a": "one\n", main + "/sub/b": "two\n", at + "/trees/.keep": ""})
	git(main, "init", "-q", "-b", "main")
	git(main, "add", "-A")
	git(main, "commit", "-q", "-m", "first")
	write(map[string]string{main + "/a": "one and more\n"})
	git(main, "commit", "-q", "-a", "-m", "second")
	git(at, "init", "-q", "--bare", "remote.git")
	git(main, "remote", "add", "origin", at+"/remote.git")
	git(main, "push", "-q", "origin", "main")
	git(main, "worktree", "add", "-q", "-b", "work", at+"/trees/work")
	_ = os.Remove(at + "/trees/.keep")
	quiet(git, main, at+"/remote.git")
}

// PushedRepository is a repository with one commit (app), which its remote has (origin.git), and a folder for worktrees (wts).
func PushedRepository(git Git, at string) {
	main := at + "/app"
	write(map[string]string{main + "/a.txt": "one\n", main + "/.gitignore": ".env\nnode_modules\ninner/\n*.log\n", at + "/wts/.keep": ""})
	_ = os.Remove(at + "/wts/.keep")
	git(at, "init", "-q", "--bare", at+"/origin.git")
	git(main, "init", "-q")
	git(main, "add", ".")
	git(main, "commit", "-q", "-m", "first")
	git(main, "remote", "add", "origin", at+"/origin.git")
	git(main, "push", "-q", "origin", "main")
	git(main, "remote", "set-head", "origin", "main")
	quiet(git, main, at+"/origin.git")
}

// TwoTrees is a repository with one commit (main), made with the arguments of git init, and a worktree on a branch of its own, work (tree). The home beside
// them (home) has git's configuration.
func TwoTrees(git Git, at string, init ...string) {
	main := at + "/main"
	write(map[string]string{main + "/a.txt": "one\n", main + "/b.txt": "two\n",
		at + "/home/.gitconfig": "[user]\n\tname = t\n\temail = t@example.org\n[init]\n\tdefaultBranch = main\n" +
			"[protocol \"file\"]\n\tallow = always\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[advice]\n\tdetachedHead = false\n"})
	git(at, append([]string{"init", "-q", main}, init...)...)
	git(main, "add", ".")
	git(main, "commit", "-q", "-m", "first")
	git(main, "worktree", "add", "-q", "-b", "work", at+"/tree")
}
