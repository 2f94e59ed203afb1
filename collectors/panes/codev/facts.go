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

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/sys/tower"
)

// join puts together what was read of one state folder.
type join struct {
	*reader
	*world
	rows   map[string]*tower.Session
	listed map[string]*tower.Entry
	memory map[string]snapshot.Owner
	boot   string      // this boot, "" where it is not known: pids that are remembered of another one mean nothing
	codev  tower.Codev // tells this folder's shellpers from others'
	spaces []string    // the workspaces that the store names
	trees  *trees
}

func newJoin(r *reader, w *world) *join {
	boot, _ := proc.BootID(r.ProcRoot)
	j := &join{reader: r, world: w, rows: map[string]*tower.Session{}, listed: map[string]*tower.Entry{}, memory: map[string]snapshot.Owner{},
		boot: boot, codev: tower.NewCodev(r.home, w.Records, r.Env.Get, r.Home), spaces: w.workFolders(), trees: newTrees()}
	for i := range w.Sessions {
		j.rows[w.Sessions[i].ID] = &w.Sessions[i]
	}
	for i := range w.entries {
		j.listed[w.entries[i].ID] = &w.entries[i]
	}
	for _, o := range r.Known {
		if o.Source == r.name && !o.LastAt.Before(j.memory[o.Terminal].LastAt) {
			j.memory[o.Terminal] = o
		}
	}
	return j
}

// terminals are all that there are, by id, and then the shellpers that neither Tower nor store knows, by pid.
func (j *join) terminals(ctx context.Context) []*snapshot.Terminal {
	var out []*snapshot.Terminal
	ids := slices.Concat(slices.Collect(maps.Keys(j.rows)), slices.Collect(maps.Keys(j.listed)))
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if len(j.Only) == 0 || slices.Contains(j.Only, id) {
			out = append(out, j.terminal(id, j.rows[id], j.listed[id]))
		}
	}
	out = append(out, j.strays(ctx)...)
	j.users(out)
	for _, t := range out {
		if j.answered {
			t.State = tower.State(j.entries, t.ID, known(t.PID))
		}
	}
	return out
}

// users notes of the terminals that no Tower lists, and whose process is to be ended as such, where what lives below that process is not all
// that is at work in the terminal, or this is unknown.
func (j *join) users(all []*snapshot.Terminal) {
	var pids []int
	for _, t := range all {
		if t.Listed != nil && !*t.Listed && t.PID != nil {
			pids = append(pids, *t.PID)
		}
	}
	users, err := tower.Users(j.ProcRoot, pids...)
	for _, t := range all {
		switch found := users[known(t.PID)]; {
		case !slices.Contains(pids, known(t.PID)):
		case err != nil:
			note(t, err.Error())
		case len(found) > 0:
			note(t, fmt.Sprintf("pid %d uses the terminal that pid %d keeps open, and does not live below it", found[0], *t.PID))
		}
	}
}

