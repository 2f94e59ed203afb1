package wake

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// heard counts what a Watch said.
type heard struct {
	mu sync.Mutex
	n  map[string]int
}

func (h *heard) wake(source string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n[source]++
}

func (h *heard) of(source string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.n[source]
}

func start(t *testing.T) (*Files, *heard) {
	t.Helper()
	h := &heard{n: map[string]int{}}
	w := NewFiles("/proc", h.wake, hclog.NewNullLogger())
	end := runs(t, w)
	t.Cleanup(end)
	return w, h
}

// runs has it listen, and gives what ends it.
func runs(t *testing.T, w *Files) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	listens, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- w.Run(ctx, func() { close(listens) }) }()
	<-listens
	return func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	}
}

// quiet is how long a test waits for what must not come.
const quiet = 150 * time.Millisecond

func TestFolders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(t *testing.T, dir string)
		want string
	}{
		"an entry comes": {func(t *testing.T, dir string) { files.Folder(t, dir, "watched", "new") }, Folder},
		"an entry goes":  {func(t *testing.T, dir string) { must.Do(t, os.Remove(filepath.Join(dir, "watched", "old"))) }, Folder},
		"an entry moves in": {func(t *testing.T, dir string) {
			must.Do(t, os.Rename(filepath.Join(dir, "else"), filepath.Join(dir, "watched", "x")))
		}, Folder},
		"an entry moves out": {func(t *testing.T, dir string) {
			must.Do(t, os.Rename(filepath.Join(dir, "watched", "old"), filepath.Join(dir, "x")))
		}, Folder},
		"it goes": {func(t *testing.T, dir string) { must.Do(t, os.RemoveAll(filepath.Join(dir, "watched"))) }, Folder},
		"it moves": {func(t *testing.T, dir string) {
			must.Do(t, os.Rename(filepath.Join(dir, "watched"), filepath.Join(dir, "x")))
		}, Folder},
		"what was missing comes": {func(t *testing.T, dir string) { files.Folder(t, dir, "far", "away", "watched") }, Folder},
		"the file is written":    {func(t *testing.T, dir string) { files.Write(t, filepath.Join(dir, "records", "db"), "new") }, File},
		"the file is replaced": {func(t *testing.T, dir string) {
			files.Write(t, filepath.Join(dir, "records", "tmp"), "new")
			must.Do(t, os.Rename(filepath.Join(dir, "records", "tmp"), filepath.Join(dir, "records", "db")))
		}, File},
		"the file goes":                   {func(t *testing.T, dir string) { must.Do(t, os.Remove(filepath.Join(dir, "records", "db"))) }, File},
		"another file is written":         {func(t *testing.T, dir string) { files.Write(t, filepath.Join(dir, "records", "log"), "new") }, ""},
		"a file in the folder is written": {func(t *testing.T, dir string) { files.Write(t, filepath.Join(dir, "watched", "file"), "new") }, ""},
		"beside it":                       {func(t *testing.T, dir string) { files.Folder(t, dir, "beside") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, d := range []string{"watched/old", "else", "records"} {
				files.Folder(t, dir, d)
			}
			files.Write(t, filepath.Join(dir, "watched", "file"), "old")
			files.Write(t, filepath.Join(dir, "records", "db"), "old")
			w, h := start(t)
			w.set(Targets{Folders: []string{filepath.Join(dir, "watched"), filepath.Join(dir, "far", "away", "watched"), "relative"}, Files: []string{filepath.Join(dir, "records", "db")}})
			c.do(t, dir)
			if c.want != "" {
				wait.Eventually(t, "woken", func() bool { return h.of(c.want) > 0 })
				return
			}
			time.Sleep(quiet)
			if h.of(Folder)+h.of(File)+h.of(Process) > 0 {
				t.Errorf("woken: %v", h.n)
			}
		})
	}
}

// TestAFolderThatIsMadeAgain is watched again, as often as it happens.
func TestAFolderThatIsMadeAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	files.Folder(t, dir)
	w, h := start(t)
	w.set(Targets{Folders: []string{dir}})
	for range 3 {
		before := h.of(Folder)
		must.Do(t, os.RemoveAll(filepath.Dir(dir)))
		wait.Eventually(t, "woken by its end", func() bool { return h.of(Folder) > before })
		before = h.of(Folder)
		files.Folder(t, dir)
		wait.Eventually(t, "woken by its return", func() bool { return h.of(Folder) > before })
		// From now on what is in it counts, though it may take a moment until the watch stands.
		before = h.of(Folder)
		n := 0
		wait.Eventually(t, "woken by an entry", func() bool { n++; files.Folder(t, dir, fmt.Sprint(n)); return h.of(Folder) > before })
	}
}

