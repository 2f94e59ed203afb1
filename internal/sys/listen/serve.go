// Package listen opens what the daemon answers on: unix sockets that this user alone can reach.
package listen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/peercred"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// Serve has a server answer at a listener until stop is called, which waits that long for answers that are under way. failed hears why it ended by itself.
func Serve(srv *http.Server, l net.Listener, wait time.Duration, failed func(error)) (stop func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed(err)
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		defer cancel()
		if srv.Shutdown(ctx) != nil {
			_ = srv.Close()
		}
		<-done
	}
}

// Crowd bounds how many connections of an HTTP server there may be that are owed nothing: those that have sent no whole request yet, and those that wait for the next one. One more closes the
// oldest of them, so that a client which opens many and sends little blocks no client that asks.
type Crowd struct {
	most int
	mu   sync.Mutex
	// waiting are they, the oldest first.
	waiting []net.Conn
}

// NewCrowd gives one of at most so many.
func NewCrowd(most int) *Crowd { return &Crowd{most: most} }

// Watch is for http.Server.ConnState.
func (c *Crowd) Watch(conn net.Conn, s http.ConnState) {
	// One that was closed as the oldest may still begin to be read: it is not in the way of those that came later.
	if waited := c.Serve(conn); s == http.StateClosed || s == http.StateHijacked || s == http.StateActive && !waited {
		return
	}
	c.mu.Lock()
	c.waiting = append(c.waiting, conn)
	var oldest net.Conn
	if len(c.waiting) > c.most {
		oldest = c.waiting[0]
		c.waiting = c.waiting[1:]
	}
	c.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close()
	}
}

// Serve takes a connection out that has asked for something: it is closed for no other one, until it waits again. It gives whether it waited.
func (c *Crowd) Serve(conn net.Conn) (waited bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.waiting)
	c.waiting = slices.DeleteFunc(c.waiting, func(w net.Conn) bool { return inner(w) == inner(conn) })
	return len(c.waiting) < before
}

// inner is what can be compared of a connection.
func inner(conn net.Conn) net.Conn {
	if c, ok := conn.(Conn); ok {
		return c.Conn
	}
	return conn
}

// Conn is a connection whose maker the kernel named.
type Conn struct {
	net.Conn
	// PID is the process that connected as this pid namespace counts it, 0 for one outside of it. It may have handed the connection on.
	UID, PID int
	closed   func()
}

// Close implements net.Conn.
func (c Conn) Close() error {
	defer c.closed()
	return c.Conn.Close()
}

// FilterPeers lets those connections of a unix socket through that this user or root made, up to most at the same time: more wait until one is closed. Others are closed at once and told
// nothing; refused hears why, and must not wait.
func FilterPeers(l net.Listener, most int, refused func(error)) net.Listener {
	return Bound(l, most, peercred.Client, refused)
}

// Bound lets those connections through whose peer is admitted, up to most at the same time: more wait until one is closed. Others are closed at once and told nothing; refused hears why,
// and must not wait.
func Bound(l net.Listener, most int, admit func(net.Conn) (uid, pid int, err error), refused func(error)) net.Listener {
	return &own{Listener: l, admit: admit, refused: refused, open: make(chan struct{}, most), over: make(chan struct{})}
}

type own struct {
	net.Listener
	admit   func(net.Conn) (uid, pid int, err error)
	refused func(error)
	open    chan struct{}
	once    sync.Once
	over    chan struct{}
}

// Accept implements net.Listener.
func (o *own) Accept() (net.Conn, error) {
	select {
	case o.open <- struct{}{}:
	case <-o.over:
		return nil, net.ErrClosed
	}
	for {
		c, err := o.Listener.Accept()
		if err != nil {
			<-o.open
			return nil, err
		}
		uid, pid, err := o.admit(c)
		if err == nil {
			return Conn{c, uid, pid, sync.OnceFunc(func() { <-o.open })}, nil
		}
		_ = c.Close()
		o.refused(err)
	}
}

// Close implements net.Listener.
func (o *own) Close() error {
	o.once.Do(func() { close(o.over) })
	return o.Listener.Close()
}

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
	if st.Mode().Type() != fs.ModeSocket || safeopen.Owner(st) != os.Geteuid() {
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
