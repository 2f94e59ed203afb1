package foreign

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
)

// DirFS is a folder as an fs.FS whose files are read by the rules of Read. Links in it are listed, and refused when they are read.
type DirFS struct {
	Dir  string
	Want Want
	// Context bounds every reading; nil is no bound but Want.Within.
	Context context.Context
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
		return os.Open(path)
	}
	return Open(path, d.Want)
}

// ReadDir lists a folder, sorted by name.
func (d DirFS) ReadDir(name string) ([]fs.DirEntry, error) {
	path, err := d.path("list", name)
	if err != nil {
		return nil, err
	}
	return os.ReadDir(path)
}

// ReadFile reads a file.
func (d DirFS) ReadFile(name string) ([]byte, error) {
	path, err := d.path("read", name)
	if err != nil {
		return nil, err
	}
	ctx := d.Context
	if ctx == nil {
		ctx = context.Background()
	}
	f, err := Read(ctx, path, d.Want)
	return f.Data, err
}
