package dirs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestHostile changes the world between the hold and the act, or in the middle of the act, as an attacker would who wants another
// folder to be taken. Nothing but the worktree may ever move, and that only when it is untouched.
func TestHostile(t *testing.T) {
	t.Parallel()
	swap := func(w *world, with func(at string)) {
		if err := os.Rename(w.tree, w.tree+".away"); err != nil {
			w.t.Fatal(err)
		}
		with(w.tree)
	}
	for _, c := range []struct {
		name, step string
		change     func(w *world)
		outcome    string
	}{
		{"a link takes its name", "dir.check", func(w *world) { swap(w, func(at string) { link(w, w.base+"/precious", at) }) }, decision.Refused},
		{"a link takes its name at the last instant", "dir.move", func(w *world) { swap(w, func(at string) { link(w, w.base+"/precious", at) }) }, decision.Changed},
		{"another folder takes its name", "dir.check", func(w *world) { swap(w, func(at string) { w.write(at+"/x", "x") }) }, decision.Changed},
		{"another folder takes its name at the last instant", "dir.move", func(w *world) { swap(w, func(at string) { w.write(at+"/x", "x") }) }, decision.Changed},
		{"the folder above becomes a link", "dir.check", func(w *world) {
			if err := os.Rename(w.root, w.root+".away"); err != nil {
				w.t.Fatal(err)
			}
			link(w, w.root+".away", w.root)
		}, decision.Refused},
		{"it is removed and made again", "dir.check", func(w *world) {
			if err := os.RemoveAll(w.tree); err != nil {
				w.t.Fatal(err)
			}
			w.mkdir(w.tree)
		}, decision.Changed},
		{"its entry is locked", "dir.lock", func(w *world) { w.git(w.main, "worktree", "lock", w.tree) }, decision.Refused},
		{"a git command begins", "dir.look", func(w *world) { w.write(filepath.Join(w.main, ".git", "worktrees", "work", "index.lock"), "") }, decision.Refused},
		{"the trash is a link", "dir.trash", func(w *world) {
			w.mkdir(w.base + "/state")
			link(w, w.base+"/precious", w.base+"/state/trash")
		}, decision.Refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write(w.base+"/precious/file", "precious\n")
			w.o.Step = func(step string) {
				if step == c.step {
					c.change(w)
				}
			}
			precious := w.list(w.base + "/precious")
			delete(precious, ".") // a trash that is led here may come and go
			tree := w.list(w.tree)
			out, _ := w.do("A1", w.tree)
			if out.Outcome != c.outcome {
				t.Errorf("outcome: %+v", out)
			}
			if left, err := os.ReadDir(filepath.Join(w.base, "state", "trash")); c.name != "the trash is a link" && len(left) > 0 {
				t.Errorf("left in the trash: %v %v", left, err)
			}
			if refs := w.git(w.main, "for-each-ref", "refs/winnow"); refs != "" {
				t.Errorf("refs are left: %s", refs)
			}
			after := w.list(w.base + "/precious")
			delete(after, ".")
			must.Equal(t, precious, after, "outside of the root")
			for _, at := range []string{w.tree, w.tree + ".away", w.root + ".away/work"} {
				if id, err := os.Lstat(at + "/.git"); err == nil && id.Mode().IsRegular() {
					must.Equal(t, tree, w.list(at), "the worktree")
					return
				}
			}
			if c.name != "it is removed and made again" {
				t.Error("the worktree is nowhere")
			}
		})
	}
}

// TestRenameRace exchanges the folder with another one all the time. The folder that has the name at the instant of the move,
// only the folder itself ever stays in the trash.
func TestRenameRace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := filepath.Join(w.root, "other")
	w.mkdir(w.base + "/trash")
	w.mkdir(other)
	i := item{home: w.tree, away: w.base + "/trash/tree", want: stampOf(w.identity(w.tree))}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				unix.Renameat2(unix.AT_FDCWD, w.tree, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE)
			}
		}
	}()
	moved, changed := 0, 0
	for moved < 50 || changed < 50 {
		err := i.setAside()
		if err != nil && !errors.Is(err, actuators.ErrChanged) {
			t.Fatal(err)
		}
		if err != nil {
			changed++
			if _, err := os.Lstat(i.away); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("something else stayed in the trash: %v", err)
			}
			continue
		}
		moved++
		if at, err := i.look(); err != nil || !at.away {
			t.Fatalf("another folder is in the trash: %+v %v", at, err)
		}
		must.Do(t, i.putBack())
	}
	close(stop)
	<-stopped
}

