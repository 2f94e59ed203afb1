package subject

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// Shown is what stands behind a terminal tab of an editor, by other sources than the editor.
type Shown struct {
	// Ended is true when the process that the tab was opened with has ended, by /proc, and false while it lives. Absent where that is not known, and for
	// a tab without a process.
	Ended *bool `json:"ended,omitempty"`
	// Workspaces are those of Codev's that the window has open. Only of a tab of a builder of Codev's, as what follows.
	Workspaces []string `json:"workspaces,omitempty"`
	// Recorded is whether one of these has a row for the builder, and Worktree whether one has a folder of its worktree, both by any spelling of its
	// id. Each is absent where it is not known of every one of these workspaces, and where there are none.
	Recorded *bool `json:"recorded,omitempty"`
	Worktree *bool `json:"worktree,omitempty"`
	// Sessions are the ids of the builder's terminals at its Tower that have not positively exited; for a tab of a development server those of that
	// server. Known and empty is [], absent where not every state folder of Codev's was read, and where it is not known of a terminal there whose it is.
	Sessions []string `json:"sessions,omitzero"`
}

// fillEditorTab counts a tab of an editor under the first folder of its window, which is a project's.
func (j *Index) fillEditorTab(sub *Subject) {
	e := sub.Tab.Editor
	sub.Owner = sub.Tab.Source
	if len(e.Folders) > 0 {
		sub.Owner = e.Folders[0]
	}
	sub.Age, sub.Idle = j.since(e.OpenedAt), j.since(e.ShownAt)
	sub.Shown = &Shown{Ended: j.ended(e)}
	if e.Codev != nil {
		j.fillBuilder(sub.Shown, e)
	}
}

// ended looks for the process of a tab among all processes. A process table that is older than the tab says nothing of it.
func (j *Index) ended(e *snapshot.EditorTab) *bool {
	if e.PID == nil || *e.PID <= 0 || !j.procs.whole || e.OpenedAt == nil || !e.OpenedAt.Before(j.snap.TakenAt) {
		return nil
	}
	i, there := j.procs.byPID(*e.PID)
	switch {
	case !there:
		return new(true)
	case e.StartTicks == nil: // it may be another one that has the number now
		return nil
	}
	p := j.procs.nodes[i].p
	return new(p.StartTicks != *e.StartTicks || Dead(p))
}

func (j *Index) fillBuilder(s *Shown, e *snapshot.EditorTab) {
	if !j.sources.codevRead {
		return
	}
	recorded, worktree := false, false
	builders, worktrees := true, true // whether they are known of all
	for i := range j.snap.Workspaces {
		w := &j.snap.Workspaces[i]
		if !slices.ContainsFunc(e.Folders, func(f string) bool { return f == w.Path || strings.HasPrefix(f, strings.TrimSuffix(w.Path, "/")+"/") }) {
			continue
		}
		s.Workspaces = append(s.Workspaces, w.Path)
		is := func(b snapshot.Builder) bool { return b.Key == e.Codev.Key }
		nameless := func(b snapshot.Builder) bool { return b.Key == "" } // it may be this one
		recorded, builders = recorded || slices.ContainsFunc(w.Builders, is), builders && w.Builders != nil && !slices.ContainsFunc(w.Builders, nameless)
		worktree, worktrees = worktree || slices.ContainsFunc(w.Worktrees, is), worktrees && w.Worktrees != nil && !slices.ContainsFunc(w.Worktrees, nameless)
	}
	if len(s.Workspaces) == 0 {
		return
	}
	slices.Sort(s.Workspaces)
	s.Workspaces = slices.Compact(s.Workspaces)
	if recorded || builders {
		s.Recorded = &recorded
	}
	if worktree || worktrees {
		s.Worktree = &worktree
	}
	s.Sessions = j.sessionsOf(e.Codev, s.Workspaces)
}

// sessionsOf are the terminals at a Tower that may be what a tab shows. One that no Tower lists counts while its process may live, and so does one
// of which only the folder says whose it is. Nil is unknown: of one that lives there it is not known whose it is.
func (j *Index) sessionsOf(of *snapshot.CodevTab, workspaces []string) []string {
	if j.snap.Terminals == nil {
		return nil
	}
	out := []string{}
	for _, id := range j.ids[snapshot.KindTerminal] {
		t := j.snap.Terminals[id]
		ended := t.Status == "exited" || t.Listed != nil && !*t.Listed && t.PID == nil
		if ended || t.Workspace != "" && !slices.Contains(workspaces, filepath.Clean(t.Workspace)) {
			continue
		}
		switch shows(&t, of) {
		case yes:
			out = append(out, id)
		case unknown:
			return nil
		}
	}
	return out
}

// shows says whether a terminal is one of a tab's builder. A shellper that neither Tower nor store knows has no owner where the folder that it was
// started in is known and is no builder's.
func shows(t *snapshot.Terminal, of *snapshot.CodevTab) tri {
	const shellper = "shellper"
	switch {
	case t.RoleKind == "":
		return unknown
	case t.RoleKind != of.Kind && t.RoleKind != shellper, t.RoleKind == shellper && t.Owner == nil && t.Cwd != "":
		return no
	case t.Owner == nil || t.Owner.Key == "":
		return unknown
	case t.Owner.Key == of.Key:
		return yes
	}
	return no
}

// editorIdentity needs to know what the tab was opened with. Its name is a part of it: who renames a tab has use for it, so that the wait begins again.
func (j *Index) editorIdentity(t *snapshot.Tab) decision.Identity {
	e, server := t.Editor, j.snap.Sources[t.Source].Server
	n, ok := number(t.ID)
	if !ok || server == nil || server.Socket == "" || server.PID <= 0 || server.StartTicks == nil || e.Window == "" || e.Shape == "" || e.CreationName == nil ||
		(e.PID == nil) != (e.Shape == "pty") {
		return decision.Identity{}
	}
	out := decision.Editor{
		Socket: server.Socket, Window: e.Window, ServerPID: server.PID, ServerTicks: *server.StartTicks, N: n, Name: e.Name, CreationName: *e.CreationName,
		Shape: e.Shape, PID: known(e.PID), StartTicks: known(e.StartTicks), State: t.State,
	}
	for _, p := range e.Session {
		i, there := j.procs.byPID(p.PID)
		if there && !Dead(j.procs.nodes[i].p) {
			out.Left = append(out.Left, decision.Member{PID: p.PID, StartTicks: j.procs.nodes[i].p.StartTicks, Name: p.Name})
		}
	}
	k := keyOf(snapshot.KindTab + " " + snapshot.Editor)
	k.text(out.Socket, out.Window, out.Name, out.CreationName, out.Shape)
	k.number(uint64(out.ServerPID), out.ServerTicks, uint64(out.N), uint64(out.PID), out.StartTicks)
	return decision.Identity{Key: k.String(), Editor: &out}
}

// editorPlaces are the folders of the window: where in them the tab worked is not known.
func editorPlaces(e *snapshot.EditorTab) []string {
	if len(e.Folders) == 0 {
		return []string{""}
	}
	return e.Folders
}
