package dirs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/dirs"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestHostileRepository holds that nothing that a repository's configuration names is run or hides a change.
func TestHostileRepository(t *testing.T) {
	t.Parallel()
	w, o := newWorld(t), options()
	path := w.landed("x")
	w.write(filepath.Join(path, ".gitattributes"), "*.txt filter=evil=x diff=evil merge=evil\n*.bin filter=old\n")
	w.write(filepath.Join(path, "b.bin"), "b")
	w.git(path, "add", ".")
	w.git(path, "commit", "-qm", "attributes")
	w.git(path, "push", "-q", "origin", "HEAD:main")
	mark := filepath.Join(w.dir, "ran")
	evil := filepath.Join(w.dir, "evil.sh")
	executable.Write(t, evil, "#!/bin/sh\necho \"$0\" >>"+mark+"\ncat\n")
	var config strings.Builder
	for _, key := range []string{"core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "core.alternateRefsCommand",
		"gpg.program", "diff.external", "pager.status", "alias.status", "credential.helper", "uploadpack.packObjectsHook"} {
		section, name, _ := strings.Cut(key, ".")
		fmt.Fprintf(&config, "[%s]\n\t%s = %s\n", section, name, evil)
	}
	fmt.Fprintf(&config, "[filter \"evil=x\"] clean = %s\n\tprocess = %s\n\trequired = true\n", evil, evil)
	fmt.Fprintf(&config, "[FILTER.old]\n\tclean = %s\n\trequired\n", evil)
	fmt.Fprintf(&config, "[diff \"evil\"]\n\tcommand = %s\n\ttextconv = %s\n", evil, evil)
	fmt.Fprintf(&config, "[core]\n\thooksPath = %s\n\tworktree = %s\n\tignoreStat = true\n\tuntrackedCache = true\n", w.dir, w.main)
	fmt.Fprintf(&config, "[status]\n\tshowUntrackedFiles = no\n\tsubmoduleSummary = true\n[diff]\n\tignoreSubmodules = all\n")
	fmt.Fprintf(&config, "[remote \"origin\"]\n\tpromisor = true\n\turl = ext::%s\n", evil)
	for _, hook := range []string{"post-index-change", "fsmonitor-watchman", "reference-transaction"} {
		executable.Write(t, filepath.Join(w.main, ".git", "hooks", hook), "#!/bin/sh\necho hook >>"+mark+"\n")
	}
	for _, file := range []string{filepath.Join(w.main, ".git", "config"), filepath.Join(w.admin(path), "config.worktree")} {
		f := must.Get(os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))(t)
		must.Get(f.WriteString(config.String() + "[extensions]\n\tworktreeConfig = true\n"))(t)
		must.Do(t, f.Close())
	}
	// Times that the index does not know make git look into the files, and the filters run.
	later := time.Now().Add(time.Minute)
	for _, name := range []string{"a.txt", "x.txt", "b.bin"} {
		must.Do(t, os.Chtimes(filepath.Join(path, name), later, later))
	}
	w.write(filepath.Join(path, "a.txt"), "changed\n")
	w.write(filepath.Join(path, "new"), "x")
	before := listing(t, w.main)
	d := one(t, o, path)
	if data, err := os.ReadFile(mark); err == nil {
		t.Errorf("something ran:\n%s", data)
	}
	if diff := cmp.Diff(before, listing(t, w.main)); diff != "" {
		t.Errorf("the repository changed:\n%s", diff)
	}
	want := clean()
	want.Commits, want.Dirty, want.Untracked = new(2), nil, new(1)
	want.Error = `"a.txt" cannot be judged without its filter (evil=x), a program that a configuration names; files like it: 1`
	must.Equal(t, want, of(d), "result")
	// The same configuration does run things when nothing is switched off, or this test would show nothing.
	out, _ := w.try(path, "--work-tree="+path, "status")
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("the configuration is not hostile after all: %v\n%s", err, out)
	}
}

// listing gives each file below dir with its size and times, but for reading.
func listing(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files[path] = fmt.Sprint(info.Size(), " ", info.ModTime().UnixNano(), " ", info.Mode())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestReadingWritesNothing holds that a look leaves repository and worktree as they were, an old entry and a stale index among
// them, both of which git likes to refresh.
func TestReadingWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.landed("x")
	old := time.Now().Add(-72 * time.Hour)
	must.Do(t, os.Chtimes(filepath.Join(w.admin(path), "gitdir"), old, old))
	must.Do(t, os.Chtimes(filepath.Join(path, "a.txt"), old, old))
	before := listing(t, w.dir)
	if d := one(t, options(), path); d.Git.Dirty == nil || *d.Git.Dirty != 0 {
		t.Errorf("%+v", d)
	}
	source, _ := dirs.Repository(options(), path)
	read(t, source)
	must.Equal(t, before, listing(t, w.dir), "result")
}

// TestFifosDoNotHang holds that pipes in place of git's files are refused and not waited for.
func TestFifosDoNotHang(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"HEAD", "logs/HEAD", "commondir", "gitdir"} {
		w := newWorld(t)
		path := w.landed("x")
		file := filepath.Join(w.admin(path), name)
		must.Do(t, os.Remove(file))
		must.Do(t, unix.Mkfifo(file, 0o600))
		if d := one(t, options(), path); d.Error == "" {
			t.Errorf("%s: %+v", name, d.Git)
		}
	}
}

// TestForeignOwner holds that git is not run for what another user owns, whose configuration it would follow.
func TestForeignOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	w, o := newWorld(t), options()
	path := w.landed("x")
	must.Do(t, os.Chown(w.admin(path), 4242, -1))
	program, runs := counting(t)
	o.Git = program
	d := one(t, o, path)
	if d.Git.Dirty != nil || !strings.Contains(d.Error, "belongs to user 4242") || status(runs()) != 0 {
		t.Errorf("%+v", d)
	}
}