// TestAProcessEnters has a process enter between the hold and the act: it keeps its folder.
func TestAProcessEnters(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"dir.check", "dir.move"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			before := w.state()
			var pid int
			w.o.Step = func(s string) {
				if s == step {
					pid, _ = enter(t, w.tree+"/sub")
				}
			}
			out, _ := w.do("A1", w.tree)
			if out.Outcome != decision.Refused || !strings.Contains(out.Detail, "it is in use") || !strings.Contains(out.Detail, "put back") {
				t.Errorf("outcome: %+v", out)
			}
			w.same(before)
			if cwd, err := os.Readlink(filepath.Join("/proc", itoa(pid), "cwd")); err != nil || cwd != w.tree+"/sub" {
				t.Errorf("the process works in %q now: %v", cwd, err)
			}
		})
	}
}

// TestHoldersUnknown puts a folder back when it cannot be found out who uses it.
func TestHoldersUnknown(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]Holding{
		"not known":     holding(func(string) ([]string, bool, error) { return nil, false, nil }),
		"an error":      holding(func(string) ([]string, bool, error) { return nil, true, errors.New("no procfs") }),
		"nobody to ask": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.o.Holders = h
			before := w.state()
			if out, _ := w.do("A1", w.tree); out.Outcome != decision.Refused || !strings.Contains(out.Detail, "put back") {
				t.Errorf("outcome: %+v", out)
			}
			w.same(before)
		})
	}
}

// TestOldPathComesBack is a process that works by absolute paths and makes the folder again while it is away: it cannot go back,
// so it stays whole in the trash, and comes home when there is room.
func TestOldPathComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(w.tree+"/local.env", "x\n")
	before := w.state()
	w.o.Holders = holding(func(string) ([]string, bool, error) {
		w.write(w.tree+"/build/out", "x\n")
		return nil, true, nil
	})
	out, in := w.do("A1", w.tree)
	if out.Outcome != decision.Failed || !strings.Contains(out.Detail, "winnow restore A1") || out.RestoreUntil == nil {
		t.Fatalf("outcome: %+v", out)
	}
	w.git(w.main, "worktree", "prune", "--expire=now") // its entry is still there, and locked
	w.o.Holders = scanner{}
	if back, err := New(w.o).Restore(t.Context(), in); !errors.Is(err, actuators.ErrRefused) {
		t.Errorf("restored over what is there: %q %v", back.Where, err)
	}
	if _, err := os.Stat(w.tree + "/build/out"); err != nil {
		t.Error(err)
	}
	must.Do(t, os.RemoveAll(w.tree))
	must.Get(New(w.o).Restore(t.Context(), in))(t)
	w.same(before)
}

// TestImmutable is a folder that the kernel does not let go, and one with a file that it does not.
func TestImmutable(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root may set the immutable attribute")
	}
	w := newWorld(t)
	w.write(w.tree+"/file", "x\n")
	before := w.state()
	fix := func(path string) (undo func()) {
		if out, err := exec.Command("chattr", "+i", path).CombinedOutput(); err != nil {
			t.Skipf("chattr: %v: %s", err, out)
		}
		undo = func() { exec.Command("chattr", "-i", path).Run() }
		t.Cleanup(undo)
		return undo
	}
	undo := fix(w.tree)
	if out, _ := w.do("A1", w.tree); out.Outcome != decision.Refused || !strings.Contains(out.Detail, "operation not permitted") {
		t.Errorf("outcome: %+v", out)
	}
	undo()
	w.same(before)
	in := w.aside("A2", w.tree)
	fix(filepath.Join(w.o.StateTrash, "A2", treeName, "file"))
	if _, err := New(w.o).Purge(t.Context(), in); !errors.Is(err, unix.EPERM) {
		t.Errorf("purge: %v", err)
	}
	exec.Command("chattr", "-i", filepath.Join(w.o.StateTrash, "A2", purgeName, "file")).Run()
	if _, err := New(w.o).Purge(t.Context(), in); err != nil {
		t.Errorf("purge again: %v", err)
	}
}

// TestMounts runs the cases that need mounts, in a mount namespace of their own.
func TestMounts(t *testing.T) {
	const inside = "WINNOW_TEST_MOUNTS"
	if os.Getenv(inside) != "" {
		must.Do(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		if os.Getenv(inside) == "plain" {
			// In this user namespace the folders of root belong to no known user, so they do not lead to a trash.
			tmpfs(t, "/tmp")
			t.Setenv("TMPDIR", "/tmp")
		}
		t.Run("bind mount inside", mountInside)
		t.Run("bind mount in the trash", mountInTrash)
		t.Run("mount point", mountPoint)
		t.Run("trash on another mount", otherMount)
		t.Run("repository on another mount", otherRepository)
		return
	}
	t.Parallel()
	c := exec.Command("/proc/self/exe", "-test.run=^TestMounts$", "-test.v")
	who := "root"
	if os.Getuid() != 0 {
		who = "plain"
	}
	c.Env = append(os.Environ(), inside+"="+who)
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
	out, err := c.CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Skipf("no mount namespace of its own: %v", err)
	}
	if err != nil || !strings.Contains(string(out), "PASS: TestMounts/mount_point") {
		t.Errorf("%v\n%s", err, out)
	}
}