// TestProcesses: the end of one that is watched wakes once, that of another one does not, and neither does one whose pid is another's.
func TestProcesses(t *testing.T) {
	t.Parallel()
	sleeper := func() (*exec.Cmd, Target) {
		cmd := exec.Command("sleep", "300")
		must.Do(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		st := must.Get(proc.StatOf("/proc", cmd.Process.Pid))(t)
		return cmd, Target{cmd.Process.Pid, st.Start}
	}
	end := func(c *exec.Cmd) { must.Do(t, c.Process.Kill()) }
	one, first := sleeper()
	two, second := sleeper()
	three, third := sleeper()
	third.Start++
	other, _ := sleeper()
	w, h := start(t)
	w.set(Targets{Processes: []Target{first, second, third, {0, 0}, {1 << 30, 1}}})
	end(other)
	end(three)
	time.Sleep(quiet)
	if h.of(Process) > 0 {
		t.Fatal("woken by another process")
	}
	end(one)
	wait.Eventually(t, "woken", func() bool { return h.of(Process) == 1 })
	w.set(Targets{})
	end(two)
	time.Sleep(quiet)
	if got := h.of(Process); got != 1 {
		t.Errorf("woken %d times by processes, want 1", got)
	}
}

// TestNothingIsLeft: many changes of what is watched, and a close, leave no descriptor and no watch.
func TestNothingIsLeft(t *testing.T) {
	dir := t.TempDir()
	w := NewFiles("/proc", func(string) {}, hclog.NewNullLogger())
	runs(t, w)() // what the runtime itself opens once is open then
	before := open(t)
	for range 3 {
		end := runs(t, w)
		self := must.Get(proc.StatOf("/proc", os.Getpid()))(t)
		for i := range 50 {
			w.set(Targets{Folders: []string{files.Folder(t, dir, fmt.Sprint(i))}, Files: []string{filepath.Join(dir, fmt.Sprint(i), "x")}, Processes: []Target{{os.Getpid(), self.Start}}})
		}
		w.mu.Lock()
		if len(w.folders) != 1 || len(w.files.WatchList()) != 1 || len(w.processes) != 1 {
			t.Errorf("%v, %v and %v are watched", w.folders, w.files.WatchList(), w.processes)
		}
		w.mu.Unlock()
		end()
	}
	if after := open(t); after > before {
		t.Errorf("%d descriptors were open before, %d are after", before, after)
	}
}

// open counts the descriptors of this process that are of the kinds that a Watch opens.
func open(t *testing.T) (n int) {
	t.Helper()
	names := must.Get(filepath.Glob("/proc/self/fd/*"))(t)
	for _, name := range names {
		switch to, _ := os.Readlink(name); to {
		case "anon_inode:[eventfd]", "anon_inode:[pidfd]", "anon_inode:inotify":
			n++
		}
	}
	return n
}

// TestSet: what was set last is what is watched, however fast it was set.
func TestSet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, h := start(t)
	var last string
	for i := range 20 {
		last = files.Folder(t, dir, fmt.Sprint(i))
		w.Set(Targets{Folders: []string{last}})
	}
	n := 0
	wait.Eventually(t, "woken by the last one", func() bool { n++; files.Folder(t, last, fmt.Sprint(n)); return h.of(Folder) > 0 })
	time.Sleep(quiet) // until all that was heard is said
	before := h.of(Folder)
	files.Folder(t, dir, "0", "new")
	time.Sleep(quiet)
	if h.of(Folder) > before {
		t.Error("one that was set before is still watched")
	}
}

// TestNobodyWaits for a file system that does not answer: who says what to watch goes on.
func TestNobodyWaits(t *testing.T) {
	t.Parallel()
	w, _ := start(t)
	w.mu.Lock() // as one that is in the middle of it and hangs
	defer w.mu.Unlock()
	for range 3 {
		w.Set(Targets{Folders: []string{t.TempDir()}})
	}
}

// TestABusyFile: a file that is written all the time takes a few wake-ups in each second, and what happens last is heard.
func TestABusyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := filepath.Join(dir, "db")
	files.Write(t, db, "old")
	w, h := start(t)
	w.set(Targets{Files: []string{db}})
	f := must.Get(os.OpenFile(db, os.O_WRONLY|os.O_APPEND, 0))(t)
	begin, writes := time.Now(), 0
	for ; time.Since(begin) < 500*time.Millisecond; writes++ {
		must.Get(f.WriteString("x"))(t)
		time.Sleep(time.Millisecond)
	}
	most := int(time.Since(begin)/between) + 2
	if n := h.of(File); n < 1 || n > most {
		t.Errorf("%d writes woke it %d times, want 1 to %d", writes, n, most)
	}
	time.Sleep(4 * between) // until all that was heard is said
	before := h.of(File)
	must.Get(f.WriteString("last"))(t)
	must.Do(t, f.Close())
	wait.Eventually(t, "woken by the last of it", func() bool { return h.of(File) > before })
}

