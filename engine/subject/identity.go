package subject

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// Identity is what makes the candidate the same thing at a later look. Its Key is empty, and nothing else is set, where any
// part of it is unknown or the snapshot has no such candidate.
func (j *Index) Identity(id string) decision.Identity {
	kind, ok := j.kindOf(id)
	if !ok {
		return decision.Identity{}
	}
	return kinds[kind].identity(j, id)
}

func (j *Index) processIdentity(id string) decision.Identity {
	p := j.snap.Processes[id]
	if p == nil || p.Partial { // what was not read may be in the key at the next look
		return decision.Identity{}
	}
	out := identify(&j.snap.Host, p)
	for _, n := range j.procs.underID(id) {
		out.Below = append(out.Below, decision.Member{PID: n.p.PID, StartTicks: n.p.StartTicks, Name: n.p.Name})
	}
	return out
}

func identify(h *snapshot.Host, p *snapshot.Process) decision.Identity {
	if h.BootID == "" || h.PIDNamespace == nil || p.PID <= 0 || p.UID == nil {
		return decision.Identity{}
	}
	out := decision.Process{
		BootID: h.BootID, PIDNamespace: *h.PIDNamespace, PID: p.PID, StartTicks: p.StartTicks, UID: *p.UID,
		Name: p.Name, ArgvDigest: p.ArgvDigest,
		Inode: known(p.Inode), Exe: known(p.Exe), Cwd: known(p.Cwd), RSS: known(p.RSS),
	}
	k := keyOf(snapshot.KindProcess)
	k.text(out.BootID)
	k.number(out.PIDNamespace, uint64(out.PID), out.StartTicks, out.Inode, uint64(out.UID))
	k.text(out.Name, out.Exe, out.ArgvDigest)
	return decision.Identity{Key: k.String(), Process: &out}
}

// sessionIdentity needs to know whether a client is attached too: the act re-tests that in the server.
func (j *Index) sessionIdentity(id string) decision.Identity {
	s := j.snap.Sessions[id]
	if s.Server == nil || s.Server.Socket == "" || s.Server.PID <= 0 || s.Server.StartTicks == nil ||
		s.ID == "" || s.CreatedAt == nil || s.Attached == nil || len(s.Panes) == 0 {
		return decision.Identity{}
	}
	out := decision.Session{
		Socket: s.Server.Socket, ServerPID: s.Server.PID, ServerTicks: *s.Server.StartTicks, ID: s.ID, Name: s.Name,
		CreatedAt: *s.CreatedAt, Attached: *s.Attached, State: s.State,
	}
	for i := range s.Panes {
		pane, ok := paneIdentity(&s.Panes[i])
		if !ok {
			return decision.Identity{}
		}
		out.Panes = append(out.Panes, pane)
	}
	// What may change under the same session is left out: its name, who looks at it, which processes it runs.
	k := keyOf(snapshot.KindSession)
	k.text(out.Socket)
	k.number(uint64(out.ServerPID), out.ServerTicks)
	k.text(out.ID)
	k.time(out.CreatedAt)
	byID := func(a, b decision.Pane) int { return strings.Compare(a.ID, b.ID) }
	for _, p := range slices.SortedFunc(slices.Values(out.Panes), byID) {
		k.text(p.ID)
		k.number(uint64(p.PID), p.StartTicks)
	}
	return decision.Identity{Key: k.String(), Session: &out}
}

// paneIdentity names a dead pane by its id alone: another process may have its pid now.
func paneIdentity(p *snapshot.Pane) (decision.Pane, bool) {
	if p.Dead != nil && *p.Dead {
		return decision.Pane{ID: p.ID, Cwd: p.Cwd}, p.ID != ""
	}
	if p.ID == "" || p.ShellPID == nil || *p.ShellPID <= 0 || p.ShellStartTicks == nil {
		return decision.Pane{}, false
	}
	return decision.Pane{
		ID: p.ID, PID: *p.ShellPID, StartTicks: *p.ShellStartTicks, Cwd: p.Cwd, Members: p.SessionPIDs,
	}, true
}

