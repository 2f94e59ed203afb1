package scaffold

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Write makes all of the files in the folder, or makes nothing. It overwrites nothing and leaves the folder through no link, also when
// another program puts something there meanwhile. With more the folder may have some of the folders already.
func Write(dir string, files map[string][]byte, more bool) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	var made []string
	defer func() {
		if err != nil {
			for _, name := range slices.Backward(made) {
				err = errors.Join(err, root.Remove(name))
			}
		}
	}()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, folder := range ancestors(name) {
			switch err := root.Mkdir(folder, 0o755); {
			case err == nil:
				made = append(made, folder)
			case more && errors.Is(err, fs.ErrExist):
			case !slices.Contains(made, folder):
				return err
			}
		}
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		made = append(made, name)
		_, err = f.Write(files[name])
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// ancestors are the folders that a name lies in, the uppermost first.
func ancestors(name string) (out []string) {
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		out = append(out, dir)
	}
	slices.Reverse(out)
	return out
}
