package dirs

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/internal/sys/folder"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// ignoreName and ignoreText are what makes git overlook a trash in a root. The text says that Winnow made it, so that no other file is
// removed with the trash.
const (
	ignoreName = ".gitignore"
	ignoreText = "# Winnow made this file; it goes with the last thing in this trash.\n*\n"
)

// openTrash opens a folder in which acts have their own ones. A link, another user's folder, and one that others can write are no
// trash: what is put there could be taken, and what is found there could be anything.
func openTrash(path string) (folder.Folder, error) {
	real, err := safeopen.Folder(path)
	if errors.Is(err, os.ErrNotExist) {
		return folder.None, err
	}
	if err == nil && real != path {
		err = safeopen.ErrLink
	}
	if err != nil {
		return folder.None, actuators.Refused("%s is not a trash folder of Winnow: %w", path, err)
	}
	f, err := folder.Open(path)
	if err != nil {
		return f, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(f.FD, &st); err != nil || int(st.Uid) != os.Geteuid() || st.Mode&unix.S_IWOTH != 0 {
		return folder.None, errors.Join(actuators.Refused("%s is not a trash folder of Winnow: it is not this user's own", path), err, f.Close())
	}
	return f, nil
}

// makeFolder opens the trash at path, and makes it first if it is missing.
func makeFolder(path string) (folder.Folder, error) {
	if f, err := openTrash(path); !errors.Is(err, os.ErrNotExist) {
		return f, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return folder.None, err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return folder.None, err
	}
	return openTrash(path)
}

// makeTrash makes the act's folder and writes the manifest into it.
func makeTrash(p plan, m manifest) (folder.Folder, error) {
	parent := filepath.Dir(p.Trash)
	above, err := makeFolder(parent)
	if err != nil {
		return above, err
	}
	defer above.Close()
	if filepath.Base(parent) == rootTrash {
		if err := above.WriteNew(ignoreName, []byte(ignoreText)); err != nil && !errors.Is(err, os.ErrExist) {
			return folder.None, err
		}
	}
	if err := unix.Mkdirat(above.FD, filepath.Base(p.Trash), 0o700); err != nil {
		return folder.None, &os.PathError{Op: "make", Path: p.Trash, Err: err}
	}
	f, err := above.OpenBelow(filepath.Base(p.Trash), unix.O_RDONLY)
	if err != nil {
		return f, err
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = f.WriteNew(manifestName, append(text, '\n'))
	}
	if err := errors.Join(err, f.Sync(), above.Sync()); err != nil {
		return folder.None, errors.Join(err, f.Close())
	}
	return f, nil
}

// makeOwn makes an act's folder in a repository's trash, and that trash.
func makeOwn(path string) error {
	above, err := makeFolder(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer above.Close()
	if err := unix.Mkdirat(above.FD, filepath.Base(path), 0o700); err != nil {
		return &os.PathError{Op: "make", Path: path, Err: err}
	}
	return nil
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
		if err := errors.Join(err, above.Close()); err != nil {
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
	defer above.Close()
	if err := unix.Unlinkat(above.FD, filepath.Base(path), unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "remove", Path: path, Err: err}
	}
	_ = unix.Rmdir(above.Path) // fails, and is to fail, while other acts lie in it
	return nil
}

// removePlace removes an act's folder in the trash that is held, with its manifest.
func removePlace(above folder.Folder, name string) error {
	own, err := above.OpenBelow(name, unix.O_RDONLY)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	err = unix.Unlinkat(own.FD, manifestName, 0)
	if errors.Is(err, unix.ENOENT) {
		err = nil
	}
	if err == nil {
		if err = unix.Unlinkat(above.FD, name, unix.AT_REMOVEDIR); err != nil {
			err = &os.PathError{Op: "remove", Path: own.Path, Err: err}
		}
	}
	return errors.Join(err, own.Close())
}

// removeRootTrash removes a root's trash when nothing is left in it but the file that Winnow made for git.
func removeRootTrash(f folder.Folder) error {
	names, err := f.Names()
	if err != nil || len(names) > 1 || len(names) == 1 && names[0] != ignoreName {
		return err
	}
	if len(names) == 1 {
		if text, err := f.Read(ignoreName); err != nil || string(text) != ignoreText {
			return nil // a file of another origin stays, and the folder with it
		}
		if err := unix.Unlinkat(f.FD, ignoreName, 0); err != nil {
			return &os.PathError{Op: "remove", Path: filepath.Join(f.Path, ignoreName), Err: err}
		}
	}
	return removeEmpty(f.Path)
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
