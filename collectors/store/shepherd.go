// Package store finds and reads the store of Shepherd.
package store

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"winnow/internal/sqlite"
)

// Shepherd gives the path of this user's Shepherd store, and whether there is one: it is where SHEPHERD_DB says, or at
// ~/.shepherd/shepherd.db. What could not be looked at is taken to be there, so that reading it says why it cannot be read; so is
// a relative SHEPHERD_DB, of which nobody but Shepherd can tell where it leads, and what lies in a home that is not known ("").
func Shepherd(env func(string) string, home string) (path string, ok bool) {
	set := env("SHEPHERD_DB")
	path = cmp.Or(set, filepath.Join(home, ".shepherd", "shepherd.db"))
	abs, err := filepath.Abs(path)
	if err != nil {
		return path, true
	}
	_, err = os.Lstat(abs)
	gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	return abs, !gone || !filepath.IsAbs(path)
}

// ReadShepherd reads columns of a table of the Shepherd store at path, as sqlite.Read does.
func ReadShepherd(ctx context.Context, path, table string, columns ...string) ([]sqlite.Row, error) {
	rows, err := sqlite.Read(ctx, path, table, columns...)
	return rows, sqlite.Program{Name: "Shepherd", Version: "1.46", Start: "Shepherd"}.Explain(err)
}
