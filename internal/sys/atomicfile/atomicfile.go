// Package atomicfile writes a file that the user names, and nothing else.
//
// A name that means a regular file, or none yet, gets a new file in one step: it is written beside its place and
// renamed when it is whole. A device such as /dev/null, a terminal and a FIFO are written through. Everything else is
// refused with a word.
package atomicfile

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

var (
	// ErrRefused says that nothing may be written at that name, and nothing was.
	ErrRefused = errors.New("nothing was written")
	errChanged = errors.New("it was replaced by another file meanwhile")
)

// descriptor is a name of something that this process has open already.
var descriptor = regexp.MustCompile(`^(?:/dev/(?:std(in|out|err)|fd/([0-9]{1,6}))|/proc/self/fd/([0-9]{1,6}))$`)

// Write has write fill the file called path. After an error the file that was there is unchanged.
//
// A new file may be read by this user alone; one that takes the place of another keeps its rights. A link is followed
// only where only this user and root can change what it leads to.
func Write(ctx context.Context, path string, write func(io.Writer) error) error {
	if fd, ok := opened(path); ok {
		return writeStream(ctx, fd, path, write)
	}
	dir, name, err := place(path)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(dir) }()
	var st unix.Stat_t
	switch err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); {
	case errors.Is(err, unix.ENOENT):
		return replace(dir, name, path, nil, write)
	case err != nil:
		return &fs.PathError{Op: "look at", Path: path, Err: err}
	}
	switch kind := st.Mode & unix.S_IFMT; {
	case kind == unix.S_IFREG && int(st.Uid) != os.Geteuid():
		return refused(path, "it belongs to another user (uid %d; this is uid %d): remove it, or name another file", st.Uid, os.Geteuid())
	case kind == unix.S_IFREG:
		return replace(dir, name, path, &st, write)
	case kind != unix.S_IFCHR && kind != unix.S_IFIFO:
		return refused(path, "it is %s: name a file", cmp.Or(kinds[kind], "no file"))
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return refused(path, "it belongs to another user (uid %d; this is uid %d), who would read it: name another file", st.Uid, os.Geteuid())
	}
	fd, err := device(ctx, dir, name, path, &st)
	if err != nil {
		return err
	}
	return writeStream(ctx, fd, path, write)
}

