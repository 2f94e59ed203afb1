package alive

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// folder asks who uses a folder: processes, panes and terminals that work in it, its lock, records that name it or what lies in it, and holds.
func (a *answer) folder() {
	a.out.ID = a.q.Path
	id := snapshot.KindDir + ":" + a.q.Path
	d, there := a.s.Dirs[id]
	if !there || d.HoldersKnown == nil {
		a.gap(snapshot.Proc, "who uses the folder was not asked")
	} else if !*d.HoldersKnown {
		a.gap(snapshot.Proc, "a process of this user, or what is mounted here, could not be read, so it may be used all the same")
	}
	for i, h := range d.Holders {
		fact := Pointer("dirs", id, "holders", strconv.Itoa(i))
		if h.PID == 0 {
			a.prove(Proof{What: ByProcess, How: h.How, Detail: "the kernel itself uses it: " + h.Name, Source: snapshot.Proc, ReadAt: a.q.HoldersAt, Fact: fact})
			continue
		}
		if a.own[h.PID] {
			continue
		}
		p, pid, ok := a.alive(h.PID, nil)
		proof := Proof{What: ByProcess, How: h.How, Detail: fmt.Sprintf("%s (%d) uses it (%s)", h.Name, h.PID, h.How), Source: snapshot.Proc, ReadAt: a.q.HoldersAt,
			PID: h.PID, Name: h.Name, Fact: fact}
		if ok {
			proof.StartTicks = &p.StartTicks
		}
		a.prove(proof)
		if ok {
			a.about(p, pid)
		}
	}
	in := func(panes []snapshot.Pane, source, list, of string) {
		for i := range panes {
			if isBelow(panes[i].Cwd, a.q.Path) {
				a.pane(&panes[i], source, Pointer(list, of, "panes", strconv.Itoa(i)), of)
			}
		}
	}
	for _, sid := range sorted(a.s.Sessions) {
		in(a.s.Sessions[sid].Panes, a.s.Sessions[sid].Source, "sessions", sid)
	}
	for _, tid := range sorted(a.s.Tabs) {
		in(a.s.Tabs[tid].Panes, a.s.Tabs[tid].Source, "tabs", tid)
	}
	for _, tid := range sorted(a.s.Terminals) {
		t := a.s.Terminals[tid]
		if isBelow(t.Cwd, a.q.Path) || t.Owner != nil && isBelow(t.Owner.Worktree, a.q.Path) {
			a.ofTerminal(tid, &t)
		}
	}
	a.lock(id, &d)
	if sub, ok := a.joined.Subject(id); ok {
		a.records(sub)
		a.openIn(sub)
	}
	a.holds(func(held string) bool {
		kind, _ := snapshot.KindOf(held)
		return kind.Name == snapshot.KindDir && isBelow(held[len(snapshot.KindDir)+1:], a.q.Path)
	})
	if d.ActiveAt != nil {
		a.say(d.Source, Pointer("dirs", id, "active_at"), d.ActiveAt, "the last sign of work in it was at %s", d.ActiveAt.UTC().Format(stamp))
	}
}

// openIn proves by the open sessions that work in a folder, wherever their processes stand. One whose folder is not known may.
func (a *answer) openIn(sub *subject.Subject) {
	for _, open := range sub.Open {
		if a.own[open.PID] {
			continue
		}
		p, _, lives := a.alive(open.PID, nil)
		i := slices.IndexFunc(a.s.OpenSessions, func(o snapshot.OpenSession) bool {
			return o.Agent == open.Agent && o.ID == open.ID && o.PID == open.PID
		})
		switch {
		case open.Folder != "" && open.AnyProcess:
			a.gap("agents/"+open.Agent, "%s worked in it after its process %s (%d) began. Whether that session is still open is not known",
				open.Agent, cmp.Or(open.Name, "without a known name"), open.PID)
		case open.Folder != "" && lives && i >= 0:
			a.proveOpen(i, p)
		case open.Folder != "":
			a.gap("agents", "%s records that a session works in it, and whether its process lives is not known", open.Agent)
		default:
			a.gap("agents", "%s has a session open, and in which worktree it works is not known", open.Agent)
		}
	}
}

const stamp = "2006-01-02T15:04:05Z"

// lock asks whether the process lives that a lock of the worktree names.
func (a *answer) lock(id string, d *snapshot.Dir) {
	if d.Git == nil {
		return
	}
	fact := Pointer("dirs", id, "git", "lock")
	switch l := d.Git.Lock; {
	case l == nil:
	case l.Tool == "":
		a.say(d.Source, fact, l.WrittenAt, "git has it locked, and the lock names no process")
	case l.Alive == nil:
		a.gap(d.Source, "a lock of %s names process %d, which may be one of another pid namespace or another boot", l.Tool, l.PID)
	case *l.Alive && !a.own[l.PID]:
		a.prove(Proof{What: ByLock, Detail: fmt.Sprintf("%s has it locked, and its process %d lives", l.Tool, l.PID), Source: d.Source, PID: l.PID, StartTicks: l.StartTicks,
			At: l.WrittenAt, Fact: fact})
	case !*l.Alive:
		a.say(d.Source, fact, l.WrittenAt, "%s has it locked, and its process %d is gone", l.Tool, l.PID)
	}
}

