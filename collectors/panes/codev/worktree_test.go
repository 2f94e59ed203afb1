package codev

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	client "github.com/winnow-reaper/winnow/internal/sys/tower"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/tower"
)

func word3(b *bool) string {
	switch {
	case b == nil:
		return "unknown"
	case *b:
		return "yes"
	}
	return "no"
}

// repository makes a workspace that is a checkout, with a worktree where Codev would put it.
func repository(t *testing.T) (workspace, worktree string) {
	t.Helper()
	workspace = filepath.Join(client.Resolved(t.TempDir()), "acme")
	must.Do(t, os.Mkdir(workspace, 0o755))
	runGit(t, workspace, "init", "-q")
	runGit(t, workspace, "commit", "-q", "--allow-empty", "-m", "one")
	worktree = filepath.Join(workspace, ".builders", "pir-7-slug")
	runGit(t, workspace, "worktree", "add", "-q", "-b", "builder/pir-7-slug", worktree)
	return workspace, worktree
}

func TestWorktrees(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change             func(t *testing.T, ws, tree string)
		gone, unregistered string
	}{
		"as it is":           {func(*testing.T, string, string) {}, "no", "no"},
		"removed by git":     {func(t *testing.T, ws, tree string) { runGit(t, ws, "worktree", "remove", tree) }, "yes", "unknown"},
		"removed by hand":    {func(t *testing.T, _, tree string) { must.Do(t, os.RemoveAll(tree)) }, "yes", "unknown"},
		"all worktrees gone": {func(t *testing.T, _, tree string) { must.Do(t, os.RemoveAll(filepath.Dir(tree))) }, "yes", "unknown"},
		"deregistered": {func(t *testing.T, ws, _ string) {
			must.Do(t, os.RemoveAll(filepath.Join(ws, ".git", "worktrees", "pir-7-slug")))
		}, "no", "yes"},
		"the last one deregistered": {func(t *testing.T, ws, _ string) { must.Do(t, os.RemoveAll(filepath.Join(ws, ".git", "worktrees"))) }, "no", "yes"},
		"without .git":              {func(t *testing.T, _, tree string) { must.Do(t, os.Remove(filepath.Join(tree, ".git"))) }, "no", "yes"},
		"its entry is another's": {func(t *testing.T, ws, tree string) {
			must.Do(t, os.WriteFile(filepath.Join(ws, ".git", "worktrees", "pir-7-slug", "gitdir"), []byte(ws+"/elsewhere/.git\n"), 0o644))
		}, "no", "yes"},
		"moved by git and another put there": {func(t *testing.T, ws, tree string) {
			runGit(t, ws, "worktree", "move", tree, tree+"-2")
			must.Do(t, os.Mkdir(tree, 0o755))
		}, "no", "yes"},
		"its entry is relative": {func(t *testing.T, ws, tree string) {
			must.Do(t, os.WriteFile(filepath.Join(ws, ".git", "worktrees", "pir-7-slug", "gitdir"), []byte("../../../.builders/pir-7-slug/.git\n"), 0o644))
		}, "no", "no"},
		"its entry is empty": {func(t *testing.T, ws, _ string) {
			must.Do(t, os.WriteFile(filepath.Join(ws, ".git", "worktrees", "pir-7-slug", "gitdir"), nil, 0o644))
		}, "no", "unknown"},
		"a clone of its own": {func(t *testing.T, ws, tree string) {
			must.Do(t, os.RemoveAll(tree))
			runGit(t, ws, "clone", "-q", ".", tree)
		}, "no", "unknown"},
		"a .git that cannot be understood": {func(t *testing.T, _, tree string) {
			must.Do(t, os.WriteFile(filepath.Join(tree, ".git"), []byte("nonsense"), 0o644))
		}, "no", "unknown"},
		"its entry was in another repository, and is gone": {func(t *testing.T, ws, tree string) {
			other, _ := repository(t)
			must.Do(t, os.WriteFile(filepath.Join(tree, ".git"), []byte("gitdir: "+other+"/.git/worktrees/gone\n"), 0o644))
		}, "no", "unknown"},
		"a file in its place": {func(t *testing.T, _, tree string) {
			must.Do(t, os.RemoveAll(tree))
			must.Do(t, os.WriteFile(tree, nil, 0o644))
		}, "no", "unknown"},
		"the repository is gone": {func(t *testing.T, ws, _ string) { must.Do(t, os.RemoveAll(filepath.Join(ws, ".git"))) }, "no", "unknown"},
		"the workspace is gone":  {func(t *testing.T, ws, _ string) { must.Do(t, os.Rename(ws, ws+"-moved")) }, "unknown", "unknown"},
		"the workspace is empty, as a disk that is not mounted": {func(t *testing.T, ws, _ string) {
			must.Do(t, os.Rename(ws, ws+"-moved"))
			must.Do(t, os.Mkdir(ws, 0o755))
		}, "unknown", "unknown"},
		"the worktrees lie on a disk that is not mounted": {func(t *testing.T, ws, tree string) {
			must.Do(t, os.RemoveAll(filepath.Dir(tree)))
			must.Do(t, os.Symlink("/nowhere/at/all", filepath.Dir(tree)))
		}, "unknown", "unknown"},
		"the worktrees lie elsewhere": {func(t *testing.T, ws, tree string) {
			must.Do(t, os.Rename(filepath.Dir(tree), ws+"-trees"))
			must.Do(t, os.Symlink(ws+"-trees", filepath.Dir(tree)))
			must.Do(t, os.RemoveAll(tree))
		}, "yes", "unknown"},
		"a file in the worktrees' place": {func(t *testing.T, _, tree string) {
			must.Do(t, os.RemoveAll(filepath.Dir(tree)))
			must.Do(t, os.WriteFile(filepath.Dir(tree), nil, 0o644))
		}, "unknown", "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ws, tree := repository(t)
			tc.change(t, ws, tree)
			got := newTrees().look(ws, tree)
			if word3(got.gone) != tc.gone || word3(got.unregistered) != tc.unregistered {
				t.Errorf("gone %s, unregistered %s; want %s, %s", word3(got.gone), word3(got.unregistered), tc.gone, tc.unregistered)
			}
		})
	}
}

