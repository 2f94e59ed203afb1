package listen

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

func reach(path string) error {
	c, err := net.Dial("unix", path)
	if err == nil {
		_ = c.Close()
	}
	return err
}

func TestUnix(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	l := must.Get(Unix(t.Context(), path))(t)
	st := must.Get(os.Lstat(path))(t)
	must.Equal(t, os.FileMode(0o600), st.Mode().Perm(), "the socket's mode")
	must.Do(t, reach(path))
	if _, err := Unix(t.Context(), path); err == nil || !strings.Contains(err.Error(), "another program of yours listens there") {
		t.Errorf("a second one: %v", err)
	}
	must.Do(t, reach(path))
	must.Do(t, l.Close())
	if _, err := os.Lstat(path); err == nil {
		t.Error("it is still there")
	}
}

// TestUnixAfterOneThatWasKilled: what a program left that ended without closing is replaced.
func TestUnixAfterOneThatWasKilled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	old := must.Get(net.ListenUnix("unix", &net.UnixAddr{Name: path}))(t)
	old.SetUnlinkOnClose(false)
	must.Do(t, old.Close())
	l := must.Get(Unix(t.Context(), path))(t)
	must.Do(t, reach(path))
	must.Do(t, l.Close())
}

func TestUnixReplacesNothingElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, make := range map[string]func(string) error{
		"file":   func(p string) error { return os.WriteFile(p, []byte("work"), 0o600) },
		"folder": func(p string) error { return os.Mkdir(p, 0o700) },
		"link":   func(p string) error { return os.Symlink(filepath.Join(dir, "nowhere"), p) },
	} {
		path := filepath.Join(dir, name)
		must.Do(t, make(path))
		if l, err := Unix(t.Context(), path); err == nil || !strings.Contains(err.Error(), "something else is there") {
			t.Errorf("%s: %v, %v", name, l, err)
		}
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s is gone", name)
		}
	}
}

// TestUnixFarDown: the kernel takes 107 bytes of a path, and homes may be deeper.
func TestUnixFarDown(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 100), strings.Repeat("e", 100))
	must.Do(t, os.MkdirAll(dir, 0o700))
	path := filepath.Join(dir, "s")
	l := must.Get(Unix(t.Context(), path))(t)
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
	if _, err := Unix(t.Context(), path); err == nil {
		t.Error("two listen there")
	}
	must.Do(t, l.Close())
	if _, err := os.Lstat(path); err == nil {
		t.Error("it is still there")
	}
}

func TestAttackAFolderThatOthersCanWrite(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "open")
	must.Do(t, os.Mkdir(dir, 0o700))
	must.Do(t, os.Chmod(dir, 0o777))
	if l, err := Unix(context.Background(), filepath.Join(dir, "s")); err == nil {
		_ = l.Close()
		t.Error("it listens where others can put their own socket")
	}
}

// TestUnixInAFolderThatWasMadeAgain: the end of the first removes nothing that another one made since.
func TestUnixInAFolderThatWasMadeAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "d")
	path := filepath.Join(dir, "s")
	listens := func() net.Listener {
		must.Do(t, os.Mkdir(dir, 0o700))
		return must.Get(Unix(t.Context(), path))(t)
	}
	first := listens()
	must.Do(t, os.RemoveAll(dir))
	second := listens()
	must.Do(t, first.Close())
	must.Do(t, reach(path))
	must.Do(t, second.Close())
	if _, err := os.Lstat(path); err == nil {
		t.Error("it is still there")
	}
}
