package codev

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/tower"
)

// maxWorktrees is how many folders of a workspace's worktrees are listed. Of a workspace with more, nothing of them is known.
const maxWorktrees = 10_000

// workspaces says of each workspace which builders it has by the store's rows, and by the folders of their worktrees. A tab of an editor names its
// builder and no terminal, so its builder has to be found in both.
func (j *join) workspaces() []snapshot.Workspace {
	if !j.stored {
		return nil
	}
	var out []snapshot.Workspace
	for _, path := range j.spaces {
		w := snapshot.Workspace{Source: j.name, Path: path, Worktrees: j.trees.names(path)}
		if j.BuildersWhole {
			w.Builders = []snapshot.Builder{}
			for _, b := range j.Builders {
				if tower.SamePath(b.Workspace, path) {
					w.Builders = append(w.Builders, snapshot.Builder{ID: b.ID, Key: tower.RoleKey(b.ID)})
				}
			}
		}
		out = append(out, w)
	}
	return out
}

// names are the folders of a workspace's worktrees, those that are worktrees no more left out, and nil where they are not known: also where the
// workspace is not positively there, or what holds the worktrees is a link, which may lead to a disk that is away.
func (t *trees) names(workspace string) []snapshot.Builder {
	if !t.present(workspace) {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(workspace, buildersFolder), os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if os.IsNotExist(err) {
		return []snapshot.Builder{}
	}
	if err != nil {
		return nil
	}
	defer f.Close()
	names, err := f.Readdirnames(maxWorktrees + 1)
	if err != nil && !errors.Is(err, io.EOF) || len(names) > maxWorktrees {
		return nil
	}
	out := []snapshot.Builder{}
	for _, name := range names {
		// Codev may leave a folder behind whose worktree it has removed.
		if left := t.look(workspace, filepath.Join(workspace, buildersFolder, name)).unregistered; left != nil && *left {
			continue
		}
		id := cmp.Or(tower.RoleOf(name), name)
		out = append(out, snapshot.Builder{ID: id, Key: tower.RoleKey(id)})
	}
	slices.SortFunc(out, func(a, b snapshot.Builder) int { return strings.Compare(a.ID, b.ID) })
	return out
}
