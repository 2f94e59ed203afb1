package decisionlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// File is a log in a file, an event a line, for this user alone. Over MaxSize bytes it becomes <path>.1, the one that was called so <path>.2, and so on:
// MaxFiles are kept in all.
type File struct {
	Path     string
	MaxSize  int64
	MaxFiles int
}

// Write adds events, durably once it returns nil.
func (f File) Write(events [][]byte) error {
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return fmt.Errorf("write decision log %s: %w", f.Path, err)
	}
	for len(events) > 0 {
		n, err := f.fill(events)
		if err != nil {
			return fmt.Errorf("write decision log %s: %w; what was not written waits for the next sweep", f.Path, err)
		}
		events = events[n:]
	}
	return nil
}

// fill writes as many events as the file has room for, at least one into an empty one, and says how many.
func (f File) fill(events [][]byte) (n int, err error) {
	file, size, err := f.open()
	if err == nil && size > 0 && size+int64(len(events[0])) >= f.MaxSize {
		if err = errors.Join(file.Close(), f.rotate()); err == nil {
			file, size, err = f.open()
		}
	}
	if err != nil {
		return 0, err
	}
	for n < len(events) && (n == 0 || size+int64(len(events[n])) < f.MaxSize) {
		line := append(events[n][:len(events[n]):len(events[n])], '\n')
		if _, err := file.Write(line); err != nil {
			return 0, errors.Join(err, file.Close())
		}
		size += int64(len(line))
		n++
	}
	return n, errors.Join(file.Sync(), file.Close())
}

// open opens the file at its end. A line that was cut short there, by a crash, is ended: its event is written again.
func (f File) open() (*os.File, int64, error) {
	file, err := os.OpenFile(f.Path, os.O_RDWR|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, 0, err
	}
	st, err := file.Stat()
	if err == nil {
		err = checkOwner(st)
	}
	if err == nil && st.Size() > 0 {
		last := make([]byte, 1)
		if _, err = file.ReadAt(last, st.Size()-1); err == nil && last[0] != '\n' {
			_, err = io.WriteString(file, "\n")
		}
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, st.Size(), nil
}

// checkOwner refuses what is no file of this user's own: another user would read what is logged.
func checkOwner(st fs.FileInfo) error {
	sys, ok := st.Sys().(*syscall.Stat_t)
	switch {
	case !st.Mode().IsRegular():
		return errors.New("it is no regular file: name another one")
	case !ok || int(sys.Uid) != os.Geteuid():
		return errors.New("it belongs to another user: name another one")
	}
	return nil
}

// rotate moves every file up by one; the last one goes.
func (f File) rotate() error {
	name := func(n int) string {
		if n == 0 {
			return f.Path
		}
		return fmt.Sprintf("%s.%d", f.Path, n)
	}
	if f.MaxFiles <= 1 {
		return os.Remove(f.Path)
	}
	for n := f.MaxFiles - 1; n > 0; n-- {
		if err := os.Rename(name(n-1), name(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
