package dirs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// late is one worktree of a world, and a process that uses it in ways that a look for working directories does not see.
type late struct {
	*world
	// dir is the worktree, open, and file its file called open.
	dir  int
	file *os.File
	page []byte
	// out is another name of its file called linked, outside of it.
	out string
	// entry is its place in the repository.
	entry string
}

// lateIn adds a worktree of that name to w, and takes hold of it.
func lateIn(w *world, name string) *late {
	w.t.Helper()
	one := *w
	l := &late{world: &one, out: filepath.Join(w.base, name+".linked"), entry: filepath.Join(w.main, ".git", "worktrees", name)}
	l.tree = filepath.Join(w.root, name)
	l.git(l.main, "worktree", "add", "-q", "-b", name, l.tree)
	for _, file := range []string{"open", "mapped", "linked"} {
		l.write(filepath.Join(l.tree, "ignored", file), "early\n")
	}
	if err := os.Link(l.tree+"/ignored/linked", l.out); err != nil {
		w.t.Fatal(err)
	}
	var err error
	if l.dir, err = unix.Open(l.tree, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		w.t.Fatal(err)
	}
	if l.file, err = os.OpenFile(l.tree+"/ignored/open", os.O_RDWR, 0); err != nil {
		w.t.Fatal(err)
	}
	mapped, err := os.OpenFile(l.tree+"/ignored/mapped", os.O_RDWR, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	defer mapped.Close()
	if l.page, err = unix.Mmap(int(mapped.Fd()), 0, 6, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (l *late) close() {
	l.t.Helper()
	if err := errors.Join(unix.Close(l.dir), l.file.Close(), unix.Munmap(l.page)); err != nil {
		l.t.Error(err)
	}
}

// put writes a file below the folder that is held, wherever that is by now.
func (l *late) put(name, text string) error {
	fd, err := unix.Openat(l.dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// run runs git on the worktree, wherever that is by now.
func (l *late) run(args ...string) error {
	if _, err := os.Lstat(l.entry); err != nil {
		return errNoStep // its entry is away, too: git does not work there any more
	}
	at, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", l.dir))
	if err != nil {
		return err
	}
	if out, err := l.tryGit(l.base, append([]string{"--git-dir=" + l.entry, "--work-tree=" + at}, args...)...); err != nil {
		return fmt.Errorf("git %v: %w: %s", args, err, out)
	}
	return nil
}

// lateWork is what a process does to a worktree that is being set aside. found says where the work must be found afterwards.
var lateWork = []struct {
	name  string
	do    func(l *late) error
	found func(l *late) error
}{
	{"a new file", func(l *late) error { return l.put("late.txt", "work\n") }, func(l *late) error { return l.holds("late.txt", "work\n") }},
	{"a file of the same size", func(l *late) error { return l.put("sub/b", "TWO\n") }, func(l *late) error { return l.holds("sub/b", "TWO\n") }},
	{"an ignored file", func(l *late) error { return l.put("local.env", "S=1\n") }, func(l *late) error { return l.holds("local.env", "S=1\n") }},
	{"a file in a folder that can be built again", func(l *late) error { return l.put("ignored/new", "work\n") },
		func(l *late) error { return l.holds("ignored/new", "work\n") }},
	{"a file that is open", func(l *late) error { _, err := l.file.WriteAt([]byte("late!\n"), 0); return err },
		func(l *late) error { return l.holds("ignored/open", "late!\n") }},
	{"a file that is mapped", func(l *late) error { copy(l.page, "late!\n"); return nil },
		func(l *late) error { return l.holds("ignored/mapped", "late!\n") }},
	{"another name of a file", func(l *late) error { return os.WriteFile(l.out, []byte("late!\n"), 0o644) },
		func(l *late) error { return l.holds("ignored/linked", "late!\n") }},
	{"a file removed", func(l *late) error { return unix.Unlinkat(l.dir, "a", 0) }, func(l *late) error {
		if _, err := os.Lstat(l.tree + "/a"); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("a is there: %w", err)
		}
		return nil
	}},
	{"a commit", func(l *late) error {
		return errors.Join(l.put("c", "work\n"), l.run("add", "c"), l.run("commit", "-q", "-m", "late"))
	}, func(l *late) error { return l.headSays("late") }},
	{"a commit on no branch", func(l *late) error {
		return errors.Join(l.run("checkout", "-q", "--detach"), l.run("commit", "-q", "--allow-empty", "-m", "late"))
	}, func(l *late) error { return l.headSays("late") }},
	{"a commit amended", func(l *late) error { return l.run("commit", "-q", "--amend", "-m", "amended") }, func(l *late) error { return l.headSays("amended") }},
	{"a stash", func(l *late) error { return errors.Join(l.put("a", "stashed\n"), l.run("stash", "push", "-q")) },
		func(l *late) error { _, err := l.tryGit(l.tree, "rev-parse", "--verify", "stash@{0}"); return err }},
	{"another branch", func(l *late) error { return l.run("checkout", "-q", "-b", filepath.Base(l.tree)+"-late") }, func(l *late) error {
		if out, err := l.tryGit(l.tree, "symbolic-ref", "HEAD"); err != nil || !strings.HasSuffix(strings.TrimSpace(out), "-late") {
			return fmt.Errorf("HEAD is %s (%w)", out, err)
		}
		return nil
	}},
	{"staged content", func(l *late) error {
		return errors.Join(l.put("s", "staged\n"), l.run("add", "s"), unix.Unlinkat(l.dir, "s", 0))
	}, func(l *late) error { _, err := l.tryGit(l.tree, "cat-file", "-e", ":s"); return err }},
	{"its branch moved from elsewhere", func(l *late) error {
		_, err := l.tryGit(l.main, "update-ref", "refs/heads/"+filepath.Base(l.tree), "HEAD~1")
		return err
	}, func(*late) error { return nil }},
}

func (l *late) holds(name, text string) error {
	got, err := os.ReadFile(filepath.Join(l.tree, name))
	if err == nil && string(got) != text {
		err = fmt.Errorf("%s holds %q, want %q", name, got, text)
	}
	return err
}

func (l *late) headSays(message string) error {
	out, err := l.tryGit(l.tree, "log", "-1", "--format=%s")
	if err == nil && strings.TrimSpace(out) != message {
		err = fmt.Errorf("HEAD is %q, want %q", out, message)
	}
	return err
}

// lateSteps are those before the last comparison: what comes then puts the folder back.
var lateSteps = []string{"dir.refs", "held", "dir.check", "dir.trash", "dir.lock", "dir.move", "dir.look", "dir.admin", "dir.unlock", "dir.compare"}

// TestAttackWorkArrivesLate has a process work in a folder at every step of its being set aside, by what no look for users shows.
// The folder must come back, with the work in it and its commits kept.
func TestAttackWorkArrivesLate(t *testing.T) {
	t.Parallel()
	for i, work := range lateWork {
		t.Run(work.name, func(t *testing.T) {
			t.Parallel()
			a := attack.New(t, "work in a worktree while it is set aside: "+work.name)
			w := newWorld(t)
			var all []*late
			for n, step := range lateSteps {
				if !stage.Second() && n%3 != i%3 { // the first stage: each work at some steps, and each step with some work
					continue
				}
				l := lateIn(w, fmt.Sprintf("late%d", n))
				out, err := l.interrupted(nth(n), step, work.do)
				l.close()
				switch {
				case errors.Is(err, errNoStep):
					continue
				case err != nil:
					t.Fatalf("%s: %v", step, err)
				case out.Outcome == decision.Done:
					a.Lost("at %s: %+v", step, out)
					continue
				}
				all = append(all, l)
			}
			if len(all) > 0 {
				forget(w)
			}
			for _, l := range all {
				a.Check(wrong(l.tree, work.found(l)))
			}
		})
	}
}

func wrong(what string, err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf("%s: %v", what, err)
}

var errNoStep = errors.New("there is no such step")

// interrupted sets the worktree aside and works in it at a step. The step called held is between what is saved and the act,
// where it is judged for the last time.
func (l *late) interrupted(id, step string, work func(*late) error) (decision.Outcome, error) {
	var err error
	came := false
	l.o.Step = func(s string) {
		if s == step && !came {
			came, err = true, work(l)
		}
	}
	g, in, e := l.hold(id, l.tree)
	if e != nil {
		return decision.Outcome{}, e
	}
	defer g.Close()
	out := l.act(g, in)
	if !came {
		return out, errNoStep
	}
	return out, err
}

// TestAttackWorkAtAnyTime writes at a random moment. Where that comes after the last comparison the folder is set aside, and then
// its purge must refuse and restore must bring the work back.
func TestAttackWorkAtAnyTime(t *testing.T) {
	stage.NeedSecond(t, "it attacks for a long time")
	t.Parallel()
	a := attack.New(t, "a file written at a random moment of an act, and a purge right after it")
	w := newWorld(t)
	const trials = 60
	done := 0
	for n := range trials {
		l := lateIn(w, fmt.Sprintf("any%d", n))
		g, in, err := l.hold(nth(n), l.tree)
		must.Do(t, err)
		wait := time.Duration(rand.Int64N(int64(60 * time.Millisecond)))
		wrote := make(chan error, 1)
		go func() { time.Sleep(wait); wrote <- l.put("late.txt", "work\n") }()
		out := l.act(g, in)
		must.Do(t, errors.Join(<-wrote, g.Close()))
		l.close()
		if out.Outcome == decision.Done {
			done++
			_, err := New(l.o).Purge(t.Context(), in)
			if !errors.Is(err, actuators.ErrRefused) {
				a.Lost("after %s it was set aside and purged: %v", wait, err)
				continue
			}
			if back, err := New(l.o).Restore(t.Context(), in); err != nil || !strings.Contains(back.Where, "late.txt") {
				t.Fatalf("restore: %q %v", back.Where, err)
			}
		}
		a.Check(wrong(fmt.Sprintf("after %s: %+v", wait, out), l.holds("late.txt", "work\n")))
	}
	t.Logf("%d of %d were set aside before the file came", done, trials)
}
