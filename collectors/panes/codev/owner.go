package codev

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/sys/tower"
)

// The words of TerminalOwner.How.
const (
	byRow    = "row"
	byLabel  = "label"
	byMemory = "memory"
	byFolder = "folder"
)

// assignOwner says which builder a builder's or development server's terminal belongs to, as far as anything tells. known is what earlier looks
// remember of that very terminal, or nil.
func (j *join) assignOwner(t *snapshot.Terminal, row *tower.Session, known *snapshot.Owner) {
	if t.RoleKind != tower.KindBuilder && t.RoleKind != tower.KindDev {
		return
	}
	o := j.claim(t, row, known)
	if o.ID == "" {
		return
	}
	o.Key = tower.RoleKey(o.ID)
	t.Role, t.Owner = o.ID, o
	began, tree := j.place(t.Cwd)
	if t.Workspace == "" {
		t.Workspace = began
	}
	sure := t.Workspace != ""
	if known != nil && (tower.RoleKey(known.Builder) != tower.RoleKey(o.ID) || t.Workspace != "" && t.Workspace != known.Workspace) {
		known = nil // it was another's then
	}
	if known != nil {
		o.SeenAt = known.RowAt
		t.Workspace = known.Workspace
	}
	if t.Workspace == "" {
		t.Workspace = j.workspaceOf(t.ID, o.ID)
	}
	if t.Workspace != began {
		tree = ""
	}
	b, recorded := j.recorded(t.ID, t.Workspace, o.ID, sure)
	j.worktree(t, row, known, b, tree)
	o.Recorded = j.unless(recorded, o.Worktree)
}

// claim says whose the terminal is, and how that is known.
func (j *join) claim(t *snapshot.Terminal, row *tower.Session, known *snapshot.Owner) *snapshot.TerminalOwner {
	o := &snapshot.TerminalOwner{ID: t.Role}
	labelled, _ := tower.LabelKind(t.Label)
	at := slices.IndexFunc(j.Builders, func(b tower.Builder) bool { return b.Terminal == t.ID })
	switch {
	case t.RoleKind == tower.KindDev && labelled == tower.KindDev:
		o.How = byLabel
	case row != nil && row.Role != "":
		o.How = byRow
	case t.RoleKind == tower.KindBuilder && at >= 0:
		o.ID, o.How = tower.Normal(j.Builders[at].ID), byRow
	case known != nil:
		o.ID, o.How = tower.Normal(known.Builder), byMemory
	}
	return o
}

// worktree says where the owner works, and what became of that: by the builder's row b, by what earlier looks remember, by where the
// terminal was started (tree), or by the rows of the builder's terminals. Each of them may say nothing.
func (j *join) worktree(t *snapshot.Terminal, row *tower.Session, known *snapshot.Owner, b *tower.Builder, tree string) {
	o := t.Owner
	switch {
	case b != nil:
		t.Workspace = cmp.Or(t.Workspace, b.Workspace)
		o.Worktree = b.Worktree
	case known != nil && known.Worktree != "":
		o.Worktree = known.Worktree
	case tree != "":
		o.Worktree = tree
	default:
		o.Worktree = j.worktreeOf(t.Workspace, o.ID, row)
	}
	found := j.trees.look(t.Workspace, o.Worktree)
	o.Gone, o.Unregistered = found.gone, found.unregistered
}

// unless says that a builder is on record where one of any id works in its worktree, although no builder with its own id is.
func (j *join) unless(recorded *bool, worktree string) *bool {
	works := func(b tower.Builder) bool { return b.Worktree != "" && tower.SamePath(b.Worktree, worktree) }
	if recorded != nil && !*recorded && worktree != "" && slices.ContainsFunc(j.Builders, works) {
		return new(true)
	}
	return recorded
}

// startedIn says in whose worktree an unknown shellper was started. That gives its owner then, and not what runs in it: a builder, its
// development server or a shell that a person opened there.
func (j *join) startedIn(t *snapshot.Terminal) {
	workspace, tree := j.place(t.Cwd)
	id := tower.RoleOf(filepath.Base(tree))
	if tree == "" || id == "" {
		return
	}
	t.Workspace, t.Owner = workspace, &snapshot.TerminalOwner{ID: id, Key: tower.RoleKey(id), How: byFolder}
	_, recorded := j.recorded(t.ID, workspace, id, true)
	j.worktree(t, nil, nil, nil, tree)
	t.Owner.Recorded = j.unless(recorded, tree)
}

