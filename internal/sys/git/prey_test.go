package git_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/original"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// prey is a repository with a linked worktree that an attacker can write to, and a program that leaves a mark when it is run.
type prey struct {
	testing.TB
	dir, home, main, tree, admin, common, mark, evil string
}

func newPrey(t testing.TB, init ...string) *prey {
	return newCopy(t, "prey "+strings.Join(init, " "), func(p *prey) { original.TwoTrees(p.git, p.dir, init...) })
}

var originals original.Folders

func TestMain(m *testing.M) { os.Exit(originals.Run(m)) }

// newCopy is a copy of what fill has git make once.
func newCopy(t testing.TB, name string, fill func(p *prey)) *prey {
	t.Helper()
	at := func(dir string) *prey {
		return &prey{TB: t, dir: dir, home: dir + "/home", main: dir + "/main", tree: dir + "/tree", mark: dir + "/ran", evil: dir + "/evil.sh",
			common: dir + "/main/.git", admin: dir + "/main/.git/worktrees/tree"}
	}
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	originals.CopyTo(t, name, dir, func(dir string) { fill(at(dir)) })
	p := at(dir)
	executable.Write(t, p.evil, "#!/bin/sh\necho \"$0 $*\" >>'"+p.mark+"'\nexit 1\n")
	p.git(p.main, "update-index", "-q", "--refresh")
	p.git(p.tree, "update-index", "-q", "--refresh")
	return p
}

func (p *prey) write(path, text string) {
	p.Helper()
	must.Do(p, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(p, os.WriteFile(path, []byte(text), 0o600))
}

func (p *prey) add(path, text string) {
	p.Helper()
	f := must.Get(os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))(p)
	must.Get(f.WriteString(text))(p)
	must.Do(p, f.Close())
}

func (p *prey) try(dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(p.Context(), wait.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "GIT_") && !strings.HasPrefix(kv, "HOME=") && !strings.HasPrefix(kv, "XDG_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+p.home, "GIT_CONFIG_NOSYSTEM=1", "GIT_EDITOR=true", "LC_ALL=C")
	out, err := cmd.Output()
	return string(out), err
}

func (p *prey) git(dir string, args ...string) string {
	p.Helper()
	out, err := p.try(dir, args...)
	if err != nil {
		p.Fatalf("git %v in %s: %v\n%s", args, dir, err, out)
	}
	return strings.TrimSuffix(out, "\n")
}

// touch gives the tracked files times that the index does not know, so that git looks into them, and filters run.
func (p *prey) touch() {
	p.Helper()
	later := time.Now().Add(time.Minute)
	for _, name := range []string{"a.txt", "b.txt"} {
		must.Do(p, os.Chtimes(filepath.Join(p.tree, name), later, later))
	}
}

// ran is what the program left, which is then forgotten.
func (p *prey) ran() string {
	p.Helper()
	data, err := os.ReadFile(p.mark)
	if os.IsNotExist(err) {
		return ""
	}
	if err == nil {
		err = os.Remove(p.mark)
	}
	if err != nil {
		p.Fatal(err)
	}
	return string(data)
}

// look asks everything that is ever asked about the worktree.
func (p *prey) look() (git.Content, *git.Worktree, error) {
	return p.lookAt(p.tree)
}

func (p *prey) lookAt(tree string) (content git.Content, w *git.Worktree, err error) {
	ctx, cancel := context.WithTimeout(p.Context(), wait.Patience)
	defer cancel()
	finder := git.NewFinder()
	place, err := finder.Locate(tree)
	if err != nil {
		return content, nil, err
	}
	repo, err := finder.Open(place.CommonDir)
	if err != nil {
		return content, nil, err
	}
	w = repo.Read(place)
	if err := repo.MeasureAhead(ctx, git.Program{}, []*git.Worktree{w}); err != nil {
		return content, w, err
	}
	content, err = repo.Status(ctx, git.Program{}, w)
	return content, w, err
}
