package actuators

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/must"
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

func TestIsBelow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, folder string
		want         bool
	}{{"/a/b", "/a", true}, {"/a", "/a", true}, {"/ab", "/a", false}, {"/", "/a", false}, {"/a", "/", true}, {"/a/b", "/a/b/c", false}} {
		if got := IsBelow(c.path, c.folder); got != c.want {
			t.Errorf("Within(%q, %q) = %v", c.path, c.folder, got)
		}
	}
}

func TestNobodyOfOurs(t *testing.T) {
	t.Parallel()
	cwd := must.Get(os.Getwd())(t)
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
