// Package memfs is a file system in memory, read-only once it is made: what was read of a place that is no folder, such as a revision
// of a repository.
package memfs

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// FS leads from the path of a file, as fs.ValidPath wants it, to what it holds. Folders are those that some file lies in. It
// implements fs.FS, fs.ReadDirFS, fs.ReadFileFS and fs.StatFS.
type FS map[string]File

// File is one file. Mode has its type alone: 0 is a regular file, fs.ModeSymlink a link, which nothing follows.
type File struct {
	Data []byte
	Mode fs.FileMode
	// Err is what reading it gives, for a file whose content is not here; nil for one that can be read.
	Err error
}

// Open implements fs.FS.
func (m FS) Open(name string) (fs.File, error) {
	i, err := m.stat("open", name)
	if err != nil {
		return nil, err
	}
	if i.IsDir() {
		return &folder{info: i, entries: m.entries(name)}, nil
	}
	if i.file.Err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: i.file.Err}
	}
	return &file{Reader: bytes.NewReader(i.file.Data), info: i}, nil
}

// ReadFile implements fs.ReadFileFS.
func (m FS) ReadFile(name string) ([]byte, error) {
	i, err := m.stat("read", name)
	switch {
	case err != nil:
		return nil, err
	case i.IsDir():
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	case i.file.Err != nil:
		return nil, &fs.PathError{Op: "read", Path: name, Err: i.file.Err}
	}
	return bytes.Clone(i.file.Data), nil
}

// ReadDir implements fs.ReadDirFS.
func (m FS) ReadDir(name string) ([]fs.DirEntry, error) {
	i, err := m.stat("read", name)
	if err != nil {
		return nil, err
	}
	if !i.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	}
	return m.entries(name), nil
}

// Stat implements fs.StatFS.
func (m FS) Stat(name string) (fs.FileInfo, error) {
	i, err := m.stat("stat", name)
	if err != nil {
		return nil, err
	}
	return i, nil
}

func (m FS) stat(op, name string) (info, error) {
	if !fs.ValidPath(name) {
		return info{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	if f, ok := m[name]; ok {
		return info{name: path.Base(name), file: f}, nil
	}
	if name == "." {
		return info{name: name, folder: true}, nil
	}
	for other := range m {
		if strings.HasPrefix(other, name+"/") {
			return info{name: path.Base(name), folder: true}, nil
		}
	}
	return info{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// entries are what lies in a folder, sorted by name.
func (m FS) entries(name string) []fs.DirEntry {
	prefix := name + "/"
	if name == "." {
		prefix = ""
	}
	seen := map[string]info{}
	for other, f := range m {
		rest, ok := strings.CutPrefix(other, prefix)
		if !ok {
			continue
		}
		first, _, deeper := strings.Cut(rest, "/")
		if _, is := m[prefix+first]; deeper && is { // a file, as for stat
			continue
		}
		i := info{name: first, folder: deeper}
		if !deeper {
			i.file = f
		}
		seen[first] = i
	}
	out := make([]fs.DirEntry, 0, len(seen))
	for _, i := range seen {
		out = append(out, fs.FileInfoToDirEntry(i))
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out
}

// info is what there is to know of a file or folder.
type info struct {
	name   string
	file   File
	folder bool
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return int64(len(i.file.Data)) }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.folder }
func (i info) Sys() any           { return nil }

func (i info) Mode() fs.FileMode {
	if i.folder {
		return fs.ModeDir | 0o555
	}
	return i.file.Mode.Type() | 0o444
}

type file struct {
	*bytes.Reader
	info info
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *file) Close() error               { return nil }

type folder struct {
	info    info
	entries []fs.DirEntry
}

func (f *folder) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *folder) Close() error               { return nil }

func (f *folder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.info.name, Err: fs.ErrInvalid}
}

// ReadDir implements fs.ReadDirFile.
func (f *folder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		out := f.entries
		f.entries = nil
		return out, nil
	}
	if len(f.entries) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(f.entries))
	out := f.entries[:n]
	f.entries = f.entries[n:]
	return out, nil
}
