package codev

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"winnow/engine/snapshot"
)

// join puts together what was read of one state folder.
type join struct {
	*reader
	*world
	rows    map[string]*session
	listed  map[string]*entry
	memory  map[string]snapshot.Owner
	boot    string          // this boot, "" where it is not known: pids that are remembered of another one mean nothing
	folders map[string]bool // where this folder's shellpers have their sockets
	spaces  []string        // the workspaces that the store names
	trees   *trees
}

func newJoin(r *reader, w *world) *join {
	j := &join{reader: r, world: w, rows: map[string]*session{}, listed: map[string]*entry{}, memory: map[string]snapshot.Owner{},
		boot: bootID(r.ProcRoot), folders: w.socketFolders(), spaces: w.named(), trees: newTrees()}
	for i := range w.sessions {
		j.rows[w.sessions[i].id] = &w.sessions[i]
	}
	for i := range w.entries {
		j.listed[w.entries[i].ID] = &w.entries[i]
	}
	for _, o := range r.Known {
		if o.Source == r.name && !o.LastAt.Before(j.memory[o.Terminal].LastAt) {
			j.memory[o.Terminal] = o
		}
	}
	if dir := r.usualSockets(); dir != "" {
		j.folders[resolved(dir)] = true
	}
	return j
}

// usualSockets is where a Tower that has this environment keeps the sockets of its shellpers.
func (r *reader) usualSockets() string {
	switch {
	case filepath.IsAbs(r.env("SHELLPER_SOCKET_DIR")):
		return r.env("SHELLPER_SOCKET_DIR")
	case r.Home != "":
		return filepath.Join(r.Home, ".codev", "run")
	}
	return ""
}

// terminals are all that there are, by id, and then the shellpers that nobody knows, by pid.
func (j *join) terminals(ctx context.Context) []*snapshot.Terminal {
	var out []*snapshot.Terminal
	ids := slices.Concat(slices.Collect(maps.Keys(j.rows)), slices.Collect(maps.Keys(j.listed)))
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if j.Only == "" || j.Only == id {
			out = append(out, j.terminal(id, j.rows[id], j.listed[id]))
		}
	}
	return append(out, j.strays(ctx)...)
}

// terminal joins a row and what the Tower says; either may be nil.
func (j *join) terminal(id string, row *session, e *entry) *snapshot.Terminal {
	t := &snapshot.Terminal{Source: j.name, ID: id}
	if j.answered {
		t.Listed = new(e != nil)
	}
	if row != nil || j.sessionsWhole {
		t.Recorded = new(row != nil)
	}
	if row != nil {
		t.Label, t.Workspace, t.Cwd = row.label, row.workspace, row.cwd
	}
	if e != nil {
		j.said(t, e)
	}
	j.role(t, row)
	j.process(t, row, e)
	var known *snapshot.Owner
	if o, ok := j.memory[id]; ok {
		known = &o
	}
	j.own(t, row, known)
	return t
}

// said takes over what the Tower says of a terminal itself.
func (j *join) said(t *snapshot.Terminal, e *entry) {
	t.Label, t.ExitCode = cmp.Or(e.Label, t.Label), e.ExitCode
	switch e.Status {
	case "running", "exited":
		t.Status = e.Status
	default:
		t.Error = fmt.Sprintf("the Tower says that it is %.20q, which is neither running nor exited", e.Status)
	}
	if at, err := time.Parse(time.RFC3339Nano, e.CreatedAt); err == nil && at.Unix() >= 1e9 && at.Unix() < 1e10 {
		t.CreatedAt = new(at.UTC())
	}
	if ms := e.LastDataAt; ms != nil && *ms >= 1e12 && *ms < 1e13 {
		t.LastDataAt = new(time.UnixMicro(int64(*ms * 1e3)).UTC())
	}
}