// known is a number, or 0 where it is not known.
func known(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// terminal joins a row and what the Tower says; either may be nil.
func (j *join) terminal(id string, row *tower.Session, e *tower.Entry) *snapshot.Terminal {
	t := &snapshot.Terminal{Source: j.name, ID: id, Error: new("")}
	if j.answered {
		t.Listed = new(e != nil)
	}
	if row != nil || j.SessionsWhole {
		t.Recorded = new(row != nil)
	}
	if row != nil {
		t.Label, t.Workspace, t.Cwd = row.Label, row.Workspace, row.Cwd
	}
	if e != nil {
		j.listing(t, e)
	}
	j.role(t, row)
	j.process(t, row, e)
	if j.answered && e == nil && row != nil && t.PID != nil {
		note(t, fmt.Sprintf("the Tower does not list it, although the store does and its process (pid %d) lives. If this stays, restart the Tower", *t.PID))
	}
	var known *snapshot.Owner
	if o, ok := j.memory[id]; ok {
		known = &o
	}
	j.assignOwner(t, row, known)
	return t
}

// listing takes over what the Tower says of a terminal itself.
func (j *join) listing(t *snapshot.Terminal, e *tower.Entry) {
	t.Label, t.ExitCode = cmp.Or(e.Label, t.Label), e.ExitCode
	switch e.Status {
	case tower.Running, tower.Exited:
		t.Status = e.Status
	default:
		*t.Error = fmt.Sprintf("the Tower says that it is %.20q, which is neither running nor exited", e.Status)
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
func (j *join) role(t *snapshot.Terminal, row *tower.Session) {
	kind, labelled := tower.LabelKind(t.Label)
	at := slices.IndexFunc(j.Architects, func(a tower.Architect) bool { return a.Terminal == t.ID })
	claim := slices.IndexFunc(j.Builders, func(b tower.Builder) bool { return b.Terminal == t.ID })
	known, remembered := j.memory[t.ID]
	switch {
	case at >= 0:
		t.RoleKind, t.Role = tower.KindArchitect, j.Architects[at].Name
		t.Workspace = cmp.Or(t.Workspace, j.Architects[at].Workspace)
	case row != nil && row.Kind == tower.KindBuilder:
		t.RoleKind, t.Role = tower.KindBuilder, tower.Normal(row.Role)
	case row != nil:
		if row.Kind == tower.KindArchitect || row.Kind == tower.KindShell {
			t.RoleKind = row.Kind
		}
		t.Role = row.Role
	case kind != "":
		t.RoleKind, t.Role = kind, labelled
	case claim >= 0:
		t.RoleKind, t.Role = tower.KindBuilder, tower.Normal(j.Builders[claim].ID)
	case remembered:
		t.RoleKind, t.Role = cmp.Or(known.Kind, tower.KindBuilder), tower.Normal(known.Builder)
	}
	switch {
	case kind == "" || kind == t.RoleKind:
	case kind == tower.KindArchitect && t.RoleKind == tower.KindBuilder:
		t.RoleKind = tower.KindArchitect
	case t.RoleKind == tower.KindBuilder || t.RoleKind == tower.KindDev:
		note(t, fmt.Sprintf("its label is that of the kind %s, and what else is known says %s", kind, t.RoleKind))
		t.RoleKind = ""
	}
}

// process finds the shellper and makes sure of it: it is as old as the row says, and runs the shellper's program for this folder.
func (j *join) process(t *snapshot.Terminal, row *tower.Session, e *tower.Entry) {
	pid := e.Process()
	if row != nil && row.PID > 0 {
		if pid > 0 && pid != row.PID {
			note(t, fmt.Sprintf("its process is pid %d by the Tower and pid %d by the store", pid, row.PID))
			return
		}
		pid = row.PID
	}
	if pid == 0 {
		return
	}
	p, err := tower.Look(j.ProcRoot, pid)
	switch {
	case errors.Is(err, proc.ErrEnded):
		if t.Status != tower.Exited {
			note(t, fmt.Sprintf("its process (pid %d) has ended", pid))
		}
		return
	case err != nil:
		note(t, fmt.Sprintf("read pid %d: %v", pid, err))
		return
	case row != nil && row.Started != nil && !p.Since(*row.Started):
		if t.Status != tower.Exited || e.Process() == pid {
			note(t, fmt.Sprintf("pid %d is another process than the store's: it began at another time; closing the terminal could end it: restart the Tower, which forgets it", pid))
		}
		return
	}
	t.Scoped = j.codev.Owns(&p.Command)
	if row != nil && row.Socket != "" && p.Socket != "" && !tower.SamePath(row.Socket, p.Socket) {
		t.Scoped = new(false)
	}
	switch {
	case t.Scoped != nil && !*t.Scoped:
		note(t, fmt.Sprintf("pid %d is no shellper of this terminal", pid))
	case !proven(row, p) && (t.Scoped == nil || e.Process() != pid || j.contested(t.ID, p)):
		note(t, fmt.Sprintf("whether pid %d belongs to this terminal is unknown", pid))
	default:
		t.PID, t.StartTicks = &pid, &p.Ticks
		t.Cwd = cmp.Or(t.Cwd, p.Cwd)
	}
}

// proven reports whether the row ties the process to its terminal: by when it began, or by its socket. That neither contradicts is known
// by then.
func proven(row *tower.Session, p *tower.Process) bool {
	return row != nil && (row.Started != nil || row.Socket != "" && p.Socket != "")
}

// contested reports whether another terminal may have that process.
func (j *join) contested(id string, p *tower.Process) bool {
	return slices.ContainsFunc(j.entries, func(e tower.Entry) bool { return e.ID != id && e.Process() == p.PID }) ||
		slices.ContainsFunc(j.Sessions, func(s tower.Session) bool { return s.ID != id && s.Means(p) })
}

// note adds what could not be read.
func note(t *snapshot.Terminal, text string) {
	if *t.Error != "" {
		text = *t.Error + "; " + text
	}
	*t.Error = text
}

// strays are the shellpers of this folder's sockets that are in no row and in no entry of the Tower's list.
func (j *join) strays(ctx context.Context) []*snapshot.Terminal {
	found := slices.Clone(j.running)
	for _, pid := range j.husks {
		if !slices.ContainsFunc(found, func(p *tower.Process) bool { return p.PID == pid }) {
			if p, err := tower.Look(j.ProcRoot, pid); err == nil && p.Shellper {
				found = append(found, p)
			}
		}
	}
	found = slices.DeleteFunc(found, func(p *tower.Process) bool {
		scoped := j.codev.Owns(&p.Command)
		return scoped == nil || !*scoped || j.contested("", p) || len(j.Only) > 0 && !slices.Contains(j.Only, strayID(p.PID))
	})
	if len(found) == 0 {
		return nil
	}
	shared, theirs, known := j.sharers(ctx)
	var out []*snapshot.Terminal
	for _, p := range found {
		now, err := tower.Look(j.ProcRoot, p.PID)
		if err != nil || now.Ticks != p.Ticks || theirs[p.Socket] {
			continue
		}
		// In the folder of sockets of what is exclusive no shellper can be of another state folder of this user's.
		dir := tower.Resolved(filepath.Dir(p.Socket))
		exclusive := len(j.others) == 0 || p.Farm != "" || known && !shared[dir] && j.SocketFolders()[dir]
		out = append(out, j.stray(p, exclusive))
	}
	slices.SortFunc(out, func(a, b *snapshot.Terminal) int { return cmp.Compare(*a.PID, *b.PID) })
	return out
}

func strayID(pid int) string { return "pid-" + strconv.Itoa(pid) }

// rememberedOwner is what earlier looks remember of the terminal that had this very process, while nothing knows that terminal any more.
func (j *join) rememberedOwner(p *tower.Process) *snapshot.Owner {
	for id, o := range j.memory {
		if o.PID == p.PID && o.StartTicks == p.Ticks && o.BootID == j.boot && j.boot != "" && j.rows[id] == nil && j.listed[id] == nil {
			return &o
		}
	}
	return nil
}

// stray is a shellper that has no terminal's id. Until the Tower and the store were both read whole, it may be one that they know.
func (j *join) stray(p *tower.Process, exclusive bool) *snapshot.Terminal {
	t := &snapshot.Terminal{Source: j.name, ID: strayID(p.PID), PID: &p.PID, StartTicks: &p.Ticks, Cwd: p.Cwd, Error: new("")}
	if exclusive {
		t.Scoped = new(true)
	} else {
		note(t, "which of this user's state folders it belongs to is unknown")
	}
	if j.answered {
		t.Listed = new(false)
	}
	if j.SessionsWhole {
		t.Recorded = new(false)
	}
	attaching := func(e tower.Entry) bool { return e.Process() == 0 } // the Tower has no pid of it yet
	settled := j.answered && j.SessionsWhole && !slices.ContainsFunc(j.entries, attaching)
	switch known := j.rememberedOwner(p); {
	case p.Architect != "":
		t.RoleKind, t.Role = tower.KindArchitect, p.Architect
	case !settled || !exclusive:
	case known != nil:
		t.RoleKind, t.Role = cmp.Or(known.Kind, tower.KindBuilder), tower.Normal(known.Builder)
		j.assignOwner(t, nil, known)
	default:
		t.RoleKind = tower.KindShellper
		j.startedIn(t)
	}
	return t
}

// workFolders are the folders that Codev works in, and in which leftover worktrees may lie.
func (w *world) workFolders() []string {
	out := slices.Clone(w.Workspaces)
	for _, s := range w.Sessions {
		out = append(out, s.Workspace)
	}
	for _, b := range w.Builders {
		out = append(out, b.Workspace)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
