// Package remover removes a tree that was set aside.
package remover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/internal/sys/folder"
)

// Remover removes a tree from within: each folder is opened in the one above it, on the same mount and through no link, so that
// nothing outside is reached, also when something is renamed or mounted meanwhile.
type Remover struct {
	// Step is told before each folder.
	Step func(string)
	// Freed counts the bytes of files that no other name leads to. Folders are not counted.
	Freed int64
}

// Remove removes name in the folder that is held, and what is in it, when that is the folder that is wanted.
func (r *Remover) Remove(ctx context.Context, top folder.Folder, name string, want folder.Stamp) error {
	at, err := top.Stamp()
	if err != nil {
		return fmt.Errorf("look at %s: %w", top.Path, err)
	}
	if err := r.folder(ctx, top, name, at.Mount, &want); err != nil {
		return err
	}
	return top.Sync()
}

func (r *Remover) folder(ctx context.Context, above folder.Folder, name string, mount uint64, want *folder.Stamp) error {
	r.Step("purge.folder")
	if err := ctx.Err(); err != nil {
		return err
	}
	if want != nil { // before anything of it is made readable
		if at, err := folder.StampAt(above.FD, name); err != nil || !at.Equal(*want) {
			return errors.Join(actuators.Refused("%s is not the folder that was set aside", filepath.Join(above.Path, name)), err)
		}
	}
	f, err := openToEmpty(above, name)
	if err != nil {
		return err
	}
	defer f.Close()
	at, err := f.Stamp()
	switch {
	case err != nil || at.Mount != mount || at.MountRoot:
		return errors.Join(err, fmt.Errorf("%s is on another mount", f.Path))
	case want != nil && !at.Equal(*want):
		return actuators.Refused("%s is not the folder that was set aside", f.Path)
	}
	names, err := f.Names()
	if err != nil {
		return fmt.Errorf("list %s: %w", f.Path, err)
	}
	for _, n := range names {
		if err := r.entry(ctx, f, n, mount); err != nil {
			return err
		}
	}
	return unlink(above, name, unix.AT_REMOVEDIR)
}

func (r *Remover) entry(ctx context.Context, in folder.Folder, name string, mount uint64) error {
	var st unix.Stat_t
	if err := unix.Fstatat(in.FD, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &os.PathError{Op: "look at", Path: filepath.Join(in.Path, name), Err: err}
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return r.folder(ctx, in, name, mount, nil)
	}
	if err := unlink(in, name, 0); err != nil {
		return err
	}
	if st.Nlink == 1 {
		r.Freed += st.Blocks * folder.BlockSize
	}
	return nil
}

// unlink removes one entry. A folder that its owner may not write to, such as one of Go's module cache, is made writable: it has
// no other name, so nothing else changes with it.
func unlink(in folder.Folder, name string, flags int) error {
	err := unix.Unlinkat(in.FD, name, flags)
	if errors.Is(err, unix.EACCES) && unix.Fchmod(in.FD, 0o700) == nil {
		err = unix.Unlinkat(in.FD, name, flags)
	}
	if err != nil {
		return &os.PathError{Op: "remove", Path: filepath.Join(in.Path, name), Err: err}
	}
	return nil
}

// openToEmpty opens a folder to list it, and makes it readable where it is not.
func openToEmpty(above folder.Folder, name string) (folder.Folder, error) {
	f, err := above.OpenBelow(name, unix.O_RDONLY)
	if !errors.Is(err, unix.EACCES) {
		return f, err
	}
	held, err := above.OpenBelow(name, unix.O_PATH)
	if err != nil {
		return held, err
	}
	defer held.Close()
	// chmod(2) takes no O_PATH descriptor; the link that procfs has for it leads to this very folder and no other.
	if err := unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", held.FD), 0o700); err != nil {
		return folder.None, &os.PathError{Op: "open", Path: held.Path, Err: err}
	}
	return above.OpenBelow(name, unix.O_RDONLY)
}
