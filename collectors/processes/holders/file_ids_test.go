package holders

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestFoldersAround goes from a folder to the root folder: what works deep in a tree uses the whole tree.
func TestFoldersAround(t *testing.T) {
	base := t.TempDir()
	deep := filepath.Join(base, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	id := func(path string) fileID {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		at, ok := idOf(fd)
		if !ok {
			t.Fatalf("%s has no id", path)
		}
		return at
	}
	var found []fileID
	for fd, at := range foldersAround(unix.AT_FDCWD, deep) {
		if again, ok := idOf(fd); !ok || again != at {
			t.Fatalf("what is open is %v, and it is said to be %v", again, at)
		}
		found = append(found, at)
	}
	want := []fileID{id(deep), id(filepath.Dir(deep)), id(base)}
	if len(found) < len(want) || !slices.Equal(found[:len(want)], want) || found[len(found)-1] != id("/") {
		t.Errorf("it went to %v, want %v first and %v last", found, want, id("/"))
	}
	for range foldersAround(unix.AT_FDCWD, filepath.Join(base, "missing")) {
		t.Error("a folder that is not there has folders around it")
	}
}

// TestView names folders as another mount namespace does.
func TestView(t *testing.T) {
	t.Parallel()
	here := []proc.Mount{{Device: "8:1", Root: "/", Point: "/"}, {Device: "8:2", Root: "/@home", Point: "/home"}}
	spots := []spot{}
	for _, p := range []string{"/srv/tree", "/home/u/tree"} {
		m, _ := proc.MountOf(here, p)
		inside := strings.TrimPrefix(p, m.Point)
		if m.Point == "/" {
			inside = p
		} else {
			inside = m.Root + inside
		}
		spots = append(spots, spot{path: p, device: m.Device, inside: inside})
	}
	there := []proc.Mount{
		{Device: "0:50", Root: "/", Point: "/"},
		{Device: "8:1", Root: "/srv/tree/src", Point: "/app"},
		{Device: "8:2", Root: "/@home/u", Point: "/mnt"},
	}
	v := view(spots, there, false)
	for path, want := range map[string][]int{
		"/app": {0}, "/app/deep/down": {0}, "/mnt/tree/x": {1}, "/mnt": nil, "/srv/tree": nil, "/home/u/tree": nil, "/application": nil,
	} {
		var got []int
		v.visit(path, func(numbers []int) { got = append(got, numbers...) })
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", path, d)
		}
	}
}

// TestRefusingIsAskedAgain: what refuses its links is asked again after a moment, all such together, and only the last refusal counts.
func TestRefusingIsAskedAgain(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for pid := range 3 {
		n := strconv.Itoa(60 + pid)
		files.Write(t, filepath.Join(root, n, "stat"), n+" (shy) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n")
	}
	r := must.Get(host.Open(root))(t)
	t.Cleanup(r.Close)
	h := newScan(r, Options{Root: root, Opaque: []string{"none"}}, []string{"/w/a"})
	h.left = attempts
	pids := []int{60, 61, 62}
	must.Do(t, h.pass(t.Context(), pids))
	if len(h.refusing) != 3 || h.unread != 0 {
		t.Fatalf("%v refuse, %d count: want three that are asked again", h.refusing, h.unread)
	}
	for name, to := range map[string]string{"cwd": "/w/a", "exe": "/bin/x", "root": "/"} {
		files.Link(t, filepath.Join(root, "61", name), to)
	}
	files.Write(t, filepath.Join(root, "61/fd/none"), "")
	must.Do(t, os.RemoveAll(filepath.Join(root, "62")))
	h.left, h.refusing = 0, nil
	must.Do(t, h.pass(t.Context(), pids))
	if len(h.refusing) != 0 || h.unread != 1 || len(h.held[0]) != 1 || h.held[0][0].PID != 61 {
		t.Errorf("%v refuse, %d count, held by %v: want 60 to count and 61 as the holder", h.refusing, h.unread, h.held)
	}
}
