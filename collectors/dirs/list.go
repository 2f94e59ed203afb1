package dirs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// level gives what matches one component of a pattern below folder. A part without * is taken as it stands.
// Nothing is listed through a link or in another user's folder: that folder itself is given, and its reader says why it is not read.
func level(folder, part string) []string {
	if !strings.Contains(part, "*") {
		return []string{filepath.Join(folder, part)}
	}
	if _, err := trusted(folder); err != nil && !gone(err) {
		return []string{stop + folder}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	var paths []string
	for _, e := range entries {
		at := filepath.Join(folder, e.Name())
		if ok, err := path.Match(onlyStars.Replace(part), e.Name()); err != nil || !ok {
			continue
		}
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			paths = append(paths, at)
		}
	}
	return paths
}

// stop is in front of a folder that a pattern leads no further than. No path begins so.
const stop = "\x00"

// onlyStars takes their meaning from the other signs of path.Match.
var onlyStars = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `?`, `\?`)

// root lists the folders in a root, and the links in it.
func root(dir string) lister {
	return func(o Options, _ *prober) ([]found, int, error) {
		real, err := trusted(dir)
		if err != nil {
			return nil, 0, sourceError(err)
		}
		if len(o.Only) > 0 {
			return listAll(o.Only, func(path string) ([]found, int, error) { return only(real, path) })
		}
		entries, err := os.ReadDir(real)
		if err != nil {
			return nil, 0, sourceError(err)
		}
		var list []found
		for _, e := range entries {
			if e.Name() != Trash && (e.IsDir() || e.Type()&fs.ModeSymlink != 0) {
				list = append(list, found{path: filepath.Join(real, e.Name()), root: real})
			}
		}
		return list, 0, nil
	}
}

// listAll lists what several paths lead to, every folder once.
func listAll(paths []string, list func(path string) ([]found, int, error)) (all []found, unreadable int, err error) {
	seen := map[string]bool{}
	for _, path := range paths {
		some, n, err := list(path)
		if err != nil {
			return nil, 0, err
		}
		unreadable += n
		for _, f := range some {
			if !seen[f.path] {
				seen[f.path] = true
				all = append(all, f)
			}
		}
	}
	return all, unreadable, nil
}

// only lists the one folder that is asked for, or that it lies in, if it is there and in this root.
func only(root, path string) ([]found, int, error) {
	asked := filepath.Clean(path)
	path, in := around(root, asked)
	if !in || filepath.Base(path) == Trash || path != asked && !checkout(path) {
		return nil, 0, nil
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, sourceError(err)
	}
	if !info.IsDir() && info.Mode()&fs.ModeSymlink == 0 {
		return nil, 0, nil
	}
	return []found{{path: path, root: root}}, 0, nil
}

// sourceError tells a source that is not there, or may not be read, from one that failed.
func sourceError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return fmt.Errorf("%w: %w", collectors.ErrAbsent, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %w", collectors.ErrPermission, err)
	}
	return err
}

// repository lists the worktrees of the repository with that common folder. Their root is the folder that they lie in.
func repository(common string) lister {
	return func(o Options, s *prober) ([]found, int, error) {
		if _, err := safeopen.Folder(common); err != nil {
			return nil, 0, sourceError(fmt.Errorf("%w: the worktrees that it names are left out", err))
		}
		repo, err := ask(s, func(f *git.Finder) (*git.Repository, error) { return f.Open(common) })
		if err != nil {
			return nil, 0, sourceError(err)
		}
		if len(o.Only) > 0 && !slices.ContainsFunc(o.Only, s.isVacant) {
			return listAll(o.Only, func(path string) ([]found, int, error) { return onlyOf(s, common, path) })
		}
		entries, err := repo.Entries()
		if err != nil {
			return nil, 0, sourceError(err)
		}
		var paths []string
		if repo.Main != "" {
			paths = append(paths, repo.Main)
		}
		var missing []string
		unreadable := 0
		if len(o.Only) == 0 {
			collectors.Items(s.ctx, len(entries))
		}
		for _, admin := range entries {
			path, err := ask(s, func(f *git.Finder) (string, error) { return f.Tree(admin) })
			switch {
			case err == nil:
				paths = append(paths, path)
			case !gone(err):
				unreadable++
			default:
				missing = append(missing, admin)
			}
		}
		vanished := s.vanished(common, missing, paths)
		// An entry can name any folder. It is this repository's when the folder says so too.
		paths = slices.DeleteFunc(paths, func(path string) bool {
			back, err := ask(s, func(f *git.Finder) (bool, error) { return mutual(f, common, path), nil })
			return !back || err != nil
		})
		strays, blind := findStrays(s, repo, paths)
		leftovers := append(vanished, strays...)
		if len(o.Only) > 0 {
			return listAll(o.Only, func(path string) ([]found, int, error) {
				if i := slices.IndexFunc(leftovers, func(f found) bool { return f.path == filepath.Clean(path) }); i >= 0 {
					return leftovers[i : i+1], 0, nil
				}
				return onlyOf(s, common, path)
			})
		}
		slices.Sort(paths)
		var list []found
		for _, path := range slices.Compact(paths) {
			list = append(list, found{path: path, root: filepath.Dir(path)})
		}
		return append(list, leftovers...), unreadable + blind, nil
	}
}

