package safeopen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// DirFS is a folder as an fs.FS whose files are read by the rules of Read. Links in it are listed, and refused when they are read. A
// folder below it is listed when it belongs to this user or root, and, with Want.Ruling, only when no other user can change what lies
// in it: who may take a file away rules as much as who may write one.
type DirFS struct {
	Dir  string
	Want Want
	// Context bounds every reading; nil is no bound but Want.Within.
	Context context.Context
	// MaxEntries is how many entries a folder may have; 0 is no bound.
	MaxEntries int
}

var _ interface {
	fs.ReadFileFS
	fs.ReadDirFS
} = DirFS{}

func (d DirFS) path(op, name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return filepath.Join(d.Dir, filepath.FromSlash(name)), nil
}

// Open opens a folder to list it, or a file.
func (d DirFS) Open(name string) (fs.File, error) {
	path, err := d.path("open", name)
	if err != nil {
		return nil, err
	}
	if st, err := os.Lstat(path); err == nil && st.IsDir() {
		return d.folder(path)
	}
	return Open(path, d.Want)
}

// folder opens a folder. What it is is asked of the one that is open: a name may lead elsewhere by then.
func (d DirFS) folder(path string) (*os.File, error) {
	f, err := os.OpenFile(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(int(f.Fd()), &st); err == nil {
		err = d.Want.trusts(&st)
	}
	if err != nil {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: path, Err: err}, f.Close())
	}
	return f, nil
}

// ReadDir lists a folder, sorted by name.
func (d DirFS) ReadDir(name string) ([]fs.DirEntry, error) {
	path, err := d.path("list", name)
	if err != nil {
		return nil, err
	}
	return answered(cmp.Or(d.Context, context.Background()), d.Want, "list", path, func() ([]fs.DirEntry, error) { return d.list(path) })
}

func (d DirFS) list(path string) ([]fs.DirEntry, error) {
	f, err := d.folder(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	most := -1
	if d.MaxEntries > 0 {
		most = d.MaxEntries + 1
	}
	entries, err := f.ReadDir(most)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if d.MaxEntries > 0 && len(entries) > d.MaxEntries {
		return nil, &fs.PathError{Op: "list", Path: path, Err: fmt.Errorf("%w: it has more than %d entries", ErrTooLarge, d.MaxEntries)}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// ReadFile reads a file.
func (d DirFS) ReadFile(name string) ([]byte, error) {
	path, err := d.path("read", name)
	if err != nil {
		return nil, err
	}
	f, err := Read(cmp.Or(d.Context, context.Background()), path, d.Want)
	return f.Data, err
}

// Dir is an open folder for reading several files: each is found in the very folder that was opened, without walking its path again.
type Dir struct {
	fd   int
	path string
}

// OpenDir opens the folder at path, no link to one, of this user or of root: with CheckOwner's error where it is another's. The caller closes it.
func OpenDir(path string) (Dir, error) {
	fd, err := openat(unix.AT_FDCWD, path, unix.O_DIRECTORY)
	if err != nil {
		return Dir{fd: -1}, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	d := Dir{fd, path}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		d.Close()
		return Dir{fd: -1}, &fs.PathError{Op: "look at", Path: path, Err: err}
	}
	if err := OwnedBy(path, st.Uid); err != nil {
		d.Close()
		return Dir{fd: -1}, err
	}
	return d, nil
}

// Close lets go of the folder. What could not be opened may be closed too.
func (d Dir) Close() {
	if d.fd >= 0 {
		_ = unix.Close(d.fd)
	}
}

// Names lists what is in the folder, in no order. It can be asked once.
func (d Dir) Names() ([]string, error) {
	var names []string
	var buffer [4096]byte
	for {
		n, err := unix.ReadDirent(d.fd, buffer[:])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, &fs.PathError{Op: "list", Path: d.path, Err: err}
		case n == 0:
			return names, nil
		}
		_, _, names = unix.ParseDirent(buffer[:n], -1, names)
	}
}

// Modified is when what is at rel in the folder was last written, the link itself where it is one; "" is the folder.
func (d Dir) Modified(rel string) (time.Time, error) {
	flags := unix.AT_SYMLINK_NOFOLLOW
	if rel == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	for {
		var st unix.Stat_t
		err := unix.Fstatat(d.fd, rel, &st, flags)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return time.Time{}, &fs.PathError{Op: "look at", Path: filepath.Join(d.path, rel), Err: err}
		}
		return time.Unix(st.Mtim.Unix()), nil
	}
}

// Read is ReadNow of what is at rel in the folder.
func (d Dir) Read(rel string, w Want) (File, error) {
	return read(d.fd, rel, filepath.Join(d.path, rel), w)
}
