package dirs

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/git"
)

// Scaffold is what a tool writes into worktrees for itself: no work where it stands there as the tool put it.
type Scaffold struct {
	// In are names of the folders that the tool's worktrees lie directly in; an empty list means any folder.
	In []string
	// Paths are files and Links symbolic links by their exact path in the worktree. A link is the tool's where it leads to the same path in
	// the main checkout.
	Paths, Links []string
	// Reports says that a spawned agent leaves the files for the agent that started it: they are work until they are taken.
	Reports bool
}

// kit is what of all scaffolds may stand in one worktree.
type kit struct {
	// made and links by path in the worktree; made is true for reports.
	made, links map[string]bool
	root, main  string
}

// kitOf is what may stand in the candidate.
func kitOf(all []Scaffold, c *candidate) kit {
	k := kit{made: map[string]bool{}, links: map[string]bool{}, root: c.dir.Path, main: c.repo.Main}
	for _, s := range all {
		if len(s.In) > 0 && !slices.Contains(s.In, filepath.Base(filepath.Dir(k.root))) {
			continue
		}
		for _, p := range s.Paths {
			if reports, twice := k.made[p]; !twice || reports {
				k.made[p] = s.Reports
			}
		}
		for _, p := range s.Links {
			k.links[p] = true
		}
	}
	return k
}

// sort takes what is scaffold out of what git says; reports are counted and left in.
func (k kit) sort(ctx context.Context, c *git.Content) (scaffold []string, reports int) {
	mine := func(path string) bool {
		left, report := k.is(ctx, path)
		if report {
			reports++
		} else if left {
			scaffold = append(scaffold, path)
		}
		return left && !report
	}
	c.Untracked = slices.DeleteFunc(c.Untracked, func(path string) bool {
		_, made := k.made[path]
		return (made || k.links[path]) && mine(path)
	})
	c.Ignored = slices.DeleteFunc(c.Ignored, mine)
	return scaffold, reports
}

// is reports whether what stands there is scaffold, and whether that is a report. A folder that git ignores as a whole is scaffold when
// there is nothing but scaffold in it.
func (k kit) is(ctx context.Context, path string) (scaffold, report bool) {
	if folder, ok := strings.CutSuffix(path, "/"); ok {
		return k.holds(folder) && k.nothingElse(ctx, folder), false
	}
	report, made := k.made[path]
	switch {
	case made && k.plain(path, 0):
		return true, report
	case k.links[path] && k.plain(path, os.ModeSymlink):
		return k.leadsHome(path), false
	}
	return false, false
}

// holds reports whether any scaffold lies below the folder.
func (k kit) holds(folder string) bool {
	for p := range k.made {
		if strings.HasPrefix(p, folder+"/") {
			return true
		}
	}
	return false
}

// nothingElse reports whether there is nothing in the folder but scaffold.
func (k kit) nothingElse(ctx context.Context, folder string) bool {
	if !k.plain(folder, os.ModeDir) || ctx.Err() != nil {
		return false
	}
	f, err := os.Open(filepath.Join(k.root, folder))
	if err != nil {
		return false
	}
	defer f.Close()
	names, err := f.Readdirnames(len(k.made) + 2) // more is not all scaffold
	if err != nil || len(names) > len(k.made)+1 {
		return false
	}
	return !slices.ContainsFunc(names, func(name string) bool {
		path := folder + "/" + name
		if report, made := k.made[path]; made {
			return report || !k.plain(path, 0)
		}
		return !k.holds(path) || !k.nothingElse(ctx, path)
	})
}

// plain reports whether something of that kind stands at the path, with nothing but folders on the way.
func (k kit) plain(path string, kind os.FileMode) bool {
	for i, c := range path {
		if c == '/' {
			if info, err := os.Lstat(filepath.Join(k.root, path[:i])); err != nil || !info.IsDir() {
				return false
			}
		}
	}
	info, err := os.Lstat(filepath.Join(k.root, path))
	return err == nil && info.Mode().Type() == kind
}

// leadsHome reports whether a link leads to the same path in the main checkout, so that nothing is lost with it.
func (k kit) leadsHome(path string) bool {
	to, err := os.Readlink(filepath.Join(k.root, path))
	if err != nil || k.main == "" {
		return false
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(k.root, filepath.Dir(path), to)
	}
	return filepath.Clean(to) == filepath.Join(k.main, path)
}
