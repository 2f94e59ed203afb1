package du_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/du"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// diskUsage is what du(1) counts of a folder, in bytes.
func diskUsage(t testing.TB, path string) int64 {
	t.Helper()
	out, err := exec.Command("du", "-s", "-x", "--block-size=1", path).Output()
	if err != nil {
		t.Fatalf("du %s: %v", path, err)
	}
	return must.Get(strconv.ParseInt(strings.Fields(string(out))[0], 10, 64))(t)
}

func write(t testing.TB, path string, size int) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, make([]byte, size), 0o644))
}

// tree is a folder with all that is easy to count wrongly.
func tree(t testing.TB) string {
	t.Helper()
	top := t.TempDir()
	at := filepath.Join(top, "w")
	write(t, filepath.Join(at, "src/main.go"), 5000)
	write(t, filepath.Join(at, "node_modules/a/index.js"), 300_000)
	write(t, filepath.Join(at, "packages/web/node_modules/b/index.js"), 70_000)
	write(t, filepath.Join(top, "outside"), 900_000)
	for _, l := range [][2]string{
		{filepath.Join(at, "node_modules/a/index.js"), filepath.Join(at, "node_modules/a/again.js")}, // two names inside
		{filepath.Join(top, "outside"), filepath.Join(at, "node_modules/store.js")},                  // one inside, one outside
	} {
		must.Do(t, os.Link(l[0], l[1]))
	}
	for name, to := range map[string]string{"out": top, "file": filepath.Join(top, "outside"), "src/loop": ".."} {
		must.Do(t, os.Symlink(to, filepath.Join(at, name)))
	}
	sparse := must.Get(os.Create(filepath.Join(at, "sparse")))(t)
	defer sparse.Close()
	must.Do(t, sparse.Truncate(1<<30))
	deep := at
	for range 120 {
		deep = filepath.Join(deep, "d")
	}
	write(t, filepath.Join(deep, "end"), 10)
	must.Do(t, unix.Mkfifo(filepath.Join(at, "pipe"), 0o600))
	return at
}

func nodeModules(rel string) bool { return filepath.Base(rel) == "node_modules" }

func TestMeasureCountsAsDuDoes(t *testing.T) {
	t.Parallel()
	at := tree(t)
	got := du.Measure(t.Context(), []du.Tree{{Path: at, Part: nodeModules}})[0]
	if want := diskUsage(t, at); got.Bytes != want || !got.Complete || got.Err != nil {
		t.Errorf("%d bytes (complete %v, %v); du counts %d", got.Bytes, got.Complete, got.Err, want)
	}
	var names []string
	for _, p := range got.Parts {
		names = append(names, p.Path)
		if want := diskUsage(t, filepath.Join(at, p.Path)); p.Bytes != want {
			t.Errorf("%s: %d bytes; du counts %d", p.Path, p.Bytes, want)
		}
	}
	if want := []string{"node_modules", "packages/web/node_modules"}; !slices.Equal(names, want) {
		t.Errorf("parts %v, want %v", names, want)
	}
	if big, ok := got.Largest(); !ok || big.Path != "node_modules" {
		t.Errorf("the largest part is %v", big.Path)
	}
	if got.Shared < 900_000 || got.Shared > 910_000 || got.Parts[0].Shared != got.Shared {
		t.Errorf("%d bytes have another name outside, %d of them in the first part; want 900000 and some", got.Shared, got.Parts[0].Shared)
	}
}

func TestMeasureKeepsTheTimesOfPartsApart(t *testing.T) {
	t.Parallel()
	at := filepath.Join(t.TempDir(), "w")
	write(t, filepath.Join(at, "src/main.go"), 1)
	write(t, filepath.Join(at, "target/debug/x"), 1)
	write(t, filepath.Join(at, "web/node_modules/x"), 1)
	old, late := time.Now().Add(-100*time.Hour), time.Now().Add(-10*time.Hour)
	for path, when := range map[string]time.Time{
		"src/main.go": old, "src": old, "target/debug/x": late, "target/debug": old, "target": old, "web/node_modules/x": old, "web/node_modules": old,
	} { // what holds a part keeps the time of now
		must.Do(t, os.Chtimes(filepath.Join(at, path), when, when))
	}
	got := du.Measure(t.Context(), []du.Tree{{Path: at, Parts: []string{"target", "web/node_modules"}}})[0]
	if !got.Newest.Equal(old.Truncate(0)) && got.Newest.Sub(old).Abs() > time.Second {
		t.Errorf("the newest outside of the parts is of %v, want %v", got.Newest, old)
	}
	if n := got.Parts[0].Newest; n.Sub(late).Abs() > time.Second {
		t.Errorf("the newest in target is of %v, want %v", n, late)
	}
}

