// Package original makes folders with git's repositories in them that many tests need alike: git makes the first, and the others are copies of it, which
// take no processes. Nothing but tests imports it.
package original

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

// Folders are made once in a run of a package's tests, each by its name. Run belongs into TestMain.
type Folders struct {
	mu sync.Mutex
	at map[string]string
}

// CopyTo fills an empty folder as fill does, whose git knows no path outside of it. What git remembers of the files of worktrees is of the original:
// git update-index --refresh brings it up to date.
func (f *Folders) CopyTo(t testing.TB, name, at string, fill func(at string)) {
	t.Helper()
	must.Do(t, copyTree(f.made(t, name, fill), at))
}

func (f *Folders) made(t testing.TB, name string, fill func(at string)) string {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at[name] == "" {
		at := must.Get(os.MkdirTemp("", "original"))(t)
		at = must.Get(filepath.EvalSymlinks(at))(t)
		fill(at)
		if f.at == nil {
			f.at = map[string]string{}
		}
		f.at[name] = at
	}
	return f.at[name]
}

// Run runs a package's tests, and removes the originals. It gives the exit code.
func (f *Folders) Run(m *testing.M) int {
	code := m.Run()
	for _, at := range f.at {
		_ = os.RemoveAll(at)
	}
	return code
}

// copyTree copies folders and files. In those that are no objects of git the path of the original becomes that of the copy.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at := to + strings.TrimPrefix(path, from)
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path == from {
				return nil
			}
			return os.Mkdir(at, info.Mode().Perm())
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !slices.Contains(strings.Split(path, "/"), "objects") {
			data = bytes.ReplaceAll(data, []byte(from), []byte(to))
		}
		return os.WriteFile(at, data, info.Mode().Perm())
	})
}
