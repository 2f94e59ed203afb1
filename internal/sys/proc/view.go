package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// View says what another process means by a path and by a number of a process, compared with this one.
type View struct {
	// Mounts is true where it has this process's mounts and root folder, so that a path leads both to the same file.
	Mounts bool
	// PIDs is true where it is in this process's pid namespace, so that a number is the same process for both.
	PIDs bool
}

// ViewOf compares a process with this one. procRoot must show the pid namespace of this process. Any user may read what is compared: the first mount that each sees, whose number
// no other mount namespace has, and the numbers of the process (NSpid in proc_pid_status(5)).
func ViewOf(procRoot string, pid int) (View, error) {
	dir, err := openFolder(procRoot)
	if err != nil {
		return View{}, fmt.Errorf("read the mounts of pid %d: %w", pid, err)
	}
	defer func() { _ = unix.Close(dir) }()
	mounts, numbers := [2]string{}, [2]int{}
	for i, at := range []string{"self", strconv.Itoa(pid)} {
		text, err := ReadSome(dir, at+"/mountinfo", make([]byte, 16<<10))
		var inner []int
		if err == nil {
			inner, err = innerNumbers(dir, at, make([]byte, 8<<10))
		}
		if err != nil {
			return View{}, fmt.Errorf("read the mounts of pid %d: %w", pid, err)
		}
		line, _, _ := bytes.Cut(text, []byte("\n"))
		mounts[i], numbers[i] = string(line), len(inner)
	}
	return View{Mounts: mounts[0] != "" && mounts[0] == mounts[1], PIDs: numbers[0] == numbers[1]}, nil
}

// SameThere reports whether a path, absolute and clean, leads a process with other mounts or another root folder to the same file or folder as this process. Where nothing is there
// for either, the deepest folder on the path that is there is compared. An error says that this could not be found out.
func SameThere(procRoot string, pid int, path string) (bool, error) {
	root, err := unix.Open(filepath.Join(procRoot, strconv.Itoa(pid), "root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, fmt.Errorf("read the root folder of pid %d: %w", pid, err)
	}
	defer func() { _ = unix.Close(root) }()
	for ; ; path = filepath.Dir(path) {
		var here, there unix.Stat_t
		errHere, errThere := unix.Stat(path, &here), statIn(root, path, &there)
		noneHere, noneThere := errors.Is(errHere, fs.ErrNotExist), errors.Is(errThere, fs.ErrNotExist)
		switch {
		case errHere == nil && errThere == nil:
			return here.Dev == there.Dev && here.Ino == there.Ino, nil
		case noneHere && noneThere && path != "/":
		case noneHere || noneThere:
			return false, nil
		default:
			return false, fmt.Errorf("read %s, and what pid %d has there: %w", path, pid, errors.Join(errHere, errThere))
		}
	}
}

// statIn is stat of a path below another root folder, which no link of it leads out of.
func statIn(root int, path string, st *unix.Stat_t) error {
	fd, err := OpenIn(root, path)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.Fstat(fd, st)
}

// OpenIn opens a path as a place (O_PATH), below another root folder, which no link of it leads out of. The kernel walks it again where
// something anywhere on the machine was renamed meanwhile. The errors are the kernel's.
func OpenIn(root int, path string) (fd int, err error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	for range 1000 { // a bound for somebody who renames all the time
		if fd, err = unix.Openat2(root, path, &how); !errors.Is(err, unix.EAGAIN) {
			break
		}
	}
	return fd, err
}
