package processes

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// list gives the entries of a folder whose names are numbers: processes, threads, descriptors.
func list(dir int, name string, buf []byte) ([]int, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var found []int
	for {
		n, err := unix.Getdents(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return found, nil
		}
		found = appendNumbers(found, buf[:n])
	}
}

// appendNumbers takes the numeric names out of getdents64 records: inode 8 bytes, offset 8, record length 2, type 1, name.
func appendNumbers(found []int, records []byte) []int {
	const nameAt = 19
	for len(records) > nameAt {
		size := int(binary.NativeEndian.Uint16(records[16:]))
		if size <= nameAt || size > len(records) {
			return found
		}
		name := records[nameAt:size]
		for i, c := range name {
			if c == 0 {
				name = name[:i]
				break
			}
		}
		if n, ok := number(name); ok {
			found = append(found, n)
		}
		records = records[size:]
	}
	return found
}

// number reads a decimal number without sign that fits 31 bits, as process ids and descriptors do.
func number(text []byte) (int, bool) {
	if len(text) == 0 || len(text) > 10 {
		return 0, false
	}
	n := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, n <= 1<<31-1
}

// readOnce reads a file that the kernel gives in one piece.
func readOnce(dir int, name string, buf []byte) ([]byte, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	n, err := unix.Read(fd, buf)
	_ = unix.Close(fd)
	switch {
	case err != nil:
		return nil, err
	case n == len(buf):
		return nil, errLong
	}
	return buf[:n], nil
}

// read fills buf, growing it up to limit, with a whole file. A longer one is errLong.
func read(dir int, name string, buf []byte, limit int) ([]byte, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buf = buf[:cap(buf)]
	for used := 0; ; {
		if used == len(buf) {
			if used >= limit {
				return nil, errLong
			}
			buf = append(buf, make([]byte, len(buf)+1)...)
		}
		n, err := unix.Read(fd, buf[used:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return buf[:used], nil
		}
		used += n
	}
}

var errLong = errors.New("longer than it can be")

// readlink reads a link into buf. One that does not fit is cut, so it is an error.
func readlink(dir int, name string, buf []byte) ([]byte, error) {
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil {
		return nil, err
	}
	if n == len(buf) {
		return nil, errLong
	}
	return buf[:n], nil
}

// vanished reports whether err says that the process ended: ENOENT by path, ESRCH through a descriptor.
func vanished(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH)
}

func denied(err error) bool {
	return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)
}

// readSome reads the beginning of a file, as much as the kernel gives at once.
func readSome(dir int, name string, buf []byte) ([]byte, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	n, err := unix.Read(fd, buf)
	_ = unix.Close(fd)
	if err != nil {
		return nil, err
	}
	return buf[:n], nil
}