func TestWorktreesThatNobodyCanTell(t *testing.T) {
	t.Parallel()
	ws, tree := repository(t)
	outside := filepath.Join(filepath.Dir(ws), "trees", "x")
	for _, c := range [][2]string{{ws, ""}, {"", tree}, {ws, ws}, {ws, filepath.Dir(ws)}, {ws, "/"}, {ws, outside}} {
		if got := newTrees().look(c[0], c[1]); got.gone != nil || got.unregistered != nil {
			t.Errorf("%v: gone %s, unregistered %s", c, word3(got.gone), word3(got.unregistered))
		}
	}
	must.Do(t, os.Mkdir(filepath.Dir(outside), 0o755))
	if got := newTrees().look(ws, outside); word3(got.gone) != "yes" {
		t.Errorf("outside of the workspace: gone %s", word3(got.gone))
	}
}

// What this user may not look into is unknown; root may look into everything.
func TestWorktreesThatMayNotBeLookedAt(t *testing.T) {
	t.Parallel()
	if unix.Geteuid() == 0 {
		t.Skip("root may look into everything")
	}
	for _, mode := range []os.FileMode{0, 0o100, 0o600} {
		ws, tree := repository(t)
		t.Cleanup(func() { _ = os.Chmod(filepath.Dir(tree), 0o700) })
		must.Do(t, os.Chmod(filepath.Dir(tree), mode))
		for _, path := range []string{tree, tree + "-gone"} {
			if got := newTrees().look(ws, path); got.gone != nil && *got.gone || got.unregistered != nil && *got.unregistered {
				t.Errorf("%s at mode %o: gone %s, unregistered %s", path, mode, word3(got.gone), word3(got.unregistered))
			}
		}
	}
}

// The worktree comes from the builder's row, else from memory, else from where the terminal itself was started, or where the builder's own one
// works; the last two only where that is below .builders.
func TestWhichWorktree(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tower.Options{})
	id := f.row(f.ws, "builder-pir-7")
	dev := f.Terminal(f.ws, tower.Terminal{RoleID: "builder-pir-7", Dev: true, Cwd: f.ws})
	own := f.Terminal(f.ws, tower.Terminal{RoleID: "builder-pir-7", Dev: true, Cwd: filepath.Join(f.ws, ".builders", "started-here", "deep")})
	check := func(what, want, wantDev string) {
		t.Helper()
		p := f.read()
		if got := f.only(p, id).Owner.Worktree; got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
		if x := f.only(p, own.ID); !*x.Owner.Recorded && x.Owner.Worktree != filepath.Join(f.ws, ".builders", "started-here") {
			t.Errorf("%s: that of one started elsewhere: %q", what, x.Owner.Worktree)
		}
		if got := f.only(p, dev.ID).Owner.Worktree; got != wantDev {
			t.Errorf("%s: the development server's: %q, want %q", what, got, wantDev)
		}
	}
	row := filepath.Join(f.ws, ".builders", "by-row")
	f.Exec("UPDATE builders SET worktree = ?", row)
	check("the row", row, row)
	f.RemoveBuilder(f.ws, "builder-pir-7")
	cwd := f.worktree(f.ws, "builder-pir-7")
	check("where it works", cwd, cwd)
	f.Exec("UPDATE terminal_sessions SET cwd = ? WHERE id = ?", cwd+"/deep/er", id)
	check("where it works, further down", cwd, cwd)
	for _, other := range []string{f.ws, filepath.Dir(cwd), f.ws + ".builders/x", "/tmp"} {
		f.Exec("UPDATE terminal_sessions SET cwd = ? WHERE id = ?", other, id)
		check("it works in "+other, "", "")
	}
}
