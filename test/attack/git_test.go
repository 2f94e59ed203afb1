package attack_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/executable"
)

// TestAttackGitThatIsGone runs the program where git is missing, fails or is another program. Worktrees are kept, and this is reported.
func TestAttackGitThatIsGone(t *testing.T) {
	winnow := attack.Winnow(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	worktree := at("roots/w")
	for _, args := range [][]string{{"init", "-q", at("repo")}, {"-C", at("repo"), "commit", "-q", "--allow-empty", "-m", "x"},
		{"-C", at("repo"), "worktree", "add", "-q", worktree}} {
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	config := "version: 1\ncollect:\n  dirs:\n    roots: [" + at("roots") + "]\n    agent_folders: []\n    discover: false\n"
	if err := os.WriteFile(at("config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	a := attack.New(t, "git is missing, fails, or is another program")
	for name, script := range map[string]string{"missing": "", "failing": "exit 1", "another program": "echo hello", "silent": "exit 0"} {
		bin := at("bin " + name)
		if err := os.Mkdir(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		if script != "" {
			executable.Write(t, filepath.Join(bin, "git"), "#!/bin/sh\n"+script+"\n")
		}
		for _, args := range [][]string{{"sweep"}, {"sweep", "--apply"}} {
			cmd := exec.Command(winnow, append(args, "--kind", "dir", "--format", "json", "--config", at("config.yaml"), "--state", at("state"))...)
			cmd.Dir, cmd.Env = dir, []string{"PATH=" + bin, "HOME=" + dir}
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			_, there := os.Lstat(worktree)
			switch {
			case !errors.As(err, &exit) || exit.ExitCode() != 3 && exit.ExitCode() != 1:
				a.Lost("%s, %v: want exit 3 or 1, got %v\n%s", name, args, err, out)
			case !strings.Contains(string(out), "git cannot be run"):
				a.Lost("%s, %v: nothing says so:\n%s", name, args, out)
			case there != nil:
				a.Lost("%s, %v: the worktree is gone: %v", name, args, there)
			default:
				a.Held()
			}
		}
	}
}
