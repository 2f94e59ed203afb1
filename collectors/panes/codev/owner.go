package codev

import (
	"cmp"
	"slices"
	"time"

	"winnow/engine/snapshot"
)

// The words of TerminalOwner.How.
const (
	byRow    = "row"
	byLabel  = "label"
	byMemory = "memory"
)

// own says which builder a builder's or development server's terminal belongs to, as far as anything tells.
func (j *join) own(t *snapshot.Terminal, row *session) {
	if t.RoleKind != builderKind && t.RoleKind != devKind {
		return
	}
	known, remembered := j.memory[t.ID]
	claim := slices.IndexFunc(j.builders, func(b builder) bool { return b.terminal == t.ID })
	o := &snapshot.TerminalOwner{ID: t.Role}
	switch {
	case t.RoleKind == devKind:
		o.How = byLabel
	case row != nil && row.role != "":
		o.How = byRow
	case claim >= 0:
		o.ID, o.How = Normal(j.builders[claim].id), byRow
	case remembered:
		o.ID, o.How = Normal(known.Builder), byMemory
	}
	if o.ID == "" {
		return
	}
	t.Role, t.Owner = o.ID, o
	remembered = remembered && key(known.Builder) == key(o.ID) && (t.Workspace == "" || t.Workspace == known.Workspace)
	if remembered {
		o.SeenAt = new(known.LastAt)
		t.Workspace = known.Workspace
	}
	if t.Workspace == "" {
		t.Workspace = j.workspaceOf(t.ID, o.ID)
	}
	b, recorded := j.recorded(t.ID, t.Workspace, o.ID)
	o.Recorded = recorded
	switch {
	case b != nil:
		t.Workspace = cmp.Or(t.Workspace, b.workspace)
		o.Worktree = b.worktree
	case remembered && known.Worktree != "":
		o.Worktree = known.Worktree
	default:
		o.Worktree = j.worktreeOf(t.Workspace, o.ID, row)
	}
	found := j.trees.look(t.Workspace, o.Worktree)
	o.Gone, o.Unregistered = found.gone, found.unregistered
}

// workspaceOf is the only workspace in which the store knows that builder, or "" where there is none or more than one.
func (j *join) workspaceOf(terminal, id string) string {
	var all []string
	for _, b := range j.builders {
		if b.terminal == terminal {
			return b.workspace
		}
		if key(b.id) == key(id) {
			all = append(all, b.workspace)
		}
	}
	for _, s := range j.sessions {
		if s.kind == builderKind && s.role != "" && key(s.role) == key(id) {
			all = append(all, s.workspace)
		}
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 1 {
		return all[0]
	}
	return ""
}

// recorded finds the builder's row: one that names the terminal, or one of its id in its workspace, by any spelling. Where the workspace is
// not known, that no workspace has such a builder is known all the same.
func (j *join) recorded(terminal, workspace, id string) (*builder, *bool) {
	var row *builder
	elsewhere := false
	for i := range j.builders {
		b := &j.builders[i]
		same := key(b.id) == key(id)
		switch {
		case b.terminal == terminal, same && workspace != "" && samePath(b.workspace, workspace):
			if row == nil || b.id == id {
				row = b
			}
		case same:
			elsewhere = true
		}
	}
	switch {
	case row != nil:
		return row, new(true)
	case !j.buildersWhole, workspace == "" && elsewhere:
		return nil, nil
	}
	return nil, new(false)
}

// worktreeOf is where the builder works by its own terminals' rows: this one's, or where that has none all others', if they agree.
func (j *join) worktreeOf(workspace, id string, row *session) string {
	if workspace == "" {
		return ""
	}
	if row != nil {
		return worktreeIn(workspace, row.cwd)
	}
	var all []string
	for _, s := range j.sessions {
		if s.kind == builderKind && s.workspace == workspace && s.role != "" && key(s.role) == key(id) {
			all = append(all, worktreeIn(workspace, s.cwd))
		}
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 1 {
		return all[0]
	}
	return ""
}

// Owners gives what is to be remembered after a look at everything: which builders have a row while their terminals are there. It changes
// neither s nor prev.
//
// What is remembered of a source that was not read whole stays as it is. Of one that was, what is remembered of a terminal stays for as
// long as the terminal does, also when its builder is gone: that is what it is remembered for. A look that was narrowed to some
// candidates knows nothing of the others and is none to remember.
func Owners(s *snapshot.Snapshot, prev []snapshot.Owner) []snapshot.Owner {
	at := s.TakenAt.Round(0).UTC()
	now := map[[2]string]snapshot.Owner{}
	there := map[[2]string]bool{}
	for _, t := range s.Terminals {
		where := [2]string{t.Source, t.ID}
		there[where] = true
		o := t.Owner
		if s.Sources[t.Source].Status == snapshot.OK && o != nil && o.Recorded != nil && *o.Recorded && t.Workspace != "" {
			now[where] = snapshot.Owner{Source: t.Source, Terminal: t.ID, Workspace: t.Workspace, Builder: o.ID, Worktree: o.Worktree, FirstAt: at, LastAt: at}
		}
	}
	for _, p := range prev {
		where := [2]string{p.Source, p.Terminal}
		o, seen := now[where]
		switch {
		case s.Sources[p.Source].Status == snapshot.OK && !there[where]:
		case !seen:
			now[where] = p
		case o.Builder == p.Builder && o.Workspace == p.Workspace:
			o.FirstAt, o.LastAt = earlier(p.FirstAt, o.FirstAt), later(p.LastAt, o.LastAt)
			o.Worktree = cmp.Or(o.Worktree, p.Worktree)
			now[where] = o
		}
	}
	return sorted(now)
}

func sorted(owners map[[2]string]snapshot.Owner) []snapshot.Owner {
	var out []snapshot.Owner
	for _, o := range owners {
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b snapshot.Owner) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Terminal, b.Terminal))
	})
	return out
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