// WriteData is Write of a whole content.
func WriteData(ctx context.Context, path string, data []byte) error {
	return Write(ctx, path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

func refused(path, format string, args ...any) error {
	return fmt.Errorf("write %s: %w: %s", path, ErrRefused, fmt.Sprintf(format, args...))
}

var kinds = map[uint32]string{
	unix.S_IFDIR: "a folder", unix.S_IFBLK: "a block device", unix.S_IFSOCK: "a socket", unix.S_IFLNK: "a link",
}

// opened gives a descriptor of its own for what a name such as /dev/stdout means.
func opened(path string) (int, bool) {
	m := descriptor.FindStringSubmatch(path)
	if m == nil {
		return -1, false
	}
	n, err := strconv.Atoi(m[2] + m[3])
	if err != nil {
		n = map[string]int{"in": 0, "out": 1, "err": 2}[m[1]]
	}
	fd, err := unix.FcntlInt(uintptr(n), unix.F_DUPFD_CLOEXEC, 3)
	return fd, err == nil
}

// place opens the folder that path's last name stands in, and gives both. Where path is a link, it is the one that
// this leads to.
func place(path string) (dir int, name string, err error) {
	if st, err := os.Lstat(path); err == nil && st.Mode()&fs.ModeSymlink != 0 {
		real, err := safeopen.Path(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return -1, "", refused(path, "it is a link that leads nowhere: remove it, or name another file")
		case err != nil:
			return -1, "", refused(path, "it is a link, and others can change what it leads to: %v: name the file itself", err)
		}
		path = real
	}
	folder, name := filepath.Dir(path), filepath.Base(path)
	if name == "." || name == ".." || name == "/" {
		return -1, "", refused(path, "it is a folder: name a file")
	}
	dir, err = enter(folder)
	return dir, name, err
}

// enter opens a folder. Where others can change the way to it, no link on that way is followed.
func enter(folder string) (int, error) {
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
	_, unsafe := safeopen.Path(folder)
	for {
		var fd int
		var err error
		if unsafe == nil {
			fd, err = unix.Open(folder, flags, 0)
		} else {
			fd, err = unix.Openat2(unix.AT_FDCWD, folder, &unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_NO_SYMLINKS})
		}
		switch {
		case err == nil:
			return fd, nil
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			continue
		case errors.Is(err, unix.ELOOP) && unsafe != nil:
			return -1, refused(folder, "others can change what the links on the way lead to: %v: write the path without links", unsafe)
		}
		return -1, fmt.Errorf("write into %s: %w", folder, err)
	}
}

// replace writes a new file beside name and gives it that name. Where old is nil, nothing may have the name by then.
func replace(dir int, name, path string, old *unix.Stat_t, write func(io.Writer) error) (err error) {
	mode := uint32(0o600)
	if old != nil {
		mode = old.Mode & 0o777
	}
	temp := ".winnow-" + rand.Text()
	fd, err := unix.Openat(dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return &fs.PathError{Op: "write beside", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	var made unix.Stat_t
	if err = unix.Fstat(fd, &made); err == nil {
		err = write(f)
	}
	if err == nil && old != nil && old.Gid != made.Gid {
		// Where the group cannot be kept, its rights must not go to another one.
		if unix.Fchown(fd, -1, int(old.Gid)) != nil {
			mode &^= 0o070
		}
	}
	if err == nil {
		err = unix.Fchmod(fd, mode)
	}
	if err == nil {
		err = f.Sync()
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) { // a file system that cannot say so
			err = nil
		}
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = rename(dir, temp, name, old, &made)
	}
	if err == nil {
		return nil
	}
	if sameInode(dir, temp, &made) {
		err = errors.Join(err, unix.Unlinkat(dir, temp, 0))
	}
	return fmt.Errorf("write %s: %w; the old content is unchanged", path, err)
}

// rename gives a written file its name, unless another than old has that name by now, or the file is another one.
func rename(dir int, temp, name string, old, made *unix.Stat_t) error {
	if !sameInode(dir, temp, made) {
		return errChanged
	}
	if old == nil {
		err := unix.Renameat2(dir, temp, dir, name, unix.RENAME_NOREPLACE)
		switch {
		case errors.Is(err, unix.EEXIST):
			return errChanged
		case errors.Is(err, unix.EINVAL): // a file system that cannot tell
			err = unix.Renameat(dir, temp, dir, name)
		}
		return err
	}
	if !sameInode(dir, name, old) {
		return errChanged
	}
	return unix.Renameat(dir, temp, dir, name)
}

func sameInode(dir int, name string, st *unix.Stat_t) bool {
	var now unix.Stat_t
	err := unix.Fstatat(dir, name, &now, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && now.Dev == st.Dev && now.Ino == st.Ino && now.Mode&unix.S_IFMT == st.Mode&unix.S_IFMT
}

const (
	// reader is how long a FIFO may wait for a reader, pause the time between two looks.
	reader = 10 * time.Second
	pause  = 20 * time.Millisecond
)

// device opens a device or FIFO for writing. Opening a FIFO without a reader waits for one, for some time.
func device(ctx context.Context, dir int, name, path string, st *unix.Stat_t) (int, error) {
	began := time.Now()
	for {
		fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENXIO) && time.Since(began) < reader && ctx.Err() == nil:
			time.Sleep(pause)
			continue
		case errors.Is(err, unix.ENXIO):
			return -1, refused(path, "no program reads it: start its reader first")
		case err != nil:
			return -1, fmt.Errorf("write %s: %w", path, err)
		}
		var now unix.Stat_t
		if err := unix.Fstat(fd, &now); err != nil || now.Dev != st.Dev || now.Ino != st.Ino {
			_ = unix.Close(fd)
			return -1, refused(path, "%v", errChanged)
		}
		return fd, nil
	}
}

// writeStream writes to what is open as fd, and closes it. The end of ctx ends the waiting for a reader that has stopped.
func writeStream(ctx context.Context, fd int, path string, write func(io.Writer) error) error {
	f := os.NewFile(uintptr(fd), path)
	defer context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(time.Now()) })()
	w := bufio.NewWriter(f)
	err := write(w)
	if err == nil {
		err = w.Flush()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = context.Cause(ctx)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
