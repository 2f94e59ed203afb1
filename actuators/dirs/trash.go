package dirs

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"winnow/actuators"
	"winnow/internal/foreign"
)

// ignoreName and ignoreText are what makes git overlook a trash in a root. The text says whose it is, so that nobody else's is
// removed with the trash.
const (
	ignoreName = ".gitignore"
	ignoreText = "# Winnow made this file; it goes with the last thing in this trash.\n*\n"
)

// openTrash opens a folder in which acts have their own ones. A link, another user's folder, and one that others can write are no
// trash: what is put there could be taken, and what is found there could be anything.
func openTrash(path string) (folder, error) {
	real, err := foreign.Folder(path)
	if errors.Is(err, os.ErrNotExist) {
		return folder{fd: -1}, err
	}
	if err == nil && real != path {
		err = foreign.ErrLink
	}
	if err != nil {
		return folder{fd: -1}, actuators.Refused("%s is no trash of Winnow's: %w", path, err)
	}
	f, err := openFolder(path)
	if err != nil {
		return f, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil || int(st.Uid) != os.Geteuid() || st.Mode&unix.S_IWOTH != 0 {
		return folder{fd: -1}, errors.Join(actuators.Refused("%s is no trash of Winnow's: it is not this user's own", path), err, f.close())
	}
	return f, nil
}

// makeFolder makes the trash at path where there is none yet, and opens it.
func makeFolder(path string) (folder, error) {
	if f, err := openTrash(path); !errors.Is(err, os.ErrNotExist) {
		return f, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return folder{fd: -1}, err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return folder{fd: -1}, err
	}
	return openTrash(path)
}

// makeTrash makes the act's folder and writes the manifest into it.
func makeTrash(p plan, m manifest) (folder, error) {
	parent := filepath.Dir(p.Trash)
	above, err := makeFolder(parent)
	if err != nil {
		return above, err
	}
	defer above.close()
	if filepath.Base(parent) == rootTrash {
		if err := above.writeNew(ignoreName, []byte(ignoreText)); err != nil && !errors.Is(err, os.ErrExist) {
			return folder{fd: -1}, err
		}
	}
	if err := unix.Mkdirat(above.fd, filepath.Base(p.Trash), 0o700); err != nil {
		return folder{fd: -1}, &os.PathError{Op: "make", Path: p.Trash, Err: err}
	}
	f, err := above.in(filepath.Base(p.Trash), unix.O_RDONLY)
	if err != nil {
		return f, err
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = f.writeNew(manifestName, append(text, '\n'))
	}
	if err := errors.Join(err, f.sync(), above.sync()); err != nil {
		return folder{fd: -1}, errors.Join(err, f.close())
	}
	return f, nil
}

// makeOwn makes an act's folder in a repository's trash, and that trash.
func makeOwn(path string) error {
	above, err := makeFolder(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer above.close()
	if err := unix.Mkdirat(above.fd, filepath.Base(path), 0o700); err != nil {
		return &os.PathError{Op: "make", Path: path, Err: err}
	}
	return nil
}

// writeNew writes a file that is not in f yet, durably.
func (f folder) writeNew(name string, text []byte) error {
	path := filepath.Join(f.path, name)
	fd, err := unix.Openat(f.fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return &os.PathError{Op: "make", Path: path, Err: err}
	}
	file := os.NewFile(uintptr(fd), path)
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}

// removeTrash removes the act's folder, which must hold nothing but the manifest by now, and the trash in a root or repository
// when it was the last in it. A folder that still holds something stays.
func removeTrash(p plan) error {
	parent := filepath.Dir(p.Trash)
	above, err := openTrash(parent)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, actuators.ErrRefused) && !exists(p.Trash):
	case err != nil:
		return err
	default:
		err = removePlace(above, filepath.Base(p.Trash))
		if err == nil && filepath.Base(parent) == rootTrash {
			err = removeRootTrash(above)
		}
		if err := errors.Join(err, above.close()); err != nil {
			return err
		}
	}
	if p.Admin == nil || filepath.Dir(p.Admin.To) == p.Trash {
		return nil
	}
	return removeOwn(filepath.Dir(p.Admin.To))
}

// removeOwn removes an act's folder in a repository's trash, which must be empty by now, and that trash when it was the last in it.
func removeOwn(path string) error {
	above, err := openTrash(filepath.Dir(path))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, actuators.ErrRefused) && !exists(path) {
		return nil
	}
	if err != nil {
		return err
	}
	defer above.close()
	if err := unix.Unlinkat(above.fd, filepath.Base(path), unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "remove", Path: path, Err: err}
	}
	_ = unix.Rmdir(above.path) // fails, and is to fail, while other acts lie in it
	return nil
}

// removePlace removes an act's folder in the trash that is held, with its manifest.
func removePlace(above folder, name string) error {
	own, err := above.in(name, unix.O_RDONLY)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	err = unix.Unlinkat(own.fd, manifestName, 0)
	if errors.Is(err, unix.ENOENT) {
		err = nil
	}
	if err == nil {
		if err = unix.Unlinkat(above.fd, name, unix.AT_REMOVEDIR); err != nil {
			err = &os.PathError{Op: "remove", Path: own.path, Err: err}
		}
	}
	return errors.Join(err, own.close())
}

// removeRootTrash removes a root's trash when nothing is left in it but the file that Winnow made for git.
func removeRootTrash(f folder) error {
	names, err := f.names()
	if err != nil || len(names) > 1 || len(names) == 1 && names[0] != ignoreName {
		return err
	}
	if len(names) == 1 {
		if text, err := f.read(ignoreName); err != nil || string(text) != ignoreText {
			return nil // somebody else's stays, and the folder with it
		}
		if err := unix.Unlinkat(f.fd, ignoreName, 0); err != nil {
			return &os.PathError{Op: "remove", Path: filepath.Join(f.path, ignoreName), Err: err}
		}
	}
	return removeEmpty(f.path)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist)
}

func removeEmpty(path string) error {
	if err := unix.Rmdir(path); err != nil && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "remove", Path: path, Err: err}
	}
	return nil
}