// forWorktrees matches folders that are for worktrees by their names: worktrees, .worktrees, acme.worktrees.
var forWorktrees = regexp.MustCompile(`[/.]worktrees$`)

// isVacant reports whether nothing has a path, or what is left of a worktree: only tools' files, on a disk that is there.
func (s *prober) isVacant(path string) bool {
	none, err := ask(s, func(*git.Finder) (bool, error) { return s.o.empty(s.ctx, path) })
	return gone(err) || none && forWorktrees.MatchString(filepath.Dir(path)) && s.o.allMounted(path) == nil
}

// onlyOf lists the one folder that is asked for, or the linked worktree that it lies in, if it belongs to the repository.
func onlyOf(s *prober, common, path string) ([]found, int, error) {
	path = filepath.Clean(path)
	place, err := s.locate(path)
	if errors.Is(err, git.ErrNone) {
		in, _ := ask(s, func(f *git.Finder) (in git.Place, err error) {
			in, _ = f.Around(path)
			return in, nil
		})
		if in.Linked { // of what lies in no repository, or did not answer, this is false
			path, place, err = in.Path, in, nil
		}
	}
	if place.CommonDir != common {
		if _, lerr := os.Lstat(path); lerr == nil && err != nil && !errors.Is(err, git.ErrNone) {
			return nil, 0, err
		}
		return nil, 0, nil
	}
	return []found{{path: path, root: filepath.Dir(path)}}, 0, nil
}

// findStrays finds folders next to a repository's worktrees whose .git file leads into it: worktrees that it has no entry for any
// more, or copies of others. In a folder for worktrees, by its name, those without a file are what is left of one.
func findStrays(s *prober, repo *git.Repository, paths []string) (strays []found, unreadable int) {
	known, parents := map[string]bool{}, map[string]bool{}
	for _, path := range paths {
		known[path] = true
		parents[filepath.Dir(path)] = parents[filepath.Dir(path)] || path != repo.Main
	}
	likely, _ := ask(s, func(*git.Finder) ([]string, error) { return worktreeFolders(repo.Main), nil })
	for _, path := range likely {
		parents[path] = true
	}
	for parent, linked := range parents {
		linked = linked && !known[parent] && forWorktrees.MatchString(parent)
		entries, err := ask(s, func(*git.Finder) ([]os.DirEntry, error) { return os.ReadDir(parent) })
		if err != nil {
			unreadable++
			continue
		}
		for _, e := range entries {
			path := filepath.Join(parent, e.Name())
			if !e.IsDir() || known[path] || e.Name() == Trash {
				continue
			}
			if place, _ := s.locate(path); place.CommonDir == repo.CommonDir && place.Linked || linked && s.isVacant(path) {
				strays = append(strays, found{path: path, root: parent})
			}
		}
	}
	return strays, unreadable
}

// worktreeFolders are the folders for worktrees that tools make in a main checkout, and beside it: .claude/worktrees, .worktrees, acme.worktrees.
func worktreeFolders(main string) (there []string) {
	if main == "" {
		return nil
	}
	for _, path := range append(level(main, ".*"), main+".worktrees") {
		if filepath.Ext(path) != ".worktrees" {
			path = filepath.Join(path, "worktrees")
		}
		if info, err := os.Lstat(path); err == nil && info.IsDir() && filepath.Base(filepath.Dir(path)) != ".git" { // git's own entries
			there = append(there, path)
		}
	}
	return there
}