// process asks for one process by its number, and where it is given by when it began.
func (a *answer) process() {
	a.out.ID = snapshot.KindProcess + ":" + strconv.Itoa(a.q.PID)
	id := ""
	for key, p := range a.s.Processes {
		if p.PID == a.q.PID {
			id = key
		}
	}
	switch p := a.s.Processes[id]; {
	case a.own[a.q.PID]:
		a.say(snapshot.Proc, "", nil, "process %d is Winnow itself, or one that it started, which counts for nothing", a.q.PID)
	case id == "":
		a.say(snapshot.Proc, "", nil, "there is no process %d", a.q.PID)
	case a.q.Ticks != nil && *a.q.Ticks != p.StartTicks:
		a.say(snapshot.Proc, Pointer("processes", id, "start_ticks"), p.StartedAt, "process %d is another process now: it began at tick %d, not at %d", a.q.PID, p.StartTicks, *a.q.Ticks)
		a.out.ID = snapshot.ProcessID(a.q.PID, *a.q.Ticks)
	case a.live[a.q.PID] == "":
		a.out.ID = id
		a.say(snapshot.Proc, Pointer("processes", id, "state"), nil, "process %d has ended, and its parent has not waited for it yet (a zombie)", a.q.PID)
	default:
		a.out.ID = id
		a.proveProcess(a.q.PID, "runs", "runs")
	}
	a.holds(func(held string) bool { return held == a.out.ID })
}

// session asks for a session of tmux.
func (a *answer) session() {
	t, ok := a.s.Sessions[a.q.ID]
	if !ok {
		if a.ownSource() == "" { // it was asked for by its name
			a.unasked()
		}
		a.say(a.ownSource(), "", nil, "no session %s is listed", a.q.ID)
		a.holds(func(held string) bool { return held == a.q.ID })
		return
	}
	at := Pointer("sessions", a.q.ID)
	if t.Error != nil && *t.Error != "" {
		a.gap(t.Source, "%s could not be read whole: %s", a.q.ID, *t.Error)
	}
	if t.Attached != nil && *t.Attached > 0 {
		clients := "1 client"
		if *t.Attached > 1 {
			clients = fmt.Sprintf("%d clients", *t.Attached)
		}
		a.prove(Proof{What: ByClient, Detail: fmt.Sprintf("attached to %s: %s", a.q.ID, clients), Source: t.Source, At: t.ClientActivityAt, Fact: at + "/attached"})
	}
	a.panes(t.Panes, t.Source, at, a.q.ID)
	if t.Popups == nil {
		a.gap(t.Source, "whether a popup or a job runs for it is not known")
	} else {
		for _, p := range *t.Popups {
			a.proveProcess(p.PID, "popup", "is a popup or a job of "+a.q.ID)
		}
	}
	a.addRecords(t.LastActivityAt, t.Source, at+"/last_activity_at")
}

// tab asks for a tab of herdr's, or of an editor's.
func (a *answer) tab() {
	t, ok := a.s.Tabs[a.q.ID]
	if !ok {
		a.say(a.ownSource(), "", nil, "no tab %s is listed", a.q.ID)
		a.holds(func(held string) bool { return held == a.q.ID })
		return
	}
	at := Pointer("tabs", a.q.ID)
	if e := t.Editor; e != nil {
		a.editor(e, t.Source)
	} else {
		if t.PaneCount != nil && *t.PaneCount != len(t.Panes) {
			a.gap(t.Source, "%d of its %d panes were listed", len(t.Panes), *t.PaneCount)
		}
		a.panes(t.Panes, t.Source, at, a.q.ID)
	}
	a.addRecords(nil, t.Source, at)
}

func (a *answer) editor(e *snapshot.EditorTab, source string) {
	if e.Error != nil && *e.Error != "" {
		a.gap(source, "%s could not be read whole: %s", a.q.ID, *e.Error)
	}
	switch {
	case e.PID == nil && e.ExitCode == nil:
		a.gap(source, "it has no process of its own: an extension draws it, and nothing tells what stands behind it")
	case e.PID == nil:
		a.say(source, "", nil, "what ran in it has ended")
	default:
		if _, _, ok := a.alive(*e.PID, e.StartTicks); ok {
			a.proveProcess(*e.PID, "tab", "runs in "+a.q.ID)
		} else {
			a.say(source, "", nil, "process %d, which the editor started in it, is gone", *e.PID)
		}
	}
	if e.Session == nil && e.PID != nil {
		a.gap(source, "which other processes were started in it is not known")
	}
	for _, p := range e.Session {
		a.proveProcess(p.PID, "tab", "was started in "+a.q.ID)
	}
}

