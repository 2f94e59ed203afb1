package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// want is what a database and the files beside it must be.
var want = safeopen.Want{Max: 8 << 30, Ruling: true}

// beside are the ends of the names of the files that SQLite takes for parts of a database.
var beside = []string{"-wal", "-shm", "-journal"}

// find gives the real path of the database at path: its journals lie beside that. It only asks the folder. To open the file
// besides SQLite would be a fault: when a process closes any descriptor of a file, the kernel drops all locks that the process
// has on it, and another reader in this process would go on without one.
//
// SQLite opens the file by its name once more, and the files beside it. So only this user and root may be able to change what
// the name leads to, nor to put anything into that folder.
func find(path string) (string, error) {
	real, err := safeopen.Path(path)
	if err == nil {
		err = safeopen.Closed(filepath.Dir(real))
	}
	if err == nil {
		err = safeopen.CheckRegular(real, want)
	}
	if err != nil {
		return "", refused(path, err)
	}
	for _, end := range beside {
		if err := safeopen.CheckRegular(real+end, want); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", refused(path, err)
		}
	}
	info, err := os.Lstat(real)
	switch {
	case err != nil:
		return "", refused(path, err)
	case info.Size() == 0:
		return "", fmt.Errorf("open %s: it is empty, so it is no database; start the program that owns it, or name the right file in config.yaml", path)
	}
	if err := unix.Access(real, unix.R_OK); errors.Is(err, fs.ErrPermission) {
		return "", fmt.Errorf("open %s: %w; let this user read the file", path, fs.ErrPermission)
	}
	return real, nil
}

// refused says why a database is not opened, and what to do next.
func refused(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missing(path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("open %s: %w; let this user enter the folder and read the file", path, fs.ErrPermission)
	case errors.Is(err, unix.ELOOP):
		return fmt.Errorf("open %s: too many links lead there; name the database itself in config.yaml", path)
	case errors.Is(err, safeopen.ErrNotRegular), errors.Is(err, safeopen.ErrLink):
		return fmt.Errorf("open %s: it, or a journal beside it, is not a regular file: %w; nothing was read: name the database itself in config.yaml, and"+
			" take away what is not its program's", path, err)
	case errors.Is(err, safeopen.ErrTooLarge):
		return fmt.Errorf("open %s: %w; nothing was read: let its program drop what has long ended", path, err)
	case errors.Is(err, safeopen.ErrOwner), errors.Is(err, safeopen.ErrWritable):
		return fmt.Errorf("open %s: another user could have written it, and nothing was read: %w; let the database, the files beside it and"+
			" each folder above it belong to this user or root, and let no other user write there or in its own folder", path, err)
	}
	return fmt.Errorf("open %s: %w", path, err)
}

// missing says that there is no file at path: that is absence only when nothing of it was left behind.
func missing(path string) error {
	for name, what := range map[string]string{path: "is a link that leads nowhere", path + "-wal": "is there", path + "-journal": "is there"} {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("open %s: the database is not there, but %s %s; see where the database went", path, name, what)
		}
	}
	return fmt.Errorf("open %s: %w; nothing has been written there yet, or the path in config.yaml is wrong", path, safeopen.ErrAbsent)
}
