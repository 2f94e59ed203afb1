package holders_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/collectors/processes/holders"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/fakeproc"
	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/parts"
)

func look(t *testing.T, paths []string) (map[string][]snapshot.Holder, bool) {
	t.Helper()
	return ask(t, holders.Options{Root: "/proc"}, paths...)
}

func ask(t *testing.T, o holders.Options, paths ...string) (map[string][]snapshot.Holder, bool) {
	t.Helper()
	held, known, err := holders.Find(t.Context(), o, paths)
	if err != nil {
		t.Fatal(err)
	}
	if !o.Thorough { // a look asks with what it has read already, and gets the same answer
		o.Table = &processes.Table{}
		_, _ = processes.New(processes.Options{Root: o.Root, Markers: []string{"X"}, Table: o.Table}).Read(t.Context())
		again, _, err := holders.Find(t.Context(), o, paths)
		if d := cmp.Diff(held, again); d != "" || err != nil {
			t.Errorf("with a table, %v (-without +with):\n%s", err, d)
		}
	}
	return held, known
}

// holder is the child as a holder. The kernel cuts names after 15 bytes.
func holder(c parts.Child, how string) snapshot.Holder {
	name := filepath.Base(c.Path)
	return snapshot.Holder{PID: c.Process.Pid, Name: name[:min(15, len(name))], How: how}
}

