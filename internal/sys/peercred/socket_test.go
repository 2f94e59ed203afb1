package peercred_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/peercred"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func TestMain(m *testing.M) { attack.Main(m) }

// folder makes a folder whose sockets' paths stay below what the kernel takes.
func folder(t *testing.T, mode os.FileMode) string {
	t.Helper()
	dir := must.Get(os.MkdirTemp("/tmp", "p"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must.Do(t, os.Chmod(dir, mode))
	return dir
}

func listen(t *testing.T, path string) string {
	t.Helper()
	l := must.Get(net.Listen("unix", path))(t)
	t.Cleanup(func() { _ = l.Close() })
	return path
}

func TestDialOwnSockets(t *testing.T) {
	t.Parallel()
	open, closed := folder(t, 0o755), folder(t, 0o700)
	tmux := filepath.Join(closed, "tmux-"+strconv.Itoa(os.Geteuid()))
	must.Do(t, os.Mkdir(tmux, 0o770))
	link := filepath.Join(open, "link")
	must.Do(t, os.Symlink(filepath.Join(closed, "s"), link))
	sticky := filepath.Join("/tmp", filepath.Base(open)+".sock")
	t.Cleanup(func() { _ = os.Remove(sticky) })
	for _, path := range []string{listen(t, filepath.Join(open, "s")), listen(t, filepath.Join(closed, "s")), link,
		listen(t, filepath.Join(tmux, "default")), listen(t, sticky), filepath.Join(t.TempDir(), "s")} {
		if filepath.Dir(filepath.Dir(path)) != "/" && filepath.Base(path) == "s" {
			if _, err := os.Lstat(path); err != nil {
				listen(t, path)
			}
		}
		c, pid, err := peercred.Dial(t.Context(), path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		_ = c.Close()
		if pid != os.Getpid() {
			t.Errorf("%s: pid %d listens, want %d", path, pid, os.Getpid())
		}
	}
}

func TestHoldTellsWhy(t *testing.T) {
	t.Parallel()
	dir := folder(t, 0o700)
	path := func(name string) string { return filepath.Join(dir, name) }
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path("stale"), Net: "unix"})
	must.Do(t, err)
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	must.Do(t, errors.Join(os.WriteFile(path("file"), nil, 0o600), os.Mkdir(path("wide"), 0o700), os.Chmod(path("wide"), 0o777)))
	listen(t, path("wide/s"))
	tmux := path("tmux-" + strconv.Itoa(os.Geteuid()))
	must.Do(t, os.Mkdir(tmux, 0o701))
	listen(t, filepath.Join(tmux, "s"))
	for name, want := range map[string]error{path("none"): fs.ErrNotExist, path("stale"): unix.ECONNREFUSED, path("file"): peercred.ErrNotSocket,
		path("wide/s"): safeopen.ErrWritable, filepath.Join(tmux, "s"): peercred.ErrFolder} {
		if _, _, err := peercred.Dial(t.Context(), name); !errors.Is(err, want) {
			t.Errorf("%s: want %v, got %v", name, want, err)
		}
	}
}

// What is held stays held: another socket in its place is not connected to. That a connection is made proves nothing: the first socket
// stays open for as long as a process that is started meanwhile, by another test, has a copy of it.
func TestAttackASocketThatIsReplacedWhileItIsHeld(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "another socket is put in the place of one that was found good")
	for range 200 {
		path := filepath.Join(folder(t, 0o700), "s")
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		must.Do(t, err)
		s := must.Get(peercred.Hold(path))(t)
		l.SetUnlinkOnClose(false)
		_ = l.Close()
		_ = os.Remove(path)
		other, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		must.Do(t, err)
		if c, _, err := s.Dial(t.Context()); err == nil {
			_ = c.Close()
		}
		if took(t, other) {
			a.Lost("the other one was connected to")
		} else {
			a.Held()
		}
		if c, _, err := peercred.Dial(t.Context(), path); err != nil || c.Close() != nil || !took(t, other) {
			t.Fatalf("a connection to the other one is not seen: %v", err)
		}
		_, _ = s.Close(), other.Close()
	}
}

// took reports whether a connection waits at a socket.
func took(t *testing.T, l *net.UnixListener) (waits bool) {
	t.Helper()
	raw := must.Get(l.SyscallConn())(t)
	must.Do(t, raw.Control(func(fd uintptr) {
		c, _, no := unix.Accept4(int(fd), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if waits = no == nil; waits {
			_ = unix.Close(c)
		}
	}))
	return waits
}

func TestAttackASocketOfAnotherUser(t *testing.T) {
	t.Parallel()
	_, attacker := attack.Users(t)
	own := folder(t, 0o777)
	shared := filepath.Dir(attacker.Home)
	base := folder(t, 0o755)
	tmux := filepath.Join(base, "tmux-"+strconv.Itoa(os.Geteuid()))
	attacker.Mkdir(t, tmux, 0o777)
	attacker.Mkdir(t, filepath.Join(shared, "open"), 0o755)
	sticky := folder(t, 0o777|os.ModeSticky)
	paths := []string{filepath.Join(own, "s"), filepath.Join(tmux, "default"), filepath.Join(shared, "open", "s"), filepath.Join(sticky, "s")}
	var heard []*attack.Heard
	for _, p := range paths {
		heard = append(heard, attacker.Listen(t, "unix", p))
	}
	link := filepath.Join(base, "link")
	must.Do(t, os.Symlink(paths[2], link))
	a := attack.New(t, "another user's socket in a folder that others can write, in tmux's folder, in his own, in one with the sticky bit, and behind a link")
	for range 20 {
		for _, p := range append(paths, link) {
			c, _, err := peercred.Dial(t.Context(), p)
			if err == nil {
				_ = c.Close()
				a.Lost("%s was connected to", p)
				continue
			}
			a.Held()
		}
	}
	for _, h := range heard {
		if n := h.Connections(); n > 0 {
			t.Errorf("%s took %d connections", h.Address, n)
		}
	}
}

// A socket file of this user's on which another user listens: the victim bound it and gave it away, or root changed its owner.
func TestAttackASocketOfOursThatAnotherUserListensOn(t *testing.T) {
	t.Parallel()
	_, attacker := attack.Users(t)
	path := filepath.Join(folder(t, 0o777), "s")
	heard := attacker.Listen(t, "unix", path)
	must.Do(t, errors.Join(os.Chown(path, os.Geteuid(), os.Getegid()), os.Chmod(filepath.Dir(path), 0o755)))
	a := attack.New(t, "another user listens on a socket whose file is this user's")
	for range 100 {
		_, _, err := peercred.Dial(t.Context(), path)
		if !errors.Is(err, peercred.ErrOther) {
			a.Lost("want %v, got %v", peercred.ErrOther, err)
			continue
		}
		a.Held()
	}
	if heard.Text() != "" {
		t.Errorf("it heard %q", heard.Text())
	}
}