// role says who works in it. That anything calls it an architect's outweighs all else, for those are never closed; then the row counts,
// then a label that only Codev gives, then a builder's row that names it, then memory.
func (j *join) role(t *snapshot.Terminal, row *session) {
	kind, labelled := labelKind(t.Label)
	at := slices.IndexFunc(j.architects, func(a architect) bool { return a.terminal == t.ID })
	claim := slices.IndexFunc(j.builders, func(b builder) bool { return b.terminal == t.ID })
	known, remembered := j.memory[t.ID]
	switch {
	case at >= 0:
		t.RoleKind, t.Role = architectKind, j.architects[at].name
		t.Workspace = cmp.Or(t.Workspace, j.architects[at].workspace)
	case row != nil && row.kind == builderKind:
		t.RoleKind, t.Role = builderKind, Normal(row.role)
	case row != nil:
		if row.kind == architectKind || row.kind == shellKind {
			t.RoleKind = row.kind
		}
		t.Role = row.role
	case kind != "":
		t.RoleKind, t.Role = kind, labelled
	case claim >= 0:
		t.RoleKind, t.Role = builderKind, Normal(j.builders[claim].id)
	case remembered:
		t.RoleKind, t.Role = cmp.Or(known.Kind, builderKind), Normal(known.Builder)
	}
	if kind == architectKind && t.RoleKind == builderKind {
		t.RoleKind = architectKind
	}
}

// process finds the shellper and makes sure of it: it is as old as the row says, and runs the shellper's program for this folder.
func (j *join) process(t *snapshot.Terminal, row *session, e *entry) {
	pid := e.pid()
	if row != nil && row.pid > 0 {
		if pid > 0 && pid != row.pid {
			note(t, fmt.Sprintf("its process is pid %d by the Tower and pid %d by the store", pid, row.pid))
			return
		}
		pid = row.pid
	}
	if pid == 0 {
		return
	}
	p, err := look(j.ProcRoot, pid)
	switch {
	case errors.Is(err, errEnded):
		if t.Status != "exited" {
			note(t, fmt.Sprintf("its process (pid %d) has ended", pid))
		}
		return
	case err != nil:
		note(t, fmt.Sprintf("read pid %d: %v", pid, err))
		return
	case row != nil && row.started != nil && !p.since(*row.started):
		if t.Status != "exited" {
			note(t, fmt.Sprintf("pid %d is another process than the store's: it began at another time", pid))
		}
		return
	}
	t.Scoped = j.scoped(p)
	if row != nil && row.socket != "" && p.socket != "" && !samePath(row.socket, p.socket) {
		t.Scoped = new(false)
	}
	switch {
	case t.Scoped != nil && !*t.Scoped:
		note(t, fmt.Sprintf("pid %d is no shellper of this terminal", pid))
	case !proven(row, p) && (t.Scoped == nil || e.pid() != pid || j.contested(t.ID, p)):
		note(t, fmt.Sprintf("whether pid %d is this terminal's cannot be told", pid))
	default:
		t.PID, t.StartTicks = &pid, &p.ticks
		t.Cwd = cmp.Or(t.Cwd, p.cwd)
	}
}

// proven reports whether the row ties the process to its terminal: by when it began, or by its socket. That neither contradicts is known
// by then.
func proven(row *session, p *process) bool {
	return row != nil && (row.started != nil || row.socket != "" && p.socket != "")
}

// contested reports whether another terminal may have that process.
func (j *join) contested(id string, p *process) bool {
	return slices.ContainsFunc(j.entries, func(e entry) bool { return e.ID != id && e.pid() == p.pid }) ||
		slices.ContainsFunc(j.sessions, func(s session) bool { return s.id != id && s.means(p) })
}

// means reports whether the row may mean this process. One that does not say when its process began is trusted.
func (s *session) means(p *process) bool {
	return s.pid == p.pid && (s.started == nil || p.since(*s.started)) || s.socket != "" && samePath(s.socket, p.socket)
}

// note adds what could not be read.
func note(t *snapshot.Terminal, text string) {
	if t.Error != "" {
		text = t.Error + "; " + text
	}
	t.Error = text
}

// scoped reports whether a process is a shellper of this state folder, nil where its command line does not tell.
func (j *join) scoped(p *process) *bool {
	switch {
	case !p.known:
		return nil
	case !p.shellper, p.farm != "" && !samePath(p.farm, j.home):
		return new(false)
	case p.socket == "":
		return nil
	}
	return new(j.folders[resolved(filepath.Dir(p.socket))])
}