func TestHolders(t *testing.T) {
	t.Parallel()
	base := files.RealTemp(t)
	dirs := map[string]string{}
	for _, name := range []string{"cwd", "cwd-and-more", "fd", "deleted", "file", "idle", "exe"} {
		dirs[name] = files.Folder(t, base, name)
		files.Folder(t, dirs[name], "sub")
	}
	file := filepath.Join(dirs["fd"], "sub", "notes")
	lost := filepath.Join(dirs["file"], "lost")
	files.Write(t, file, "x")
	files.Write(t, lost, "x")
	in := func(dir string) func(*exec.Cmd) { return func(c *exec.Cmd) { c.Dir = dir } }
	cwd := parts.Start(t, "open", in(filepath.Join(dirs["cwd"], "sub")), filepath.Join(dirs["cwd"], "sub"))
	fd := parts.Start(t, "open", in("/"), file)
	gone := parts.Start(t, "idle", in(filepath.Join(dirs["deleted"], "sub")))
	unlinked := parts.Start(t, "open", in("/"), lost)
	exe := parts.Start(t, "idle", func(c *exec.Cmd) {
		c.Dir, c.Path = "/", filepath.Join(dirs["exe"], "tool")
		executable.Copy(t, c.Args[0], c.Path)
	})
	for _, name := range []string{filepath.Join(dirs["deleted"], "sub"), lost} {
		must.Do(t, os.Remove(name))
	}
	var paths []string
	for _, dir := range dirs {
		paths = append(paths, dir)
	}
	got, _ := look(t, append(paths, base))
	all := got[base]
	delete(got, base)
	want := map[string][]snapshot.Holder{
		dirs["cwd"]: {holder(cwd, "cwd")}, dirs["fd"]: {holder(fd, "fd")}, dirs["deleted"]: {holder(gone, "cwd")},
		dirs["file"]: {holder(unlinked, "fd")}, dirs["exe"]: {holder(exe, "exe")},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(all) != 5 {
		t.Errorf("the folder around them has holders %v, want all 5", all)
	}
	for i := 1; i < len(all); i++ {
		if all[i-1].PID >= all[i].PID {
			t.Errorf("not in the order of their ids: %v", all)
		}
	}
}

// TestOwnDescriptors has a file open in the looking process itself, which is not a holder by that.
func TestOwnDescriptors(t *testing.T) {
	t.Parallel()
	dir := files.RealTemp(t)
	f, err := os.Create(filepath.Join(dir, "mine"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if wd, err = filepath.EvalSymlinks(wd); err != nil {
		t.Fatal(err)
	}
	// One look: other tests' children begin and end in wd.
	got, _, err := holders.Find(t.Context(), holders.Options{Root: "/proc"}, []string{dir, wd})
	if err != nil {
		t.Fatal(err)
	}
	if len(got[dir]) != 0 {
		t.Errorf("holders %v, want none", got[dir])
	}
	if !slices.ContainsFunc(got[wd], func(h snapshot.Holder) bool { return h.PID == os.Getpid() && h.How == "cwd" }) {
		t.Errorf("this process works in %s and is not among %v", wd, got[wd])
	}
}

// TestAChildThatBegins: until a child executes its program it has what this process has open, and uses nothing. One that goes on with this very
// program does use what it has (TestHolders).
func TestAChildThatBegins(t *testing.T) {
	t.Parallel()
	dir := files.RealTemp(t)
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	parts.Start(t, "begins", nil, dir, sleep)
	if held, _, err := holders.Find(t.Context(), holders.Options{Root: "/proc"}, []string{dir}); err != nil || len(held) > 0 {
		t.Errorf("%v, %v", held, err)
	}
}

// TestHolderElsewhere has a process of another mount namespace that sees a part of the folder under another name.
func TestHolderElsewhere(t *testing.T) {
	t.Parallel()
	parts.NeedRoot(t)
	tree, other := files.RealTemp(t), files.RealTemp(t)
	deep := files.Folder(t, tree, "src", "deep")
	c := parts.Start(t, "elsewhere", func(c *exec.Cmd) { c.SysProcAttr.Cloneflags = syscall.CLONE_NEWNS }, tree, other)
	got, _ := look(t, []string{tree, deep, other})
	// What the tree is mounted on there counts as used too.
	want := map[string][]snapshot.Holder{tree: {holder(c, "cwd")}, deep: {holder(c, "cwd")}, other: {holder(c, "cwd")}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestHoldersOfAFixture(t *testing.T) {
	t.Parallel()
	f := fakeproc.New(t)
	f.Process(fakeproc.Entry{PID: 1, Comm: "init", Start: 1, Cwd: "/", Exe: "/sbin/init", Chroot: "/"})
	f.Process(fakeproc.Entry{PID: 20, PPID: 1, Comm: "sh", Start: 9, Cwd: "/w/a/sub", Exe: "/bin/sh", Chroot: "/", FDs: map[int]string{0: "/dev/null", 3: "/w/a/log", 4: "/w/b/x (deleted)", 5: "socket:[7]"}})
	f.Process(fakeproc.Entry{PID: 30, PPID: 1, Comm: "jail", Start: 9, Cwd: "/", Exe: "/w/a/bin", Chroot: "/w/c", FDs: map[int]string{0: "pipe:[3]"}})
	f.Process(fakeproc.Entry{PID: 40, PPID: 1, Comm: "dead", State: "Z", Start: 9})
	f.Process(fakeproc.Entry{PID: 50, PPID: 2, Comm: "kworker", Flags: 0x200000, Start: 9})
	want := map[string][]snapshot.Holder{
		"/w/a": {{PID: 20, Name: "sh", How: "cwd"}, {PID: 30, Name: "jail", How: "exe"}},
		"/w/b": {{PID: 20, Name: "sh", How: "fd"}}, "/w/c": {{PID: 30, Name: "jail", How: "root"}},
	}
	paths := []string{"/w/a", "/w/b", "/w/c", "/w"}
	f.Write("1/fd/none", "")
	check := func(opaque []string, known bool) {
		t.Helper()
		got, gotKnown := ask(t, holders.Options{Root: f.Path, Opaque: opaque}, paths...)
		delete(got, "/w")
		if d := cmp.Diff(want, got); d != "" || gotKnown != known {
			t.Errorf("known %v, want %v (-want +got):\n%s", gotKnown, known, d)
		}
	}
	check(nil, true)
	f.Process(fakeproc.Entry{PID: 60, PPID: 1, Comm: "shy", Start: 9})
	check(nil, false)
	check([]string{"shy"}, true)
	paths = []string{"relative/../x"}
	if _, known, err := holders.Find(t.Context(), holders.Options{Root: filepath.Join(f.Path, "none")}, paths); err == nil || known {
		t.Errorf("a root that is not there: known %v, error %v", known, err)
	}
}

// TestWhatTheKernelUses has swap files, loop devices and locks of a fixture, and what follows where they cannot be read.
func TestWhatTheKernelUses(t *testing.T) {
	t.Parallel()
	f := fakeproc.New(t)
	f.Process(fakeproc.Entry{PID: 1, Comm: "init", Start: 1, Cwd: "/", Exe: "/sbin/init", Chroot: "/"})
	f.Write("1/fd/none", "")
	f.Process(fakeproc.Entry{PID: 9, Comm: "shy\nname", Start: 1})
	tree := files.Folder(t, files.RealTemp(t), "a tree")
	var st syscall.Stat_t
	must.Do(t, syscall.Stat(tree, &st))
	escaped := strings.ReplaceAll(tree, " ", `\040`)
	f.Write("swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/zram0 partition 1 0 -2\n"+escaped+"/swap file 1020 0 -3\n")
	f.Write("partitions", "major minor  #blocks  name\n\n 254        0 1000 vda\n   7        0 1024 loop0\n   7        1 1024 loop0p1\n")
	f.Write("locks", fmt.Sprintf("1: FLOCK  ADVISORY  WRITE 9 %02x:%02x:%d 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 1 00:00:5 0 EOF\n2: OFDLCK ADVISORY  READ -1 %02x:%02x:%d 0 EOF\nodd\n",
		unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino, unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino))
	f.Write("9/comm", "shy\n")
	f.Write("sys/block/loop0/loop/backing_file", tree+"/image (deleted)\n")
	ask := func() ([]snapshot.Holder, bool) {
		held, known := ask(t, holders.Options{Root: f.Path, Sys: f.Path + "/sys", Opaque: []string{"shy\nname"}}, tree)
		return held[tree], known
	}
	want := []snapshot.Holder{{Name: "a lock", How: "lock"}, {Name: "loop0", How: "loop"}, {Name: "swap file", How: "swap"}, {PID: 9, Name: "shy", How: "lock"}}
	got, known := ask()
	if d := cmp.Diff(want, got); d != "" || !known {
		t.Errorf("known %v (-want +got):\n%s", known, d)
	}
	// A loop device that shows nothing any more.
	must.Do(t, os.RemoveAll(f.Path+"/sys/block/loop0/loop"))
	if _, known := ask(); !known {
		t.Error("a loop device shows nothing, and nothing is reported as known")
	}
	// A loop device is there, and what it shows cannot be read.
	must.Do(t, os.RemoveAll(f.Path+"/sys/block"))
	if _, known := ask(); known {
		t.Error("a loop device shows a file that is not known, and no use is reported as known")
	}
	f.Write("partitions", "major minor  #blocks  name\n\n 254        0 1000 vda\n")
	if _, known := ask(); !known {
		t.Error("there is no loop device, and nothing is reported as known")
	}
}

// BenchmarkHolders looks for the users of 1,000 folders among the processes of this machine, beside asking every folder about every
// link of every process.
func BenchmarkHolders(b *testing.B) {
	parts.SpawnIdle(b, 500)
	paths := make([]string, 1000)
	for i := range paths {
		paths[i] = fmt.Sprintf("/srv/trees/acme-review-%06d", i)
	}
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := holders.Find(b.Context(), holders.Options{Root: "/proc"}, paths); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("thorough", func(b *testing.B) {
		base := b.TempDir()
		for i := range 2000 {
			if err := os.MkdirAll(filepath.Join(base, fmt.Sprint(i%40), fmt.Sprint(i)), 0o700); err != nil {
				b.Fatal(err)
			}
		}
		for b.Loop() {
			if _, _, err := holders.Find(b.Context(), holders.Options{Root: "/proc", Thorough: true}, []string{base}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("naive", func(b *testing.B) {
		for b.Loop() {
			naiveHolders(paths)
		}
	})
}

func naiveHolders(paths []string) map[string][]string {
	found := map[string][]string{}
	for _, pattern := range []string{"/proc/[0-9]*/cwd", "/proc/[0-9]*/exe", "/proc/[0-9]*/root", "/proc/[0-9]*/fd/*"} {
		links, _ := filepath.Glob(pattern)
		for _, link := range links {
			text, err := os.Readlink(link)
			if err != nil {
				continue
			}
			for _, path := range paths {
				if text == path || strings.HasPrefix(text, path+"/") {
					found[path] = append(found[path], link)
				}
			}
		}
	}
	return found
}
