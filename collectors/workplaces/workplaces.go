// Package workplaces finds folders that agents have worked in: by the records of projects that agents keep for themselves, and by looking for
// repositories with worktrees in the folders that people keep their code in. Of a record only paths are taken. What cannot be read is left out,
// since a record of a project is a hint and no evidence.
package workplaces

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/pelletier/go-toml/v2"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/sys/sqlite"
)

// The forms of a Record.
const (
	JSON   = "json"   // a file with an object whose keys are the paths
	TOML   = "toml"   // the same
	Folder = "folder" // a folder of JSON files, each with one path
	Lines  = "lines"  // a folder of folders of files of JSON lines, the first of which has the path
	SQLite = "sqlite" // a database with a table that has a column of paths
)

// Formats lists them.
var Formats = []string{JSON, TOML, Folder, Lines, SQLite}

// Record is where an agent's program writes down the projects that it was used in.
type Record struct {
	Tool, Path, Format string
	// At leads to the paths, with a dot for each object on the way: to the object whose keys they are, or, of Folder and Lines, to the text itself. Of
	// SQLite it is the table and its column.
	At string
}

// Bounds of what is read of one record.
const (
	maxFile  = 32 << 20 // bytes of a file with all projects in it
	maxSmall = 1 << 20  // of one of many
	maxFiles = 500
	maxPaths = 2000
	within   = 2 * time.Second
)

// Recorded gives the paths that the records name, each once, in their order.
func Recorded(ctx context.Context, records []Record, log hclog.Logger) []string {
	var out []string
	seen := map[string]bool{}
	for _, r := range records {
		paths, err := r.read(ctx)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			log.Warn("a record of an agent's projects was not read, so that repositories may be missed", "tool", r.Tool, "path", r.Path, "error", err)
		}
		for _, p := range paths[:min(len(paths), maxPaths)] {
			if filepath.IsAbs(p) && !strings.ContainsRune(p, 0) && !seen[p] {
				seen[p] = true
				out = append(out, p)
			}
		}
	}
	return out
}

func (r Record) read(ctx context.Context) ([]string, error) {
	real, err := safeopen.Path(r.Path)
	if err != nil {
		return nil, err
	}
	switch r.Format {
	case Folder:
		return r.files(ctx, real, 0, ".json")
	case Lines:
		return r.files(ctx, real, 3, ".jsonl") // year, month, day
	case SQLite:
		return r.rows(ctx, real)
	}
	f, err := safeopen.Read(ctx, real, safeopen.Want{Max: maxFile, Within: within})
	if err != nil {
		return nil, err
	}
	var all map[string]any
	if r.Format == TOML {
		err = toml.Unmarshal(f.Data, &all)
	} else {
		err = json.Unmarshal(f.Data, &all)
	}
	if err != nil {
		return nil, errors.New("its content was not understood as " + r.Format) // the parser's own words quote it
	}
	var paths []string
	if table, ok := lookupKey(all, r.At).(map[string]any); ok {
		paths = slices.Sorted(maps.Keys(table))
	}
	return paths, nil
}

// rows reads the column, each path once. Agents write while this is read: a database that is locked for long, or of another layout, gives none.
func (r Record) rows(ctx context.Context, path string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	table, column, _ := strings.Cut(r.At, ".")
	rows, err := sqlite.Read(ctx, path, table, column)
	if err != nil {
		if errors.Is(err, sqlite.ErrLayout) || errors.Is(err, safeopen.ErrAbsent) {
			return nil, fs.ErrNotExist // an older or a newer version keeps them elsewhere
		}
		return nil, err
	}
	var paths []string
	for _, row := range rows {
		if p, err := row.Text(column); err == nil {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// lookupKey follows the names of objects.
func lookupKey(in any, way string) any {
	for name := range strings.SplitSeq(way, ".") {
		table, ok := in.(map[string]any)
		if !ok {
			return nil
		}
		in = table[name]
	}
	return in
}

// files reads the latest of the files with that suffix, so many folders below one.
func (r Record) files(ctx context.Context, folder string, depth int, suffix string) (paths []string, err error) {
	var all []string
	d := safeopen.DirFS{Dir: folder, Want: safeopen.Want{Max: maxSmall, Within: within}, Context: ctx, MaxEntries: 10 * maxFiles}
	var walk func(at string, depth int) error
	walk = func(at string, depth int) error {
		entries, err := fs.ReadDir(d, at)
		if err != nil {
			return err
		}
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(b.Name(), a.Name()) }) // the latest day first
		for _, e := range entries {
			name := filepath.Join(at, e.Name())
			switch {
			case ctx.Err() != nil || len(all) >= maxFiles:
				return ctx.Err()
			case depth > 0 && e.IsDir():
				if err := walk(name, depth-1); err != nil {
					return err
				}
			case depth == 0 && e.Type().IsRegular() && strings.HasSuffix(name, suffix):
				all = append(all, filepath.Join(folder, name))
			}
		}
		return nil
	}
	err = walk(".", depth)
	for _, f := range all {
		if path, ok := r.one(ctx, f); ok && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths, err
}

// one reads the path that one of many files names.
func (r Record) one(ctx context.Context, path string) (string, bool) {
	var text []byte
	if r.Format == Folder {
		f, err := safeopen.Read(ctx, path, safeopen.Want{Max: maxSmall, Within: within})
		if err != nil {
			return "", false
		}
		text = f.Data
	} else {
		f, err := safeopen.Open(path, safeopen.Want{Max: 1 << 40}) // only its first line is read
		if err != nil {
			return "", false
		}
		defer f.Close()
		if text, err = bufio.NewReader(io.LimitReader(f, maxSmall)).ReadBytes('\n'); err != nil {
			return "", false
		}
	}
	var all map[string]any
	if json.Unmarshal(text, &all) != nil {
		return "", false
	}
	named, ok := lookupKey(all, r.At).(string)
	return named, ok
}

// maxEntries is how many entries of all folders together FindRepositories looks at.
const maxEntries = 20_000

// FindRepositories gives the folders at most two levels below these that are repositories with linked worktrees. A folder that does not exist has none. It
// follows no link, and looks into no repository.
func FindRepositories(ctx context.Context, folders []string, log hclog.Logger) []string {
	var out []string
	left := maxEntries
	var walk func(folder string, depth int)
	walk = func(folder string, depth int) {
		d := safeopen.DirFS{Dir: folder, Want: safeopen.Want{Within: within}, Context: ctx, MaxEntries: maxEntries}
		entries, err := fs.ReadDir(d, ".")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			log.Debug("a folder was not searched for repositories", "path", folder, "error", err)
		}
		for _, e := range entries {
			if left--; left < 0 || ctx.Err() != nil {
				return
			}
			if !e.IsDir() {
				continue
			}
			at := filepath.Join(folder, e.Name())
			switch {
			case isFolder(filepath.Join(at, ".git", "worktrees")), isFolder(filepath.Join(at, "worktrees")) && isFolder(filepath.Join(at, "objects")):
				out = append(out, at)
			case depth > 1 && !exists(filepath.Join(at, ".git")):
				walk(at, depth-1)
			}
		}
	}
	for _, folder := range folders {
		if real, err := safeopen.Path(folder); err == nil {
			walk(real, 2)
		}
	}
	if left < 0 {
		log.Warn("collect.dirs.discover_under holds more than is searched, so repositories may be missed", "entries", maxEntries)
	}
	return out
}

func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