// workspaceOf is the only workspace in which the store knows that builder, or "" for no workspace or several.
func (j *join) workspaceOf(terminal, id string) string {
	var all []string
	for _, b := range j.Builders {
		if b.Terminal == terminal {
			return b.Workspace
		}
		if tower.RoleKey(b.ID) == tower.RoleKey(id) {
			all = append(all, b.Workspace)
		}
	}
	for _, s := range j.Sessions {
		if s.Kind == tower.KindBuilder && s.Role != "" && tower.RoleKey(s.Role) == tower.RoleKey(id) {
			all = append(all, s.Workspace)
		}
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 1 {
		return all[0]
	}
	return ""
}

// recorded finds the builder's row: one that names the terminal, or one of its id in its workspace, by any spelling. Where nothing that is
// there now says which workspace that is (sure), that no workspace has such a builder is known all the same.
func (j *join) recorded(terminal, workspace, id string, sure bool) (*tower.Builder, *bool) {
	var row *tower.Builder
	elsewhere := false
	for i := range j.Builders {
		b := &j.Builders[i]
		same := tower.RoleKey(b.ID) == tower.RoleKey(id)
		switch {
		case b.Terminal == terminal, same && workspace != "" && tower.SamePath(b.Workspace, workspace):
			if row == nil || b.ID == id {
				row = b
			}
		case same:
			elsewhere = true
		}
	}
	switch {
	case row != nil:
		return row, new(true)
	case !j.BuildersWhole, !sure && elsewhere:
		return nil, nil
	}
	return nil, new(false)
}

// worktreeOf is where the builder works by its own terminals' rows: this one's, or where that has none all others', if they agree.
func (j *join) worktreeOf(workspace, id string, row *tower.Session) string {
	if workspace == "" {
		return ""
	}
	if row != nil {
		return worktreeIn(workspace, row.Cwd)
	}
	var all []string
	for _, s := range j.Sessions {
		if s.Kind == tower.KindBuilder && s.Workspace == workspace && s.Role != "" && tower.RoleKey(s.Role) == tower.RoleKey(id) {
			all = append(all, worktreeIn(workspace, s.Cwd))
		}
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 1 {
		return all[0]
	}
	return ""
}

// buildersFolder is where Codev puts the worktrees of a workspace.
const buildersFolder = ".builders"

// trees finds out whether builders' worktrees are still there. It remembers what it found for one look.
type trees struct {
	finder *git.Finder
	known  map[[2]string]tree
	rooms  map[string]bool
}

// tree is whether a worktree is gone, and whether it is there and no longer registered. Nil is unknown.
type tree struct{ gone, unregistered *bool }

func newTrees() *trees {
	return &trees{finder: git.NewFinder(), known: map[[2]string]tree{}, rooms: map[string]bool{}}
}

func (t *trees) look(workspace, worktree string) tree {
	if workspace == "" || worktree == "" || proc.IsBelow(workspace, worktree) {
		return tree{} // the workspace itself, or what it lies in, is not a worktree
	}
	at := [2]string{workspace, worktree}
	found, ok := t.known[at]
	if !ok {
		found = t.read(workspace, worktree)
		t.known[at] = found
	}
	return found
}

func (t *trees) read(workspace, worktree string) tree {
	info, err := os.Lstat(worktree)
	switch {
	case errors.Is(err, unix.ENOENT):
		if t.present(workspace) && reachable(workspace, worktree) {
			return tree{gone: new(true)}
		}
		return tree{}
	case err != nil:
		return tree{}
	case !info.IsDir():
		return tree{gone: new(false)}
	}
	return tree{gone: new(false), unregistered: t.unregistered(workspace, worktree)}
}

// present reports whether the workspace is positively there: a folder that can be listed, with something in it. An empty one may be where
// a disk is mounted at other times.
func (t *trees) present(workspace string) bool {
	there, known := t.rooms[workspace]
	if !known {
		there, _ = listed(workspace)
		t.rooms[workspace] = there
	}
	return there
}

// listed reports whether a folder can be listed, so that what is not in it is not there, and whether anything is in it.
func listed(folder string) (some, ok bool) {
	f, err := os.OpenFile(folder, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false, false
	}
	defer f.Close()
	names, err := f.Readdirnames(1)
	return len(names) > 0, err == nil || errors.Is(err, io.EOF)
}

// reachable reports whether nothing on the way to a worktree that is not there explains that: every folder above it is one, or is
// positively not there either, up to the workspace. A link that leads nowhere may lead to a disk that is not mounted.
func reachable(workspace, worktree string) bool {
	for dir := filepath.Dir(worktree); ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist) && proc.IsBelow(dir, workspace) && dir != workspace:
			continue
		case err != nil:
			return false
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			info, err = os.Stat(dir)
		}
		_, ok := listed(dir)
		return err == nil && info.IsDir() && ok
	}
}

// unregistered reports whether the folder is no longer a worktree of the workspace's repository. It is reported only where that repository
// could be read; a folder that belongs to another one, or is a clone of its own, is nothing that is known here.
func (t *trees) unregistered(workspace, worktree string) *bool {
	if _, ok := listed(worktree); !ok {
		return nil
	}
	whole, err := t.finder.Locate(workspace)
	if err != nil || whole.CommonDir == "" {
		return nil
	}
	p, err := t.finder.Locate(worktree)
	switch {
	case errors.Is(err, git.ErrNone):
		return new(true)
	case p.Lost && p.CommonDir == whole.CommonDir:
		return new(true)
	case err != nil || !p.Linked || p.CommonDir != whole.CommonDir:
		return nil
	}
	p.Path = tower.Resolved(worktree)
	back, err := t.finder.Entry(p)
	if err != nil {
		return nil
	}
	return new(!back)
}

// place is the workspace of Codev's in which a terminal was started, and the worktree there if it was one. Both are "" where it was started
// elsewhere, or where two workspaces have a worktree on the way: one can lie in another one's worktree.
func (j *join) place(cwd string) (workspace, worktree string) {
	if above, below, ok := strings.Cut(cwd, "/"+buildersFolder+"/"); ok {
		cwd = filepath.Join(tower.Resolved(above), buildersFolder, below) // the store's workspaces have no links in them
	}
	around := ""
	for _, w := range j.spaces {
		tree := worktreeIn(w, cwd)
		if tree != "" && worktree != "" {
			return "", ""
		}
		if tree != "" {
			workspace, worktree = w, tree
		}
		if proc.IsBelow(cwd, w) && len(w) > len(around) {
			around = w
		}
	}
	return cmp.Or(workspace, around), worktree
}

// worktreeIn is the worktree that a builder's terminal works in: the folder below .builders that its working directory is or lies in.
func worktreeIn(workspace, cwd string) string {
	below, ok := strings.CutPrefix(cwd, filepath.Join(workspace, buildersFolder)+"/")
	if !ok || below == "" {
		return ""
	}
	name, _, _ := strings.Cut(below, "/")
	return filepath.Join(workspace, buildersFolder, name)
}
