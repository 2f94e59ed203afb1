// Package codev sees Codev's terminals: what the Tower lists, what its store records, and shellpers that neither knows.
//
// One state folder is one source. Its store is read before the Tower is asked, for every client of the Tower makes it delete rows
// that it finds stale; of the Tower itself only what changes nothing is asked. What cannot be read says nothing: an empty answer, a
// Tower that is starting or one that wants another key never mean that there are no builders.
//
// A shellper's command line holds the whole environment of what it started. It is matched on here, and nothing of it is kept but the folder
// that its program was started in.
package codev

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/tower"
)

// Kind is the kind of a source that is a state folder of Codev's, and what its name begins with.
const Kind = "codev"

const (
	// auto stands in Options.Homes for the folders that Codev itself would use.
	auto = "auto"
	// usual is the folder in the user's home, whose source is called codev/default.
	usual     = ".agent-farm"
	usualName = "default"
)

const defaultTimeout = 3 * time.Second

// Options says which state folders are read, and how.
type Options struct {
	// Homes are absolute paths of state folders, or "auto" for ~/.agent-farm and, where it is set, $CODEV_AGENT_FARM_DIR.
	Homes []string
	// Tower is the base URL of the Tower of all of them; empty is http://127.0.0.1:4100. It is on this machine's loopback.
	Tower string
	// Env gives CODEV_AGENT_FARM_DIR, CODEV_TOWER_KEY and SHELLPER_SOCKET_DIR; nil is an empty environment.
	Env collectors.Env
	// Home is the user's home folder; empty means unknown.
	Home string
	// ProcRoot is where procfs is mounted; empty is /proc.
	ProcRoot string
	// Known is what earlier looks remember of builders and their terminals.
	Known []snapshot.Owner
	// Only, terminals' native ids, gives nothing but those terminals, for another look before an act; empty is all.
	Only []string
	// Timeout is how long the Tower has for one answer; zero or less is 3 s.
	Timeout time.Duration
	// Log may be nil.
	Log hclog.Logger
}

// ID is the candidate's id of the terminal that source knows as native.
func ID(source, native string) string { return snapshot.KindTerminal + ":" + source + "/" + native }

// Sources gives one source a state folder, sorted by path. One that Codev would use and that is not there gives none; one that was
// named and is not there gives a source that fails. The errors are a folder that is not an absolute path and a Tower that is not this
// machine's own.
//
// A source is named codev/default for ~/.agent-farm, else codev/ and the folder's name. Of two that would have the same name, those
// elsewhere get a suffix made from their path, which stays the same at every look.
func Sources(o Options) ([]collectors.Source, error) {
	base, err := tower.Base(cmp.Or(o.Tower, tower.DefaultAddress))
	if err != nil {
		return nil, fmt.Errorf("codev tower: %w", err)
	}
	homes, lacking, err := homes(o)
	if err != nil {
		return nil, err
	}
	every := folders(append(automatic(o), homes...))
	named := func(path string) (string, bool) {
		if o.Home != "" && tower.Resolved(path) == tower.Resolved(filepath.Join(o.Home, usual)) {
			return usualName, true
		}
		return filepath.Base(path), false
	}
	read := func(name, path string) collectors.Reader {
		if slices.Contains(lacking, path) {
			return collectors.Failing{Err: fmt.Errorf("read %s: no such folder; correct the path in collect.codev.homes, or take it out", path)}
		}
		return newReader(o, name, path, base, every)
	}
	return collectors.NameSources(nil, Kind, usualName, slices.Concat(homes, lacking), named, read), nil
}

// Stores gives the stores of those of the folders that are there, which are registries of builders.
func Stores(o Options) ([]string, error) {
	stores, _, err := homes(o)
	for i, home := range stores {
		stores[i] = filepath.Join(home, tower.StoreFile)
	}
	slices.Sort(stores)
	return stores, err
}

// homes are the state folders that are there, each once, and those that were named and are not.
func homes(o Options) (there, lacking []string, err error) {
	var paths, named []string
	for _, h := range o.Homes {
		switch {
		case h == auto:
			paths = append(paths, automatic(o)...)
		case filepath.IsAbs(h):
			named = append(named, filepath.Clean(h))
		default:
			return nil, nil, fmt.Errorf("codev state folder %q: not an absolute path; write auto, or the path of a folder", h)
		}
	}
	for _, p := range named {
		if len(folders([]string{p})) == 0 && !slices.Contains(lacking, p) {
			lacking = append(lacking, p)
		}
	}
	return folders(append(paths, named...)), lacking, nil
}

// automatic are the folders that Codev would use (packages/core/src/constants.ts of Codev), there or not.
func automatic(o Options) []string {
	var out []string
	if o.Home != "" {
		out = append(out, filepath.Join(o.Home, usual))
	}
	if set := o.Env.Get("CODEV_AGENT_FARM_DIR"); set != "" {
		if abs, err := filepath.Abs(set); err == nil {
			out = append(out, abs)
		}
	}
	return out
}

// folders leaves out what is positively no folder, and all but one of those that are the same. Where this is unknown, the reader
// says why.
func folders(paths []string) []string {
	return collectors.Distinct(slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		info, err := os.Stat(path)
		return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || err == nil && !info.IsDir()
	}))
}

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