func bind(t *testing.T, from, to string) {
	t.Helper()
	must.Do(t, unix.Mount(from, to, "", unix.MS_BIND, ""))
	t.Cleanup(func() { unix.Unmount(to, unix.MNT_DETACH) })
}

func tmpfs(t *testing.T, at string) {
	t.Helper()
	must.Do(t, unix.Mount("tmpfs", at, "tmpfs", 0, ""))
	t.Cleanup(func() { unix.Unmount(at, unix.MNT_DETACH) })
}

func mountInside(t *testing.T) {
	w := newWorld(t)
	w.write(w.base+"/precious/file", "x\n")
	w.mkdir(w.tree + "/ignored")
	g, in, err := w.hold("A1", w.tree)
	must.Do(t, err)
	defer g.Close()
	bind(t, w.base+"/precious", w.tree+"/ignored")
	if out := w.act(g, in); out.Outcome != decision.Refused || !strings.Contains(out.Detail, "mounted") {
		t.Errorf("do: %+v", out)
	}
	if _, _, err := w.hold("A2", w.tree); !errors.Is(err, actuators.ErrRefused) {
		t.Errorf("hold: %v", err)
	}
	if _, err := os.Stat(w.base + "/precious/file"); err != nil {
		t.Error(err)
	}
}

func mountInTrash(t *testing.T) {
	w := newWorld(t)
	w.write(w.base+"/precious/file", "x\n")
	w.mkdir(w.tree + "/ignored")
	in := w.aside("A1", w.tree)
	at := filepath.Join(w.o.StateTrash, "A1", treeName, "ignored")
	bind(t, w.base+"/precious", at)
	if _, err := New(w.o).Purge(t.Context(), in); !errors.Is(err, actuators.ErrRefused) {
		t.Errorf("purge: %v", err)
	}
	// A mount that comes after the look at the mounts is not entered either.
	must.Do(t, unix.Unmount(at, 0))
	once := false
	w.o.Step = func(step string) {
		if step == "purge.folder" && !once {
			once = true
			bind(t, w.base+"/precious", filepath.Join(w.o.StateTrash, "A1", purgeName, "ignored"))
		}
	}
	if _, err := New(w.o).Purge(t.Context(), in); !errors.Is(err, unix.EXDEV) {
		t.Errorf("purge: %v", err)
	}
	if _, err := os.Stat(w.base + "/precious/file"); err != nil {
		t.Error(err)
	}
}

func mountPoint(t *testing.T) {
	w := newWorld(t)
	bind(t, w.tree, w.tree)
	if _, _, err := w.hold("A1", w.tree); !errors.Is(err, actuators.ErrRefused) {
		t.Errorf("hold: %v", err)
	}
}

// otherMount has the state on another mount: the folder goes into a trash in its root.
func otherMount(t *testing.T) {
	w := newWorld(t)
	w.mkdir(w.base + "/state")
	tmpfs(t, w.base+"/state")
	before := w.state()
	in := w.aside("A1", w.tree)
	trash := filepath.Join(w.root, rootTrash)
	if text, err := os.ReadFile(trash + "/.gitignore"); err != nil || string(text) != ignoreText {
		t.Errorf("the trash is not ignored: %q %v", text, err)
	}
	if st, err := os.Stat(trash); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the trash: %v %v", st.Mode(), err)
	}
	must.Get(New(w.o).Restore(t.Context(), in))(t)
	w.same(before)
	in = w.aside("A2", w.tree)
	if freed, err := New(w.o).Purge(t.Context(), in); err != nil || freed == 0 {
		t.Errorf("purge: %d %v", freed, err)
	}
	if _, err := os.Lstat(trash); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the trash is left: %v", err)
	}
}

// otherRepository has worktrees on another mount than their repository: their entries go into a trash of the repository's.
func otherRepository(t *testing.T) {
	w := newWorld(t)
	w.root = filepath.Join(w.base, "elsewhere")
	w.mkdir(w.root)
	tmpfs(t, w.root)
	w.o.Roots = []string{w.root}
	w.tree = filepath.Join(w.root, "far")
	w.git(w.main, "worktree", "add", "-q", "-b", "far", w.tree)
	w.write(w.tree+"/local.env", "x\n")
	before := w.state()
	in := w.aside("A1", w.tree)
	if _, err := os.Lstat(filepath.Join(w.main, ".git", commonTrash, "A1", adminName, "HEAD")); err != nil {
		t.Error(err)
	}
	must.Get(New(w.o).Restore(t.Context(), in))(t)
	w.same(before)
	in = w.aside("A2", w.tree)
	if freed, err := New(w.o).Purge(t.Context(), in); err != nil || freed == 0 {
		t.Errorf("purge: %d %v", freed, err)
	}
	if _, err := os.Lstat(filepath.Join(w.main, ".git", commonTrash)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the repository's trash is left: %v", err)
	}
}
