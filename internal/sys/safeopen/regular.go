package safeopen

import "io/fs"

// CheckRegular says whether the file at path is one that Read would read, as Check does, and only looks at it. SQLite's files need that:
// when a process closes any descriptor of a file, the kernel drops the locks that the process has on it.
func CheckRegular(path string, w Want) error {
	st, err := lstat(path)
	if err != nil {
		return err
	}
	if err := w.allows(&st); err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return nil
}