func samePath(a, b string) bool {
	return filepath.Clean(a) == filepath.Clean(b) || resolved(a) == resolved(b)
}

// strays are the shellpers of this folder's sockets that are in no row and in no entry of the Tower's list.
func (j *join) strays(ctx context.Context) []*snapshot.Terminal {
	found := slices.Clone(j.running)
	for _, pid := range j.husks {
		if !slices.ContainsFunc(found, func(p *process) bool { return p.pid == pid }) {
			if p, err := look(j.ProcRoot, pid); err == nil && p.shellper {
				found = append(found, p)
			}
		}
	}
	found = slices.DeleteFunc(found, func(p *process) bool {
		scoped := j.scoped(p)
		return scoped == nil || !*scoped || j.claimed(p) || j.Only != "" && j.Only != strayID(p.pid)
	})
	if len(found) == 0 {
		return nil
	}
	shared, theirs, known := j.sharers(ctx)
	var out []*snapshot.Terminal
	for _, p := range found {
		now, err := look(j.ProcRoot, p.pid)
		if err != nil || now.ticks != p.ticks || theirs[p.socket] {
			continue
		}
		out = append(out, j.stray(p, j.exclusive(p, shared, known)))
	}
	slices.SortFunc(out, func(a, b *snapshot.Terminal) int { return cmp.Compare(*a.PID, *b.PID) })
	return out
}

func strayID(pid int) string { return "pid-" + strconv.Itoa(pid) }

// claimed reports whether a row or the Tower's list may mean this process.
func (j *join) claimed(p *process) bool { return j.contested("", p) }

// settled reports whether everything is known that could know a shellper: a terminal that the Tower is only just attaching to has no pid.
func (j *join) settled() bool {
	return j.answered && j.sessionsWhole && !slices.ContainsFunc(j.entries, func(e entry) bool { return e.pid() == 0 })
}

// before is what earlier looks remember of the terminal that had this very process, while nothing knows that terminal any more.
func (j *join) before(p *process) *snapshot.Owner {
	for id, o := range j.memory {
		if o.PID == p.pid && o.StartTicks == p.ticks && o.BootID == j.boot && j.boot != "" && j.rows[id] == nil && j.listed[id] == nil {
			return &o
		}
	}
	return nil
}

// exclusive reports whether a shellper in the folder of this one's sockets can be of no other state folder of this user's.
func (j *join) exclusive(p *process, shared map[string]bool, known bool) bool {
	dir := resolved(filepath.Dir(p.socket))
	return len(j.others) == 0 || p.farm != "" || known && !shared[dir] && j.socketFolders()[dir]
}

// stray is a shellper that has no terminal's id. Until the Tower and the store were both read whole, it may be one that they know.
func (j *join) stray(p *process, exclusive bool) *snapshot.Terminal {
	t := &snapshot.Terminal{Source: j.name, ID: strayID(p.pid), PID: &p.pid, StartTicks: &p.ticks, Cwd: p.cwd}
	if exclusive {
		t.Scoped = new(true)
	} else {
		note(t, "which of this user's state folders it belongs to cannot be told")
	}
	if j.answered {
		t.Listed = new(false)
	}
	if j.sessionsWhole {
		t.Recorded = new(false)
	}
	switch known := j.before(p); {
	case p.architect != "":
		t.RoleKind, t.Role = architectKind, p.architect
	case !j.settled() || !exclusive:
	case known != nil:
		t.RoleKind, t.Role = cmp.Or(known.Kind, builderKind), Normal(known.Builder)
		j.own(t, nil, known)
	default:
		t.RoleKind = shellperKind
		j.startedIn(t)
	}
	return t
}

// named are the folders that Codev works in, and in which leftover worktrees may lie.
func (r *records) named() []string {
	out := slices.Clone(r.workspaces)
	for _, s := range r.sessions {
		out = append(out, s.workspace)
	}
	for _, b := range r.builders {
		out = append(out, b.workspace)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
