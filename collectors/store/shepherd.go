package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
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

// ReadShepherd reads columns of a table of the Shepherd store at path, as Rows does.
func ReadShepherd(ctx context.Context, path, table string, columns ...string) ([]Row, error) {
	rows, err := read(ctx, path, table, columns)
	switch {
	case errors.Is(err, ErrUnfinished):
		return nil, fmt.Errorf("%w; start Shepherd once, which undoes the change", err)
	case errors.Is(err, ErrLayout):
		return nil, fmt.Errorf("%w; a newer or older Shepherd wrote it, or another program: this version of winnow reads the store of Shepherd 1.46", err)
	}
	return rows, err
}

// read opens the database, reads one table and closes it again.
func read(ctx context.Context, path, table string, columns []string) (rows []Row, err error) {
	db, err := Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, db.Close()) }()
	return db.Rows(ctx, table, columns...)
}
