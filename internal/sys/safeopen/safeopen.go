// Package safeopen opens what others may have written: files that Winnow reads and did not make itself, and the
// folders that lead to them.
//
// A path is only a name. What it leads to may be a link to another user's file, a FIFO that never answers, a device
// that never ends, or a file of another user. Everything here refuses those, and says which path it was and what to
// do.
package safeopen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The reasons for which a file or folder is refused. A missing one is fs.ErrNotExist and one that may not be read
// fs.ErrPermission.
var (
	ErrLink       = errors.New("it is a symbolic link: name the file itself")
	ErrNotRegular = errors.New("it is not a regular file")
	ErrNotFolder  = errors.New("it is not a folder")
	ErrOwner      = errors.New("it belongs to another user")
	ErrWritable   = errors.New("other users can write it")
	ErrReadable   = errors.New("other users can read it")
	ErrTooLarge   = errors.New("it is too large")
	ErrSlow       = errors.New("it did not answer in time")

	// ErrAbsent says that there is positively nothing, and that nothing was left behind.
	ErrAbsent = errors.New("absent")
)

// Want says what a file must be to be read.
type Want struct {
	// Max is the greatest size in bytes; a greater file is refused. 0 allows nothing but an empty file.
	Max int64
	// Within is how long the reading may take; 0 is 10 seconds. A file system that never answers holds the caller up
	// no longer.
	Within time.Duration
	// Ruling is for files that say what Winnow does (configuration, policies): one that another user can write is
	// refused.
	Ruling bool
	// Secret is for files with a token: one that another user can read or write is refused. Root's own may be readable
	// for its group.
	Secret bool
}

// defaultWithin is long for a disk and short for a person.
const defaultWithin = 10 * time.Second

// File is what was read.
type File struct {
	Data []byte
	// Mod is when it was last written.
	Mod time.Time
	// Dev, Ino and UID are its device, its inode and its owner.
	Dev, Ino uint64
	UID      uint32
}

// Read reads the regular file at path. The last part of path may not be a link; the owner must be this user or root.
func Read(ctx context.Context, path string, w Want) (File, error) {
	return ReadAt(ctx, unix.AT_FDCWD, path, path, w)
}

// ReadAt is Read of name in the folder that is open as dirfd; path is what messages call it. dirfd must stay open
// until ReadAt returns, and for as long as a file system does not answer.
func ReadAt(ctx context.Context, dirfd int, name, path string, w Want) (File, error) {
	if err := ctx.Err(); err != nil {
		return File{}, &fs.PathError{Op: "read", Path: path, Err: context.Cause(ctx)}
	}
	return answered(ctx, w, "read", path, func() (File, error) { return read(dirfd, name, path, w) })
}

// answered does ask in a goroutine of its own, and waits for it no longer than w says and ctx lives. What came too
// late is dropped.
func answered[T any](ctx context.Context, w Want, op, path string, ask func() (T, error)) (T, error) {
	type answer struct {
		found T
		err   error
	}
	done := make(chan answer, 1) // with room, so that an answer that comes too late ends its goroutine
	go func() {
		found, err := ask()
		done <- answer{found, err}
	}()
	within := cmp.Or(w.Within, defaultWithin)
	timer := time.NewTimer(within)
	defer timer.Stop()
	var late answer
	select {
	case a := <-done:
		return a.found, a.err
	case <-ctx.Done():
		late.err = context.Cause(ctx)
	case <-timer.C:
		late.err = fmt.Errorf("%w (%s)", ErrSlow, within)
	}
	return late.found, &fs.PathError{Op: op, Path: path, Err: late.err}
}

// ReadNow is Read in the caller's own time: for many small files, where handing each to another goroutine costs more
// than reading it. Nothing but the file system holds it up, since it reads regular files only. w.Within does not
// count.
func ReadNow(path string, w Want) (File, error) { return read(unix.AT_FDCWD, path, path, w) }