// terminal asks for a terminal of Codev's.
func (a *answer) terminal() {
	t, ok := a.s.Terminals[a.q.ID]
	if !ok {
		a.say(a.ownSource(), "", nil, "no terminal %s is listed", a.q.ID)
		a.holds(func(held string) bool { return held == a.q.ID })
		return
	}
	a.ofTerminal(a.q.ID, &t)
	a.addRecords(t.LastDataAt, t.Source, Pointer("terminals", a.q.ID, "last_data_at"))
}

func (a *answer) ofTerminal(id string, t *snapshot.Terminal) {
	at := Pointer("terminals", id)
	if t.Error != nil && *t.Error != "" {
		a.gap(t.Source, "%s could not be read whole: %s", id, *t.Error)
	}
	p, ok := (*snapshot.Process)(nil), false
	if t.PID != nil {
		p, _, ok = a.alive(*t.PID, t.StartTicks)
	}
	switch {
	case ok:
		a.prove(Proof{What: ByTerminal, Detail: fmt.Sprintf("terminal %s is kept open by %s (%d)", id, p.Name, p.PID), Source: t.Source, PID: p.PID, StartTicks: &p.StartTicks, Name: p.Name,
			At: t.LastDataAt, Fact: at + "/pid"})
	case t.PID != nil:
		a.say(t.Source, at+"/pid", nil, "process %d, which kept %s open, is gone", *t.PID, id)
	case t.Status == "running":
		a.gap(t.Source, "the Tower says that %s runs, and its process is not known", id)
	}
	switch {
	case t.Below != nil:
		for _, b := range *t.Below {
			a.proveProcess(b.PID, "below", "runs in terminal "+id)
		}
	case ok || t.PID == nil && t.Status != "exited":
		a.gap(t.Source, "what runs in %s is not known", id)
	}
}

// panes proves by each pane that lives and by all that belongs to it.
func (a *answer) panes(panes []snapshot.Pane, source, at, id string) {
	if len(panes) == 0 {
		a.gap(source, "no pane of %s was listed", id)
	}
	for i := range panes {
		fact := at + Pointer("panes", strconv.Itoa(i))
		a.pane(&panes[i], source, fact, id)
		for _, group := range []struct {
			list        []snapshot.PaneProc
			how, detail string
		}{{panes[i].Session, "pane", "runs in a pane of "}, {panes[i].Descendants, "pane", "was started in a pane of "}, {panes[i].Carriers, "elsewhere", "was started from a pane of "}} {
			for _, p := range group.list {
				a.proveProcess(p.PID, group.how, group.detail+id)
			}
		}
	}
}

// pane proves by one pane: its first process lives, and what herdr says of the agent in it.
func (a *answer) pane(p *snapshot.Pane, source, fact, id string) {
	if p.Dead != nil && *p.Dead {
		a.say(source, fact+"/dead", nil, "pane %s of %s is kept although its process has ended", p.ID, id)
		return
	}
	if p.ShellPID == nil {
		a.gap(source, "which process runs in pane %s of %s is not known%s", p.ID, id, because(p.Error))
		return
	}
	shell, _, ok := a.alive(*p.ShellPID, p.ShellStartTicks)
	if !ok {
		if !a.own[*p.ShellPID] {
			a.gap(source, "pane %s of %s has process %d, which was not found as it was listed%s", p.ID, id, *p.ShellPID, because(p.Error))
		}
		return
	}
	a.prove(Proof{What: ByPane, Detail: fmt.Sprintf("pane %s of %s runs %s (%d)", p.ID, id, shell.Name, shell.PID), Source: source, PID: shell.PID, StartTicks: &shell.StartTicks, Name: shell.Name,
		Fact: fact + "/shell_pid"})
	if p.AgentStatus != "" && !slices.Contains(a.cfg.AgentIdle, p.AgentStatus) {
		a.prove(Proof{What: ByStatus, Detail: fmt.Sprintf("herdr says of the agent in pane %s of %s: %s", p.ID, id, p.AgentStatus), Source: source, PID: shell.PID, StartTicks: &shell.StartTicks, Name: shell.Name,
			Fact: fact + "/agent_status"})
	}
}

// addRecords adds what records and holds say of a candidate, and when it was last active.
func (a *answer) addRecords(active *time.Time, source, fact string) {
	if sub, ok := a.joined.Subject(a.q.ID); ok {
		a.records(sub)
	}
	a.holds(func(held string) bool { return held == a.q.ID })
	if active != nil {
		a.say(source, fact, active, "it was last active at %s", active.UTC().Format(stamp))
	}
}

func because(err *string) string {
	if err == nil || *err == "" {
		return ""
	}
	return ": " + *err
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
