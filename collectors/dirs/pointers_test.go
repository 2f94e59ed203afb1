package dirs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/dirs"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestWhatLeadsIntoAWorktree makes each thing that leads into a worktree from outside, and wants it named; path is below the world's folder.
func TestWhatLeadsIntoAWorktree(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(w *world, home, tree string)
		kind string
		path string
	}{
		"nothing":                         {func(*world, string, string) {}, "", ""},
		"a link in ~/.local/bin":          {func(w *world, home, tree string) { w.lead(tree+"/a.txt", home+"/.local/bin/a") }, "link", "home/.local/bin/a"},
		"a relative link in ~/bin":        {func(w *world, home, tree string) { w.lead("../../wts/x/a.txt", home+"/bin/a") }, "link", "home/bin/a"},
		"a link to what is not there yet": {func(w *world, home, tree string) { w.lead(tree+"/dist/a", home+"/bin/a") }, "link", "home/bin/a"},
		"a link in the main node_modules": {func(w *world, _, tree string) { w.lead(tree, w.main+"/node_modules/x") }, "link", "app/node_modules/x"},
		"one of a scope":                  {func(w *world, _, tree string) { w.lead(tree+"/packages/x", w.main+"/node_modules/@acme/x") }, "link", "app/node_modules/@acme/x"},
		"one by way of another link": {func(w *world, home, tree string) {
			w.lead(tree, w.dir+"/global")
			w.lead(w.dir+"/global", w.main+"/node_modules/x")
		}, "link", "app/node_modules/x"},
		"another worktree's node_modules": {func(w *world, _, tree string) { w.lead(tree+"/node_modules", w.branch("y")+"/node_modules") }, "link", "wts/y/node_modules"},
		"an editable install": {func(w *world, _, tree string) {
			w.write(w.main+"/.venv/lib/python3.12/site-packages/x.pth", tree+"/src\n")
		}, "install", "app/.venv/lib/python3.12/site-packages/x.pth"},
		"a finder of an editable install": {func(w *world, _, tree string) {
			w.write(w.main+"/venv/lib/python3.12/site-packages/__editable___x_finder.py", "MAPPING = {'x': '"+tree+"/x'}\n")
		}, "install", "app/venv/lib/python3.12/site-packages/__editable___x_finder.py"},
		"a unit": {func(w *world, home, tree string) {
			w.write(home+"/.config/systemd/user/x.service", "[Service]\nWorkingDirectory="+tree+"\nExecStart=/bin/true\n")
		}, "unit", "home/.config/systemd/user/x.service"},
		"a unit that was linked": {func(w *world, home, tree string) {
			w.lead(tree+"/x.service", home+"/.config/systemd/user/default.target.wants/x.service")
		}, "link", "home/.config/systemd/user/default.target.wants/x.service"},
		"a unit of the machine": {func(w *world, _, tree string) {
			w.write(w.dir+"/machine/etc/systemd/system/x.service", "[Service]\nExecStart="+tree+"/run --now\n")
		}, "unit", "machine/etc/systemd/system/x.service"},
		"a crontab": {func(w *world, _, tree string) {
			w.write(w.dir+"/machine/var/spool/cron/crontabs/me", "# m h\n0 * * * * "+tree+"/run\n")
		}, "cron", "machine/var/spool/cron/crontabs/me"},
		"the machine's crontab": {func(w *world, _, tree string) {
			w.write(w.dir+"/machine/etc/cron.d/x", "0 * * * * root cd "+tree+"; make\n")
		}, "cron", "machine/etc/cron.d/x"},
		"core.hooksPath":           {func(w *world, _, tree string) { w.git(w.main, "config", "core.hooksPath", tree+"/hooks") }, "git", "app/.git/config"},
		"core.hooksPath, relative": {func(w *world, _, tree string) { w.git(w.main, "config", "core.hooksPath", "../wts/x/hooks") }, "git", "app/.git/config"},
		"an include":               {func(w *world, _, tree string) { w.git(w.main, "config", "include.path", tree+"/gitconfig") }, "git", "app/.git/config"},
		"a hook": {func(w *world, _, tree string) {
			w.write(w.main+"/.git/hooks/pre-commit", "#!/bin/sh\nINSTALL_PYTHON="+tree+"/.venv/bin/python\n")
		}, "hook", "app/.git/hooks/pre-commit"},
		"a program of pip's":             {func(w *world, home, tree string) { w.write(home+"/.local/bin/x", "#!"+tree+"/.venv/bin/python\n") }, "script", "home/.local/bin/x"},
		"a shell's start":                {func(w *world, home, tree string) { w.write(home+"/.bashrc", ". '"+tree+"/env.sh'\n") }, "shell", "home/.bashrc"},
		"a copy":                         {func(w *world, _, tree string) { w.copy(tree, w.wts+"/copy") }, "checkout", "wts/copy"},
		"a copy deep in the home folder": {func(w *world, home, tree string) { w.copy(tree, home+"/old/copy") }, "checkout", "home/old/copy"},
		"a name that only begins so": {func(w *world, home, tree string) {
			w.lead(tree+"-2", home+"/bin/a")
			w.write(home+"/.bashrc", tree+"-2\n")
		}, "", ""},
		"hooks that each checkout has": {func(w *world, _, _ string) { w.git(w.main, "config", "core.hooksPath", ".husky") }, "", ""},
		"a comment":                    {func(w *world, home, tree string) { w.write(home+"/.bashrc", "# "+tree+"\n") }, "", ""},
		"its own links":                {func(w *world, _, tree string) { w.lead(tree+"/a.txt", tree+"/node_modules/x") }, "", ""},
		"how a package manager links":  {func(w *world, _, tree string) { w.lead(".pnpm/x/node_modules/x", w.main+"/node_modules/x") }, "", ""},
		"a link in a circle":           {func(w *world, home, _ string) { w.lead("a", home+"/bin/a") }, "", ""},
		"what is no file": {func(w *world, home, _ string) {
			w.mkdir(home + "/bin")
			must.Do(w, unix.Mkfifo(home+"/bin/a", 0o600))
			must.Do(w, unix.Mkfifo(home+"/.bashrc", 0o600))
		}, "", ""},
		"another worktree's entry, not this one": {func(w *world, _, tree string) { w.copy(w.branch("y"), w.wts+"/copy") }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, o := leading(t)
			tree := w.branch("x")
			c.make(w, o.Home, tree)
			want := []snapshot.Pointer{}
			if c.kind != "" {
				want = append(want, snapshot.Pointer{Kind: c.kind, Path: filepath.Join(w.dir, c.path)})
			}
			d := one(t, o, tree)
			if d.Error != "" || d.Skipped != "" || d.Pointers == nil {
				t.Fatalf("skipped: %q, error: %q", d.Skipped, d.Error)
			}
			must.Equal(t, want, *d.Pointers, "what leads into it")
		})
	}
}

