package codev

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/winnow-reaper/winnow/engine/snapshot"
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
