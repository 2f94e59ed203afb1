package actuators

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNeverProcess(t *testing.T) {
	t.Parallel()
	n := NeverProcess{UID: 1000, Self: []int{20, 21}, OrphanParents: []int{30}, Multiplexers: []string{"screen", "wezterm-mux-server"}, Names: []string{"sshd", "git-*"}}
	for _, c := range []struct {
		pid, uid int
		comm     string
		kernel   bool
		refused  bool
	}{
		{100, 1000, "node", false, false},
		{100, 1000, "gitk", false, false},
		{100, 1000, "git", false, false},
		{0, 1000, "node", false, true},
		{-1, 1000, "node", false, true},
		{1, 1000, "node", false, true},
		{20, 1000, "node", false, true},
		{21, 1000, "node", false, true},
		{30, 1000, "node", false, true},
		{100, 0, "node", false, true},
		{100, 1000, "node", true, true},
		{100, 1000, "tmux: server", false, true},
		{100, 1000, "herdr", false, true},
		{100, 1000, "screen", false, true},
		{100, 1000, "wezterm-mux-ser", false, true}, // the kernel cuts names
		{100, 1000, "sshd", false, true},
		{100, 1000, "git-fetch", false, true},
	} {
		if err := n.Check(c.pid, c.uid, c.comm, c.kernel); errors.Is(err, ErrRefused) != c.refused {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestNeverFolder(t *testing.T) {
	t.Parallel()
	n := NeverFolder{Home: "/home/u", Roots: []string{"/home/u/trees", "/w", "/home/u/trees/deep/root"}}
	for _, c := range []struct {
		path, root string
		refused    bool
	}{
		{"/home/u/trees/a", "/home/u/trees", false},
		{"/home/u/trees/a/b", "/home/u/trees", false},
		{"/w/a", "/w", false},
		{"/w", "/w", true},
		{"/w2/a", "/w", true},
		{"/w/a", "/w2", true},
		{"/w/a", "", true},
		{"/w/../etc/x", "/w", true},
		{"/w/a/", "/w", true},
		{"w/a", "/w", true},
		{"", "/w", true},
		{"/", "/w", true},
		{"/home/u", "/w", true},
		{"/home", "/w", true},
		{"/home/u/trees", "/home/u/trees", true},
		{"/home/u/trees/deep", "/home/u/trees", true}, // contains another root
	} {
		if err := n.Check(c.path, c.root); errors.Is(err, ErrRefused) != c.refused {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := (NeverFolder{Roots: []string{"/w"}}).Check("/w/a", "/w"); !errors.Is(err, ErrRefused) {
		t.Errorf("home unknown: %v", err)
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, folder string
		want         bool
	}{{"/a/b", "/a", true}, {"/a", "/a", true}, {"/ab", "/a", false}, {"/", "/a", false}, {"/a", "/", true}, {"/a/b", "/a/b/c", false}} {
		if got := Within(c.path, c.folder); got != c.want {
			t.Errorf("Within(%q, %q) = %v", c.path, c.folder, got)
		}
	}
}

func TestLineage(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for pid, rest := range map[int]string{7: "(a) b) c\n) S 5 7", 5: "(sh) S 1 5", 1: "(init) S 0 1", 9: "(x) S 8 9", 4: "(y)", 20: "(winnow) S 0 0"} {
		dir := filepath.Join(root, strconv.Itoa(pid))
		if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "stat"), []byte(strconv.Itoa(pid)+" "+rest), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Lineage(root, 7)
	if diff := cmp.Diff([]int{7, 5, 1}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := Lineage(root, 20); err != nil || !slices.Equal(got, []int{20}) { // put into the pid namespace from outside
		t.Errorf("%v, %v", got, err)
	}
	for _, pid := range []int{9, 4} {
		if got, err := Lineage(root, pid); err == nil {
			t.Errorf("lineage of %d: %v", pid, got)
		}
	}
	if own, err := Lineage("/proc", os.Getpid()); err != nil || len(own) < 2 || own[1] != os.Getppid() {
		t.Errorf("own lineage: %v %v", own, err)
	}
}

func TestNobodyOfOurs(t *testing.T) {
	t.Parallel()
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	pids := []int{os.Getpid()}
	for path, refused := range map[string]bool{cwd: true, filepath.Dir(cwd): true, cwd + "/dirs": false, cwd + "x": false} {
		if err := NobodyOfOurs("/proc", pids, path); errors.Is(err, ErrRefused) != refused {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := NobodyOfOurs(t.TempDir(), pids, "/w/a"); !errors.Is(err, ErrRefused) {
		t.Errorf("own working directory unknown: %v", err)
	}
}
