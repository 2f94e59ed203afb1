// Package peercred makes sure who is at the other end of a socket before a byte is sent there or a program is run on it.
//
// A socket's path or port is only a name: another user of the machine may have taken it first. The kernel knows who made a
// socket, who listens on it and who took a connection; that is asked here, and unknown is never taken for one's own.
package peercred

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// Inherited is the path by which a program that was started with Socket.File as the first of its extra files reaches
// that very socket, also when its own path leads elsewhere by then: connect(2) follows this link to the file itself.
const Inherited = "/proc/self/fd/3"

// Socket is a unix socket of this user's own, held by an open descriptor. No other socket can take the place of what
// is held: a file is bound once.
type Socket struct {
	// Path is where it was found, for messages.
	Path string
	file *os.File
}

// Hold opens the socket at path without connecting to it. It refuses a path that others could lead elsewhere, as
// safeopen.Path does, a socket that does not belong to this very user (a socket of root's belongs to root alone), and
// one in a folder of tmux's that tmux itself would refuse. Links of this user's own are followed.
func Hold(path string) (*Socket, error) {
	real, err := safeopen.Path(path)
	if err != nil {
		return nil, err
	}
	if dir := filepath.Dir(real); filepath.Base(dir) == "tmux-"+strconv.Itoa(os.Geteuid()) {
		if err := TmuxFolder(dir); err != nil {
			return nil, err
		}
	}
	var fd int
	err = retry(func() (err error) {
		fd, err = unix.Open(real, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	s := &Socket{path, os.NewFile(uintptr(fd), path)}
	var st unix.Stat_t
	if err = retry(func() error { return unix.Fstat(fd, &st) }); err == nil && st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		err = ErrNotSocket
	} else if err == nil {
		err = judge(st.Uid)
	}
	if err != nil {
		_ = s.Close()
		return nil, &fs.PathError{Op: "trust", Path: path, Err: err}
	}
	return s, nil
}

func judge(uid uint32) error {
	own, err := mine(uid)
	if err == nil && !own {
		err = fmt.Errorf("%w (uid %d; this is uid %d)", ErrOther, uid, os.Geteuid())
	}
	return err
}

// TmuxFolder makes sure that dir is a folder in which tmux would look for its sockets (make_label in tmux.c): a folder
// and no link, of this very user, with no rights for others. And no other user may be able to put another in its
// place.
func TmuxFolder(dir string) error {
	if _, err := safeopen.Folder(dir); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return fmt.Errorf("%w: %w", ErrFolder, err)
	}
	var st unix.Stat_t
	if err := retry(func() error { return unix.Lstat(dir, &st) }); err != nil {
		return &fs.PathError{Op: "look at", Path: dir, Err: err}
	}
	if own, err := mine(st.Uid); err != nil || !own || st.Mode&unix.S_IRWXO != 0 {
		return &fs.PathError{Op: "trust", Path: dir, Err: fmt.Errorf("%w (uid %d, mode %04o)", ErrFolder, st.Uid, st.Mode&0o7777)}
	}
	return nil
}

// File is the held socket, for a program that reaches it by Inherited. It is closed with s.
func (s *Socket) File() *os.File { return s.file }

// Close lets go.
func (s *Socket) Close() error { return s.file.Close() }

// Dial connects to the held socket and makes sure that this user called listen(2) on it, before a byte is sent or
// read. It gives that process as this pid namespace counts it, 0 for one outside of it. The caller closes the
// connection.
func (s *Socket) Dial(ctx context.Context) (conn *net.UnixConn, pid int, err error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", "/proc/self/fd/"+strconv.Itoa(int(s.file.Fd())))
	if err != nil {
		var no syscall.Errno
		switch {
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case errors.As(err, &no): // without the descriptor's path
			err = no
		}
		return nil, 0, &fs.PathError{Op: "connect to", Path: s.Path, Err: err}
	}
	conn = c.(*net.UnixConn)
	who, err := credentials(conn)
	if err == nil {
		err = judge(who.Uid)
	}
	if err != nil {
		_ = conn.Close()
		return nil, 0, &fs.PathError{Op: "trust who listens on", Path: s.Path, Err: err}
	}
	return conn, int(who.Pid), nil
}

// Dial is Hold and Socket.Dial in one.
func Dial(ctx context.Context, path string) (conn *net.UnixConn, pid int, err error) {
	s, err := Hold(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = s.Close() }()
	return s.Dial(ctx)
}

func credentials(conn *net.UnixConn) (who *unix.Ucred, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	outer := raw.Control(func(fd uintptr) { who, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	return who, errors.Join(outer, err)
}

// Client makes sure, by the kernel's word, that who connected to a unix socket is this user or root, and gives its uid
// and its process as this pid namespace counts it, 0 for one outside of it. It sends and reads nothing.
func Client(conn net.Conn) (uid, pid int, err error) {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, 0, ErrNotSocket
	}
	who, err := credentials(c)
	if err != nil {
		return 0, 0, errors.Join(ErrUnknown, err)
	}
	if who.Uid != 0 || ambiguous(0) {
		err = judge(who.Uid)
	}
	return int(who.Uid), int(who.Pid), err
}

// The reasons for which a socket is refused besides those of package foreign. A missing one is fs.ErrNotExist, and one on which
// no process listens unix.ECONNREFUSED.
var (
	ErrNotSocket = errors.New("it is no socket")
	ErrOther     = errors.New("it belongs to another user")
	ErrUnknown   = errors.New("its owner is unknown")
	ErrFolder    = errors.New("tmux's folder of sockets must be this user's own, with no rights for others: see who owns it, then remove it or chmod 700 it")
)

// Refused reports whether err says that a socket is not to be trusted, or that this cannot be found out: not that it is missing, or that
// something went wrong on the way to it.
func Refused(err error) bool {
	whys := []error{ErrOther, ErrUnknown, ErrFolder, safeopen.ErrOwner, safeopen.ErrWritable, safeopen.ErrLink, safeopen.ErrNotFolder}
	return slices.ContainsFunc(whys, func(why error) bool { return errors.Is(err, why) })
}

// mine reports whether uid, as the kernel shows it to this process, is this user: root's own is not everybody's. It gives
// ErrUnknown where it shows that same number for users whom this user namespace does not know.
func mine(uid uint32) (bool, error) {
	if int(uid) != os.Geteuid() {
		return false, nil
	}
	if ambiguous(uid) {
		return false, ErrUnknown
	}
	return true, nil
}

// ambiguous reports whether uid is the one that stands for every user without a number here (user_namespaces(7)).
func ambiguous(uid uint32) bool {
	overflow := uint64(65534)
	if text, err := os.ReadFile("/proc/sys/kernel/overflowuid"); err == nil {
		if n, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 32); err == nil {
			overflow = n
		}
	}
	if uint64(uid) != overflow {
		return false
	}
	text, err := os.ReadFile("/proc/self/uid_map")
	f := bytes.Fields(text)
	// Where every number has a user, none stands for others.
	return err != nil || len(f) != 3 || string(f[0]) != "0" || string(f[2]) != "4294967295"
}

func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
