package git

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// file is a file's content and when it was last written.
type file struct {
	data []byte
	mod  time.Time
}

var errNotRegular = errors.New("not a regular file")

// readFile reads a regular file of at most limit bytes. It opens without blocking, since a fifo put in a file's place would
// otherwise hold the reader for ever.
func readFile(path string, limit int64) (file, error) {
	fd, err := openFile(path)
	if err != nil {
		return file{}, err
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return file{}, &fs.PathError{Op: "fstat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return file{}, &fs.PathError{Op: "read", Path: path, Err: errNotRegular}
	}
	if st.Size > limit {
		return file{}, fmt.Errorf("read %q: %d bytes are more than the %d that such a file may have", path, st.Size, limit)
	}
	data, err := drain(fd, make([]byte, 0, st.Size+64), limit)
	if err != nil {
		return file{}, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return file{data: data, mod: time.Unix(st.Mtim.Unix())}, nil
}

func openFile(path string) (int, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return -1, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		return fd, nil
	}
}

func drain(fd int, data []byte, limit int64) ([]byte, error) {
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
		if int64(len(data)) > limit {
			return nil, errors.New("grew while it was read")
		}
	}
}

func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
}

// later gives the later of two times, either of which may be the zero time.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