// TestWhatLeadsIntoAFolderIsNotKnown has a place that could not be read whole: no pointers are reported.
func TestWhatLeadsIntoAFolderIsNotKnown(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(w *world, o *dirs.Options){
		"no home": func(_ *world, o *dirs.Options) { o.Home = "" },
		"a unit of 2 MiB": func(w *world, o *dirs.Options) {
			w.write(o.Home+"/.config/systemd/user/x.service", strings.Repeat("#\n", 1<<20))
		},
		"a damaged config": func(w *world, o *dirs.Options) { w.write(o.Home+"/.gitconfig", "[core\n") },
		"a file for a folder": func(w *world, o *dirs.Options) {
			if os.Geteuid() == 0 {
				w.Skip("root may read all")
			}
			w.mkdir(o.Home + "/bin")
			must.Do(w, os.Chmod(o.Home+"/bin", 0))
			w.Cleanup(func() { _ = os.Chmod(o.Home+"/bin", 0o700) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, o := leading(t)
			tree := w.branch("x")
			make(w, &o)
			if d := one(t, o, tree); d.Pointers != nil || !strings.Contains(d.Error, "look what leads into it") {
				t.Errorf("%v, %q", d.Pointers, d.Error)
			}
		})
	}
}

// TestAnEntryWhoseWorktreeWasMovedFarAway has it where no checkout was: in the home folder, and below a root.
func TestAnEntryWhoseWorktreeWasMovedFarAway(t *testing.T) {
	t.Parallel()
	w, o := leading(t)
	tree := w.branch("x")
	w.branch("y")
	for _, at := range []string{"home/kept/x", "root/a/x"} {
		t.Run(at, func(t *testing.T) {
			to := filepath.Join(w.dir, at)
			w.mkdir(filepath.Dir(to))
			must.Do(t, os.Rename(tree, to))
			o.Beside = []string{filepath.Join(w.dir, "roo*")}
			source, _ := dirs.Repository(o, w.main)
			d, ok := read(t, source).Dirs[dirs.ID(tree)]
			if !ok || d.Gone == nil || d.Pointers == nil || d.Error != "" {
				t.Fatalf("%v %+v", ok, d)
			}
			must.Equal(t, []snapshot.Pointer{{Kind: "checkout", Path: to}}, *d.Pointers, "what leads into it")
			must.Do(t, os.Rename(to, tree))
		})
	}
}

// TestManyPackagesAreQuick has more packages than a glance reads.
func TestManyPackagesAreQuick(t *testing.T) {
	t.Parallel()
	w, o := leading(t)
	tree := w.branch("x")
	for i := range 2000 {
		w.mkdir(fmt.Sprintf("%s/node_modules/p%d", w.main, i))
	}
	w.lead(tree, w.main+"/node_modules/last")
	must.Equal(t, []snapshot.Pointer{{Kind: "link", Path: w.main + "/node_modules/last"}}, *one(t, o, tree).Pointers, "what leads into it")
}

// leading is a world with a home folder and a machine of its own, in which no program crontab is asked.
func leading(t *testing.T) (*world, dirs.Options) {
	w, o := newWorld(t), options()
	o.Home, o.Machine = filepath.Join(w.dir, "home"), filepath.Join(w.dir, "machine")
	w.mkdir(o.Home)
	return w, o
}

// lead makes a link, and the folder that it lies in.
func (w *world) lead(to, at string) {
	w.Helper()
	w.mkdir(filepath.Dir(at))
	w.link(to, at)
}

// copy copies a worktree as cp -a does.
func (w *world) copy(from, to string) {
	w.Helper()
	w.mkdir(filepath.Dir(to))
	must.Do(w, os.CopyFS(to, os.DirFS(from)))
}