// TestTwoPathsOfOneFolder: a file in it counts, whichever of both is asked for first.
func TestTwoPathsOfOneFolder(t *testing.T) {
	t.Parallel()
	for range 5 { // a map has no order
		dir := t.TempDir()
		files.Write(t, filepath.Join(dir, "real", "db"), "old")
		must.Do(t, os.Symlink("real", filepath.Join(dir, "link")))
		w, h := start(t)
		w.set(Targets{Folders: []string{filepath.Join(dir, "link")}, Files: []string{filepath.Join(dir, "real", "db")}})
		files.Write(t, filepath.Join(dir, "real", "db"), "new")
		wait.Eventually(t, "woken by the file", func() bool { return h.of(File) > 0 })
		files.Folder(t, dir, "real", "new")
		wait.Eventually(t, "woken by the entry", func() bool { return h.of(Folder) > 0 })
	}
}

// TestBounds: no more is watched than the bounds allow, and what is within them is.
func TestBounds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, h := start(t)
	var all Targets
	for i := range maxWatches + 10 {
		all.Folders = append(all.Folders, files.Folder(t, dir, fmt.Sprint(i)))
	}
	w.set(all)
	w.mu.Lock()
	n := len(w.files.WatchList())
	w.mu.Unlock()
	if n > maxWatches || n < 1 {
		t.Fatalf("%d are watched, want at most %d", n, maxWatches)
	}
	files.Folder(t, all.Folders[0], "new")
	wait.Eventually(t, "woken", func() bool { return h.of(Folder) > 0 })
}

// TestALinkThatLeadsElsewhere: the folder that it led to before is watched no more, unless it is wanted by its own name.
func TestALinkThatLeadsElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b, link := files.Folder(t, dir, "a"), files.Folder(t, dir, "b"), filepath.Join(dir, "link")
	w, h := start(t)
	for i := range 10 { // a map has no order
		for j, to := range []string{a, b} {
			must.Do(t, os.RemoveAll(link))
			must.Do(t, os.Symlink(to, link))
			want, n := []string{link}, 1
			if i%2 == 1 {
				want, n = []string{link, a}, 1+j
			}
			w.set(Targets{Folders: want})
			if got := w.files.WatchList(); len(got) != n {
				t.Fatalf("%d are wanted, %d are watched", n, len(got))
			}
			before := h.of(Folder)
			files.Folder(t, to, fmt.Sprint("new-", i))
			wait.Eventually(t, "woken", func() bool { return h.of(Folder) > before })
		}
	}
	before := h.of(Folder)
	files.Folder(t, a, "last")
	wait.Eventually(t, "woken by the folder that is wanted by its own name", func() bool { return h.of(Folder) > before })
}

// few is set in a process of this test that may have so few watches.
const few = "WINNOW_TEST_FEW_WATCHES"

// TestTooFewWatches are said, for as long as they are too few.
func TestTooFewWatches(t *testing.T) {
	if os.Getenv(few) == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run", "^TestTooFewWatches$", "-test.v")
		cmd.Env = append(os.Environ(), few+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		out, err := cmd.CombinedOutput()
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EACCES) {
			t.Skipf("needs a user namespace: %v", err)
		}
		if strings.Contains(string(out), "--- SKIP") {
			t.Skip(string(out))
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	if err := os.WriteFile("/proc/sys/user/max_inotify_watches", []byte("3"), 0); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	var all []string
	for i := range 5 {
		all = append(all, files.Folder(t, dir, fmt.Sprint(i)))
	}
	h := &heard{n: map[string]int{}}
	f := NewFiles("/proc", h.wake, hclog.NewNullLogger())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx, func() {}) }()
	f.Set(Targets{Folders: all})
	wait.Eventually(t, "it is said", func() bool { return strings.Contains(f.Limited(), "fs.inotify.max_user_watches") })
	f.Set(Targets{Folders: all[:2]})
	wait.Eventually(t, "it is said no more", func() bool { return f.Limited() == "" })
	cancel()
	<-ended
	if f.Limited() != "" {
		t.Error("a watch that ended is limited")
	}
}
