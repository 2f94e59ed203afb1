package safeopen_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func write(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(text), mode))
	must.Do(t, os.Chmod(path, mode))
	return path
}

func TestReadAFile(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "f"), "hello", 0o600)
	f, err := safeopen.Read(t.Context(), path, safeopen.Want{Max: 5, Ruling: true})
	if err != nil || string(f.Data) != "hello" || f.Mod.IsZero() || f.Ino == 0 {
		t.Fatalf("want hello, got %q, %v, %+v", f.Data, err, f)
	}
	if _, err := safeopen.Read(t.Context(), path+"x", safeopen.Want{Max: 5}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("want fs.ErrNotExist, got %v", err)
	}
}

func TestAttackAFileThatIsNone(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	target := write(t, path("target"), "secret", 0o600)
	must.Do(t, errors.Join(os.Symlink(target, path("link")), syscall.Mkfifo(path("fifo"), 0o600), os.Mkdir(path("folder"), 0o700)))
	write(t, path("writable"), "x", 0o666)
	write(t, path("large"), "too much", 0o600)
	a := attack.New(t, "a link, a FIFO, a device, a folder, a file that others can write, a greater file in the place of one that is read")
	for name, want := range map[string]error{
		path("link"): safeopen.ErrLink, path("fifo"): safeopen.ErrNotRegular, "/dev/zero": safeopen.ErrNotRegular, "/dev/null": safeopen.ErrNotRegular,
		path("folder"): safeopen.ErrNotRegular, path("writable"): safeopen.ErrWritable, path("large"): safeopen.ErrTooLarge,
	} {
		begin := time.Now()
		f, err := safeopen.Read(t.Context(), name, safeopen.Want{Max: 7, Ruling: true})
		switch {
		case !errors.Is(err, want):
			a.Lost("%s: want %v, got %v", name, want, err)
		case len(f.Data) > 0:
			a.Lost("%s: %d bytes were read", name, len(f.Data))
		case time.Since(begin) > wait.Patience:
			a.Lost("%s took %s", name, time.Since(begin))
		default:
			a.Held()
		}
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := write(t, filepath.Join(t.TempDir(), "f"), "hello", 0o600)
	if _, err := safeopen.Read(ctx, path, safeopen.Want{Max: 5}); !errors.Is(err, context.Canceled) {
		t.Errorf("want context.Canceled, got %v", err)
	}
}

func TestAttackAFileOfAnotherUser(t *testing.T) {
	victim, attacker := attack.Users(t)
	_ = victim
	a := attack.New(t, "another user's file in the place of one that is read")
	for _, mode := range []os.FileMode{0o600, 0o644, 0o666} {
		path := filepath.Join(t.TempDir(), "f")
		attacker.Write(t, path, "rules: {}", mode)
		if _, err := safeopen.Read(t.Context(), path, safeopen.Want{Max: 100}); !errors.Is(err, safeopen.ErrOwner) {
			a.Lost("mode %o: want %v, got %v", mode, safeopen.ErrOwner, err)
			continue
		}
		a.Held()
	}
}

func TestPathLeadsOnlyThroughWhatIsOurs(t *testing.T) {
	base := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	mkdir := func(name string, mode os.FileMode) string {
		p := filepath.Join(base, name)
		must.Do(t, errors.Join(os.MkdirAll(p, 0o700), os.Chmod(p, mode)))
		return p
	}
	own, open, sticky := mkdir("own/in", 0o755), mkdir("open", 0o777), mkdir("sticky", 0o777|os.ModeSticky)
	for _, p := range []string{filepath.Join(open, "in"), filepath.Join(sticky, "in")} {
		must.Do(t, os.Mkdir(p, 0o700))
	}
	link := filepath.Join(base, "link")
	must.Do(t, os.Symlink("own/in", link))
	if real, err := safeopen.Path(link); err != nil || real != own {
		t.Errorf("a link of our own: want %s, got %s, %v", own, real, err)
	}
	if real, err := safeopen.Folder(filepath.Join(sticky, "in")); err != nil || real != filepath.Join(sticky, "in") {
		t.Errorf("a folder of ours below one with the sticky bit: got %s, %v", real, err)
	}
	if _, err := safeopen.Folder(link); !errors.Is(err, safeopen.ErrLink) {
		t.Errorf("a link as a folder: want %v, got %v", safeopen.ErrLink, err)
	}
	if _, err := safeopen.Path(filepath.Join(open, "in")); !errors.Is(err, safeopen.ErrWritable) {
		t.Errorf("below a folder that others can write: want %v, got %v", safeopen.ErrWritable, err)
	}
	if _, err := safeopen.Folder(open); !errors.Is(err, safeopen.ErrWritable) {
		t.Errorf("a folder that others can write: want %v, got %v", safeopen.ErrWritable, err)
	}
	if _, err := safeopen.Path(filepath.Join(own, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a path that is not there: want %v, got %v", fs.ErrNotExist, err)
	}
	loop := filepath.Join(base, "loop")
	must.Do(t, os.Symlink("loop", loop))
	if _, err := safeopen.Path(loop); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("a link to itself: want %v, got %v", syscall.ELOOP, err)
	}
}

func TestAttackALinkOfAnotherUserOnTheWay(t *testing.T) {
	victim, attacker := attack.Users(t)
	shared := filepath.Dir(victim.Home)
	link, folder := filepath.Join(shared, "link"), filepath.Join(shared, "folder")
	attacker.Link(t, victim.Home, link)
	attacker.Mkdir(t, folder, 0o755)
	attacker.Mkdir(t, filepath.Join(folder, "in"), 0o755)
	a := attack.New(t, "another user's link or folder on the way to a path")
	for _, path := range []string{link, filepath.Join(link, "x"), folder, filepath.Join(folder, "in")} {
		if _, err := safeopen.Path(path); !errors.Is(err, safeopen.ErrOwner) {
			a.Lost("%s: want %v, got %v", path, safeopen.ErrOwner, err)
			continue
		}
		a.Held()
	}
}

// TestAttackASecretThatOthersRead: a file with a token is one that no other user can read or write.
func TestAttackASecretThatOthersRead(t *testing.T) {
	dir := t.TempDir()
	a := attack.New(t, "a file with a token that other users can read or write")
	for mode, want := range map[os.FileMode]error{
		0o604: safeopen.ErrReadable, 0o640: safeopen.ErrReadable, 0o644: safeopen.ErrReadable, 0o602: safeopen.ErrWritable, 0o666: safeopen.ErrWritable,
	} {
		path := write(t, filepath.Join(dir, mode.String()), "t0ken", mode)
		f, err := safeopen.Read(t.Context(), path, safeopen.Want{Max: 100, Secret: true})
		if !errors.Is(err, want) || len(f.Data) > 0 {
			a.Lost("%v: want %v, got %v", mode, want, err)
			continue
		}
		a.Held()
	}
	for _, mode := range []os.FileMode{0o600, 0o400, 0o700} {
		path := write(t, filepath.Join(dir, mode.String()), "t0ken", mode)
		if f, err := safeopen.Read(t.Context(), path, safeopen.Want{Max: 100, Secret: true}); err != nil || string(f.Data) != "t0ken" {
			t.Errorf("%v: %q, %v", mode, f.Data, err)
		}
	}
}