func read(dirfd int, name, path string, w Want) (File, error) {
	var st unix.Stat_t
	fd, err := open(dirfd, name, path, w, &st)
	if err != nil {
		return File{}, err
	}
	defer func() { _ = unix.Close(fd) }()
	data, err := drain(fd, st.Size, w.Max)
	if err != nil {
		return File{}, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return File{Data: data, Mod: time.Unix(st.Mtim.Unix()), Dev: uint64(st.Dev), Ino: st.Ino, UID: st.Uid}, nil
}

// Open opens the regular file at path for reading, by the same rules as Read but for the time: opening a regular file
// does not wait. The caller closes it, and bounds what it reads.
func Open(path string, w Want) (*os.File, error) {
	var st unix.Stat_t
	fd, err := open(unix.AT_FDCWD, path, path, w, &st)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// open gives in st what is known of the file that it opened.
func open(dirfd int, name, path string, w Want, st *unix.Stat_t) (int, error) {
	fd, err := openat(dirfd, name, 0)
	switch {
	case errors.Is(err, unix.ELOOP):
		return -1, &fs.PathError{Op: "open", Path: path, Err: ErrLink}
	case errors.Is(err, unix.ENXIO): // a socket, or a FIFO that is opened for writing
		return -1, &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	case err != nil:
		return -1, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	err = unix.Fstat(fd, st)
	if err == nil {
		err = w.allows(st)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

func openat(dirfd int, name string, flags int) (int, error) {
	for {
		// O_NONBLOCK: opening a FIFO waits for a writer, and opening some devices does something.
		fd, err := unix.Openat(dirfd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY|flags, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

func (w Want) allows(st *unix.Stat_t) error {
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFLNK: // only where the link itself was looked at
		return ErrLink
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return ErrNotRegular
	}
	if err := w.trusts(st); err != nil || st.Size <= w.Max {
		return err
	}
	return fmt.Errorf("%w: %d bytes, and %d are the most", ErrTooLarge, st.Size, w.Max)
}

// trusts fails for what belongs to another user, and with Ruling for what others can write.
func (w Want) trusts(st *unix.Stat_t) error {
	if err := owned(st); err != nil {
		return fmt.Errorf("%w: make it yours, or name another one", err)
	}
	if err := writable(st); (w.Ruling || w.Secret) && err != nil {
		return fmt.Errorf("%w: remove that right with chmod go-w", err)
	}
	others := uint32(0o044)
	if st.Uid == 0 && os.Geteuid() != 0 {
		others = 0o004
	}
	if w.Secret && st.Mode&others != 0 {
		return fmt.Errorf("%w (mode %04o): remove that right with chmod 600", ErrReadable, st.Mode&0o7777)
	}
	return nil
}

// owned fails for what belongs neither to this user nor to root.
func owned(st *unix.Stat_t) error {
	if ours(st.Uid) {
		return nil
	}
	return fmt.Errorf("%w (uid %d; this is uid %d)", ErrOwner, st.Uid, os.Geteuid())
}

// writable fails for what a user besides the owner can write. A group of this user's own does not count: many systems give each user one
// and make files writable for it.
func writable(st *unix.Stat_t) error {
	if st.Mode&unix.S_IWOTH != 0 || st.Mode&unix.S_IWGRP != 0 && int(st.Gid) != os.Getegid() && st.Gid != 0 {
		return fmt.Errorf("%w (mode %04o)", ErrWritable, st.Mode&0o7777)
	}
	return nil
}

// ours says whether a file of uid is trusted: it is this user's or root's, who can do everything anyway.
func ours(uid uint32) bool { return uid == 0 || int(uid) == os.Geteuid() }

// drain reads a file that had size bytes when it was opened. Where it gives just these although one more was asked
// for, that is its end, and it need not be asked for that again.
func drain(fd int, size, most int64) ([]byte, error) {
	data := make([]byte, 0, min(size, most)+1)
	for {
		if len(data) == cap(data) {
			data = append(data, make([]byte, 4096)...)[:len(data)]
		}
		n, err := unix.Read(fd, data[len(data):cap(data)])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, err
		case n == 0:
			return data, nil
		}
		data = data[:len(data)+n]
		switch got := int64(len(data)); {
		case got > most:
			return nil, fmt.Errorf("%w: it grew beyond %d bytes while it was read", ErrTooLarge, most)
		case got == size:
			return data, nil
		}
	}
}

// CheckRegular says whether the file at path is one that Read would read, as Check does, and only looks at it.
// SQLite's files need that: when a process closes any descriptor of a file, the kernel drops the locks that the
// process has on it.
func CheckRegular(path string, w Want) error {
	st, err := lstat(path)
	if err != nil {
		return err
	}
	if err := w.allows(&st); err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return nil
}
