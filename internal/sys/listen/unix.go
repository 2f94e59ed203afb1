// Package listen opens what the daemon answers on: unix sockets that this user alone can reach.
package listen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// maxPath is how many bytes of a path the kernel takes for a socket (sun_path less its ending zero, unix(7)).
const maxPath = 107

// Unix listens on a socket at path, an absolute path, with mode 0600 from its first moment on. Its folder must be one that no other user can change. A socket of this user's
// at which no program listens any more is replaced; everything else that is there stays, and is an error. Close removes the socket, if no other one has taken its place.
func Unix(ctx context.Context, path string) (net.Listener, error) {
	dir, name := filepath.Split(path)
	dir, err := safeopen.Folder(filepath.Clean(dir))
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; nothing was made there", path, err)
	}
	at := filepath.Join(dir, name)
	fd := -1
	if len(at) > maxPath { // the folder by its descriptor, which is short
		if fd, err = unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			return nil, fmt.Errorf("listen on %s: %w", path, &fs.PathError{Op: "open", Path: dir, Err: err})
		}
		at = "/proc/self/fd/" + strconv.Itoa(fd) + "/" + name
	}
	l, err := bind(ctx, path, at)
	if err != nil {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
		return nil, err
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false) // it goes by the path alone
	}
	made, _ := os.Lstat(at) // nil where it has gone already
	return &socket{Listener: l, folder: fd, at: at, made: made}, nil
}

func bind(ctx context.Context, path, at string) (net.Listener, error) {
	if err := free(ctx, path, at); err != nil {
		return nil, err
	}
	// The kernel gives a socket's file the mode of the socket itself.
	private := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		outer := c.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), 0o600) })
		return errors.Join(outer, err)
	}}
	l, err := private.Listen(ctx, "unix", at)
	if err != nil {
		if no, ok := errors.AsType[syscall.Errno](err); ok {
			err = no
		}
		return nil, &fs.PathError{Op: "listen on", Path: path, Err: err}
	}
	return l, nil
}

// free removes a socket of this user's without a listener.
func free(ctx context.Context, path, at string) error {
	st, err := os.Lstat(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &fs.PathError{Op: "look at", Path: path, Err: errors.Unwrap(err)}
	}
	own, ok := st.Sys().(*syscall.Stat_t)
	if st.Mode().Type() != fs.ModeSocket || !ok || int(own.Uid) != os.Geteuid() {
		return fmt.Errorf("listen on %s: something else is there, and it was left; remove it or choose another path", path)
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", at)
	if err == nil {
		_ = c.Close()
		return fmt.Errorf("listen on %s: another program of yours listens there, and was left alone", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("listen on %s: whether another program listens there could not be found out: %w; it was left", path, err)
	}
	if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("listen on %s: the socket that an earlier program left: %w", path, err)
	}
	return nil
}

// socket is a listener that keeps its folder open, and knows its file.
type socket struct {
	net.Listener
	folder int
	at     string
	made   os.FileInfo
}

// Close implements net.Listener.
func (s *socket) Close() error {
	if now, err := os.Lstat(s.at); err == nil && s.made != nil && os.SameFile(now, s.made) { // while it listens, its inode's number is no other file's
		_ = os.Remove(s.at)
	}
	s.made = nil
	err := s.Listener.Close()
	if s.folder >= 0 {
		_ = unix.Close(s.folder)
		s.folder = -1
	}
	return err
}
