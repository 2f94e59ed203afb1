// Package proc is what Winnow reads of processes in /proc: one parser of stat, one way to hold a process so that it
// cannot become another one unnoticed, and reading below an open folder. It changes nothing: what sends a signal is in
// the package act below it.
//
// What is read often, of every process, is written by hand, and so is what has to be read through a held folder. The
// rest is read by prometheus/procfs. Two of its readers do not serve: that of net/unix cuts a name at a blank, and
// that of mountinfo keeps only the last of an overlay's lowerdir+ options.
package proc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// List gives the entries of a folder whose names are numbers: processes, threads, descriptors.
func List(dir int, name string, buf []byte) ([]int, error) {
	fd, found, err := OpenList(dir, name, buf)
	if err == nil {
		_ = unix.Close(fd)
	}
	return found, err
}

// OpenList is List, and gives the folder too, for reading what is listed. The caller closes it where there is no
// error.
func OpenList(dir int, name string, buf []byte) (fd int, found []int, err error) {
	if fd, err = unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return -1, nil, err
	}
	if err = eachEntry(fd, buf, func(n int, _ uint64) { found = append(found, n) }); err != nil {
		_ = unix.Close(fd)
		return -1, nil, err
	}
	return fd, found, nil
}

// eachEntry gives the entries of an open folder whose names are numbers, with their inodes.
func eachEntry(fd int, buf []byte, found func(n int, inode uint64)) error {
	for {
		n, err := unix.Getdents(fd, buf)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil || n == 0:
			return err
		}
		eachNumber(buf[:n], found)
	}
}

// Folders lists the processes that the procfs at procRoot shows, each with the inode of its folder. The kernel gives
// the folder an inode for as long as it has it in memory, from one counter: the same inode is the same process, and
// one that was forgotten meanwhile has another one.
func Folders(procRoot string) (map[int]uint64, error) {
	fd, err := openFolder(procRoot)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	found := map[int]uint64{}
	if err := eachEntry(fd, make([]byte, 64<<10), func(pid int, inode uint64) { found[pid] = inode }); err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	return found, nil
}

// eachNumber takes the numeric names out of getdents64 records: inode 8 bytes, offset 8, record length 2, type 1,
// name.
func eachNumber(records []byte, found func(n int, inode uint64)) {
	const nameAt = 19
	for len(records) > nameAt {
		size := int(binary.NativeEndian.Uint16(records[16:]))
		if size <= nameAt || size > len(records) {
			return
		}
		name, _, _ := bytes.Cut(records[nameAt:size], []byte{0})
		if n, ok := Number(name); ok {
			found(n, binary.NativeEndian.Uint64(records))
		}
		records = records[size:]
	}
}

// Number reads a decimal number without sign that fits 31 bits, as process ids and descriptors do.
func Number(text []byte) (int, bool) {
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

// ReadOnce reads a file that the kernel gives in one piece.
func ReadOnce(dir int, name string, buf []byte) ([]byte, error) {
	text, err := ReadSome(dir, name, buf)
	if err == nil && len(text) == len(buf) {
		return nil, ErrLong
	}
	return text, err
}

// Read fills buf, growing it up to limit, with a whole file. A longer one is ErrLong.
func Read(dir int, name string, buf []byte, limit int) ([]byte, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buf = buf[:cap(buf)]
	for used := 0; ; {
		if used == len(buf) {
			if used >= limit {
				return nil, ErrLong
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

// ErrLong says that a file or a link is longer than one of its kind can be.
var ErrLong = errors.New("longer than it can be")

// ErrEnded says that a process has ended.
var ErrEnded = errors.New("process ended")

// Readlink reads a link into buf. One that does not fit is cut, so it is an error.
func Readlink(dir int, name string, buf []byte) ([]byte, error) {
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil {
		return nil, err
	}
	if n == len(buf) {
		return nil, ErrLong
	}
	return buf[:n], nil
}

// Ended reports whether err, met on the way to a process's files, says that the process has ended, or that it has no
// such file any more: ENOENT by path, ESRCH through a descriptor.
func Ended(err error) bool {
	return errors.Is(err, ErrEnded) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH)
}

// Denied reports whether err says that this user may not read a file.
func Denied(err error) bool {
	return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)
}

// ReadSome reads the beginning of a file, as much as the kernel gives at once.
func ReadSome(dir int, name string, buf []byte) ([]byte, error) {
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

// Lock is a line of /proc/locks, see proc_locks(5): a process and the file that it locked. PID is below 1 for a lock of an open file (OFD). File is
// major:minor:inode, the first two in hexadecimal.
type Lock struct {
	PID  int
	File string
}

// Inode is the inode of the file; false where the line does not say it.
func (l Lock) Inode() (uint64, bool) {
	n, err := strconv.ParseUint(l.File[strings.LastIndexByte(l.File, ':')+1:], 10, 64)
	return n, err == nil
}

// Locks reads the text of /proc/locks. A line for what waits for a lock has "->" in its second field, and counts too.
func Locks(text []byte) []Lock {
	var all []Lock
	for line := range bytes.Lines(text) {
		f := strings.Fields(string(line))
		if len(f) > 1 && f[1] == "->" {
			f = append(f[:1], f[2:]...)
		}
		if len(f) < 6 {
			continue
		}
		if pid, err := strconv.Atoi(f[4]); err == nil {
			all = append(all, Lock{pid, f[5]})
		}
	}
	return all
}

// Deleted is what the kernel writes behind the path of something that has no name any more (d_path in fs/d_path.c). A living folder
// may have a name that ends so.
const Deleted = " (deleted)"

// MaxTable is more than the table of any machine that this is meant for.
const MaxTable = 256 << 20

// MaxEnviron is more than an environment can be: the kernel allows arguments and environment 6 MiB together
// (bprm_stack_limits in fs/exec.c).
const MaxEnviron = 8 << 20

// Variables takes the named variables out of the text of an environ file and drops everything else. The first of two with one
// name counts, as for getenv, and nil means missing. It reports false where the text proves nothing: the kernel gives no bytes and no error for an
// environment that it could not reach, the same as for an empty one, and cuts one that it could reach in part only.
func Variables(text []byte, names []string) (map[string]string, bool) {
	if len(text) == 0 || text[len(text)-1] != 0 {
		return nil, false
	}
	var kept map[string]string
	for len(text) > 0 {
		end := bytes.IndexByte(text, 0)
		entry := text[:end]
		text = text[end+1:]
		eq := bytes.IndexByte(entry, '=')
		if eq <= 0 {
			continue
		}
		i := slices.IndexFunc(names, func(name string) bool { return name == string(entry[:eq]) })
		if i < 0 {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		if _, twice := kept[names[i]]; !twice {
			kept[names[i]] = string(entry[eq+1:])
		}
	}
	return kept, true
}

// Arguments splits the text of a cmdline file. A program may have written over it.
func Arguments(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// SocketInode takes the inode out of a descriptor's link such as socket:[4711].
func SocketInode(text []byte) (uint64, bool) {
	text, ok := bytes.CutPrefix(text, []byte("socket:["))
	if !ok {
		return 0, false
	}
	text, ok = bytes.CutSuffix(text, []byte("]"))
	if !ok {
		return 0, false
	}
	inode, err := strconv.ParseUint(string(text), 10, 64)
	return inode, err == nil
}