func TestMeasureFindsRepositoriesInParts(t *testing.T) {
	t.Parallel()
	at := filepath.Join(t.TempDir(), "w")
	for _, f := range []string{".git", "node_modules/x/package.json", "node_modules/clone/.git/HEAD", "target/HEAD", "target/objects/a", "target/refs/a", "lib/.jj/x"} {
		write(t, filepath.Join(at, f), 1)
	}
	got := du.Measure(t.Context(), []du.Tree{{Path: at, Parts: []string{"node_modules", "target"}}})[0]
	if want := []string{"node_modules/clone"}; !slices.Equal(got.Parts[0].Stores, want) {
		t.Errorf("in node_modules %v, want %v", got.Parts[0].Stores, want)
	}
	if want := []string{"target"}; !slices.Equal(got.Parts[1].Stores, want) {
		t.Errorf("in target %v, want %v", got.Parts[1].Stores, want)
	}
	if want := []string{"lib", "node_modules/clone", "target"}; !slices.Equal(got.Stores, want) {
		t.Errorf("in all %v, want %v: its own .git is its own", got.Stores, want)
	}
}

func TestMeasureSaysWhatItCouldNotCount(t *testing.T) {
	t.Parallel()
	at := tree(t)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if got := du.Measure(done, []du.Tree{{Path: at}})[0]; got.Complete || got.Err == nil {
		t.Errorf("a measuring without time is complete: %+v", got)
	}
	if got := du.Measure(t.Context(), []du.Tree{{Path: filepath.Join(at, "missing")}, {Path: at}}); got[0].Complete || got[0].Err == nil || !got[1].Complete {
		t.Errorf("a folder that is missing: %+v", got[0])
	}
	link := filepath.Join(t.TempDir(), "link")
	must.Do(t, os.Symlink(at, link))
	if got := du.Measure(t.Context(), []du.Tree{{Path: link}})[0]; got.Complete || got.Bytes != 0 {
		t.Errorf("a link was followed: %+v", got)
	}
	if os.Geteuid() == 0 {
		return // root reads everything
	}
	shut := filepath.Join(at, "src")
	must.Do(t, os.Chmod(shut, 0))
	t.Cleanup(func() { _ = os.Chmod(shut, 0o755) })
	if got := du.Measure(t.Context(), []du.Tree{{Path: at}})[0]; got.Complete || got.Unread != 1 || got.Bytes == 0 {
		t.Errorf("with a folder that cannot be read: %+v", got)
	}
}

func TestMeasureStaysOnOneFileSystem(t *testing.T) {
	t.Parallel()
	at := filepath.Join(t.TempDir(), "w")
	write(t, filepath.Join(at, "own"), 5000)
	must.Do(t, os.Mkdir(filepath.Join(at, "mounted"), 0o755))
	if err := unix.Mount("winnow", filepath.Join(at, "mounted"), "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(filepath.Join(at, "mounted"), 0); err != nil {
			t.Error(err)
		}
	})
	write(t, filepath.Join(at, "mounted/foreign"), 500_000)
	got := du.Measure(t.Context(), []du.Tree{{Path: at}})[0]
	if want := diskUsage(t, at); got.Bytes != want || got.Mounts != 1 {
		t.Errorf("%d bytes and %d mounts; du counts %d bytes", got.Bytes, got.Mounts, want)
	}
}

func BenchmarkMeasure(b *testing.B) {
	const files = 1000
	trees := 100 // WINNOW_BENCH_TREES=1000 for a machine that is full
	if testing.Short() {
		trees = 10
	}
	if n, err := strconv.Atoi(os.Getenv("WINNOW_BENCH_TREES")); err == nil {
		trees = n
	}
	top := b.TempDir()
	var all []du.Tree
	for i := range trees {
		at := filepath.Join(top, fmt.Sprint(i))
		for j := range files {
			write(b, filepath.Join(at, "node_modules", fmt.Sprint(j/50), fmt.Sprint(j)), 10)
		}
		all = append(all, du.Tree{Path: at, Part: nodeModules})
	}
	b.Run(fmt.Sprintf("winnow/%dx%d", trees, files), func(b *testing.B) {
		for b.Loop() {
			for i, u := range du.Measure(b.Context(), all) {
				if !u.Complete || u.Entries < files {
					b.Fatalf("tree %d: %+v", i, u)
				}
			}
		}
	})
	b.Run(fmt.Sprintf("du/%dx%d", trees, files), func(b *testing.B) {
		args := []string{"-s", "-x"}
		for _, t := range all {
			args = append(args, t.Path)
		}
		for b.Loop() {
			if err := exec.Command("du", args...).Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