func (j *Index) dirIdentity(id string) decision.Identity {
	d := j.snap.Dirs[id]
	if d.Device == nil || d.Inode == nil || d.BornAt == nil || clean(d.Path) == "" || d.Symlink == nil || *d.Symlink {
		return decision.Identity{}
	}
	out := decision.Dir{
		Path: d.Path, Root: d.Root, Device: *d.Device, Inode: *d.Inode, BornAt: *d.BornAt, MountID: known(d.MountID), State: d.State,
	}
	if d.Git != nil {
		out.Lost = known(d.Git.Lost)
		if (d.Git.Head == "") != out.Lost || d.Git.Worktree == nil {
			return decision.Identity{}
		}
		out.Head, out.Worktree = d.Git.Head, *d.Git.Worktree
		out.Main, out.CommonDir, out.AdminDir = d.Git.Main, d.Git.CommonDir, d.Git.AdminDir
	} else if d.Checkout == nil || *d.Checkout { // there is a HEAD, or may be, and it could not be read
		return decision.Identity{}
	}
	k := keyOf(snapshot.KindDir)
	k.number(out.Device, out.Inode)
	k.time(out.BornAt)
	k.text(out.Path, out.Head)
	if known(d.Gone) {
		if !out.Worktree || out.AdminDir == "" || out.CommonDir == "" {
			return decision.Identity{}
		}
		out.Gone = true
		k.text("gone", out.AdminDir)
	}
	if out.Lost {
		k.text("lost", out.AdminDir)
	}
	if d.Content != nil {
		out.In = d.Content.Worktree
		k.text(out.In)
	}
	return decision.Identity{Key: k.String(), Dir: &out}
}

// tabIdentity leaves out the processes: a terminal's id is given once only, and what runs in it may change under the same tab.
func (j *Index) tabIdentity(id string) decision.Identity {
	t := j.snap.Tabs[id]
	if t.Editor != nil {
		return j.editorIdentity(&t)
	}
	server := j.snap.Sources[t.Source].Server
	if server == nil || server.Socket == "" || t.ID == "" || len(t.Panes) == 0 {
		return decision.Identity{}
	}
	out := decision.Tab{Socket: server.Socket, ServerPID: server.PID, Protocol: -1, ID: t.ID, Workspace: t.Workspace, Label: t.Label, State: t.State}
	if server.Protocol != nil {
		out.Protocol = *server.Protocol
	}
	for _, p := range t.Panes {
		if p.Terminal == "" {
			return decision.Identity{}
		}
		pane := decision.Pane{ID: p.ID, Terminal: p.Terminal, Cwd: p.Cwd}
		if p.ShellPID != nil && p.ShellStartTicks != nil {
			pane.PID, pane.StartTicks, pane.Members = *p.ShellPID, *p.ShellStartTicks, p.SessionPIDs
		}
		out.Panes = append(out.Panes, pane)
	}
	slices.SortFunc(out.Panes, func(a, b decision.Pane) int { return strings.Compare(a.Terminal, b.Terminal) })
	k := keyOf(snapshot.KindTab)
	k.text(out.Socket, out.ID, out.Label)
	for _, p := range out.Panes {
		k.text(p.Terminal)
	}
	return decision.Identity{Key: k.String(), Tab: &out}
}

// terminalIdentity needs the shellper's process, but for a terminal that is exited and whose shellper is positively gone.
func (j *Index) terminalIdentity(id string) decision.Identity {
	t := j.snap.Terminals[id]
	src := j.snap.Sources[t.Source]
	if t.ID == "" || src.Server == nil || src.Server.Socket == "" || src.Path == "" || t.Listed == nil {
		return decision.Identity{}
	}
	out := decision.Terminal{
		Source: t.Source, Folder: src.Path, Tower: src.Server.Socket, ID: t.ID, Role: t.Role, RoleKind: t.RoleKind, Status: t.Status, Listed: *t.Listed,
		State: t.State,
	}
	k := keyOf(snapshot.KindTerminal)
	k.text(out.Folder, out.ID)
	switch {
	case t.PID != nil && *t.PID > 0 && t.StartTicks != nil:
		p := j.snap.Processes[snapshot.ProcessID(*t.PID, *t.StartTicks)]
		if p == nil {
			return decision.Identity{}
		}
		id := identify(&j.snap.Host, p)
		if id.Process == nil {
			return decision.Identity{}
		}
		out.Process = id.Process
		k.number(uint64(*t.PID), *t.StartTicks)
	case t.PID == nil && t.Status == "exited":
		k.text("exited")
	default:
		return decision.Identity{}
	}
	return decision.Identity{Key: k.String(), Terminal: &out}
}

// key joins the parts of an identity; texts are quoted, so that no two lists of parts give the same key.
type key []byte

// keyOf begins one with the candidate's kind. It has room for most keys, since there is one for each candidate.
func keyOf(kind string) key { return append(make(key, 0, 256), kind...) }

func (k *key) text(parts ...string) {
	for _, p := range parts {
		*k = strconv.AppendQuote(append(*k, ' '), p)
	}
}

func (k *key) number(parts ...uint64) {
	for _, p := range parts {
		*k = strconv.AppendUint(append(*k, ' '), p, 10)
	}
}

func (k *key) time(t time.Time) { *k = t.UTC().AppendFormat(append(*k, ' '), time.RFC3339Nano) }

func (k key) String() string { return string(k) }

// number reads a decimal number above 0, as a source gives it once only.
func number(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n > 0 && strconv.Itoa(n) == text
}

// known is the value, or the zero value where it is not known.
func known[T any](v *T) T {
	if v == nil {
		var zero T
		return zero
	}
	return *v
}
