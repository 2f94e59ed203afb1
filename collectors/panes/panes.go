// Package panes says what runs in the panes and terminals that were seen: it joins them with the processes that were read in the same look.
package panes

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	wire "github.com/winnow-reaper/winnow/internal/sys/tmux"
)

// Fill tells every pane of s with a shell's pid what runs in it, from the processes of s: a pure join, linear in the size of s.
//
// A session's pane stays unknown where the processes were not read whole, where it is dead (another process may have its
// pid), and where the process of its pid is not positively its own: the process must lead a session, and have the
// pane's terminal wherever both are known. A zombie without other threads is dead, and does not count as a member.
//
// A tab's server says more of its panes than tmux, and may say it of another machine: the socket can be forwarded, or lead into
// another pid namespace. So the process must be the server's too, and a pane where that is not sure loses what the server reported
// of processes, with the reason in its Error.
//
// Of a Codev terminal whose shellper is known by pid and start, that very process is looked for: where the processes were not read whole,
// or it is not among them, since when it runs and what lives below it stay unknown.
func Fill(s *snapshot.Snapshot) {
	if len(s.Sessions)+len(s.Terminals)+len(s.Tabs) == 0 {
		return
	}
	var t *table
	if s.Sources[snapshot.Proc].Status == snapshot.OK {
		t = index(s.Processes)
		strangers := t.strangers(s)
		for id, session := range s.Sessions {
			t.fill(session.Panes)
			t.carry(&session)
			session.Popups = t.popups(&session, strangers[session.Source])
			s.Sessions[id] = session
		}
		for id, terminal := range s.Terminals {
			t.terminal(&terminal)
			s.Terminals[id] = terminal
		}
	}
	for _, tab := range s.Tabs {
		for i := range tab.Panes {
			if p := &tab.Panes[i]; p.ShellPID != nil {
				t.confirm(p, s.Sources[tab.Source].Server, &s.Host)
			}
		}
	}
}

// socketMarker is the variable in which herdr tells a pane's first process the socket of its server.
const socketMarker = "HERDR_SOCKET_PATH"

// confirm fills in p with what runs in it, or takes away what its server reported of that. A nil table is of processes that were not
// read whole.
func (t *table) confirm(p *snapshot.Pane, server *snapshot.Server, host *snapshot.Host) {
	if t == nil {
		forget(p, "the processes of this machine were not read whole, so herdr's word on this pane is not confirmed")
		return
	}
	shell := t.shell(p)
	switch {
	case t.process(*p.ShellPID) == nil:
		forget(p, fmt.Sprintf("pid %d is not here: it ended, or the socket leads to another machine or pid namespace", *p.ShellPID))
		return
	case shell == nil || !mine(shell, host) || !t.startedBy(server, shell, host):
		forget(p, fmt.Sprintf("pid %d is not a process of this server here: the socket may lead to another machine or pid namespace", *p.ShellPID))
		return
	}
	said, group := p.Foreground, p.ForegroundPGID
	p.Dead, p.Foreground, p.ForegroundPGID = new(false), nil, nil
	t.pane(p, shell)
	if p.ForegroundPGID == nil || group == nil || *group != *p.ForegroundPGID {
		p.ForegroundPGID = nil
	}
	if t.whole {
		p.Foreground = union(p.Foreground, said)
	}
	t.carryHerdr(p, server, shell)
}

// forget leaves of p what does not rest on processes.
func forget(p *snapshot.Pane, why string) {
	p.ShellPID, p.ShellStartTicks, p.ForegroundPGID, p.Foreground = nil, nil, nil, nil
	p.Error = &why
}

// mine reports whether p has a terminal and is the looking user's.
func mine(p *snapshot.Process, host *snapshot.Host) bool {
	return p.TTY != nil && *p.TTY != "" && p.UID != nil && host.UID != nil && *p.UID == *host.UID
}

// startedBy reports whether shell was started by the server: it is below the process that listens on the socket, or it was given that
// very socket's path. The latter holds after a handoff too, when the panes' parent has ended.
func (t *table) startedBy(server *snapshot.Server, shell *snapshot.Process, host *snapshot.Host) bool {
	switch {
	case server == nil:
		return false
	case shell.Markers != nil && server.Socket != "" && (*shell.Markers)[socketMarker] == server.Socket:
		return true
	}
	return t.serves(server, host) && t.descendsFrom(shell, server.PID)
}

// serves reports whether the server's process is here and can have started panes. One that inherits orphans has everybody below it,
// and listens on the sockets of others (systemd does).
func (t *table) serves(server *snapshot.Server, host *snapshot.Host) bool {
	p := t.process(server.PID)
	return p != nil && p.PID > 1 && !slices.Contains(host.OrphanParents, p.PID) && (server.StartTicks == nil || *server.StartTicks == p.StartTicks)
}

// descendsFrom reports whether the process with pid is an ancestor of p. A parent that is younger than its child is another process, under a
// number that was reused.
func (t *table) descendsFrom(p *snapshot.Process, pid int) bool {
	for range t.all.list {
		if p.PPID == nil {
			return false
		}
		parent := t.process(*p.PPID)
		if parent == nil || parent.StartTicks > p.StartTicks {
			return false
		}
		if parent.PID == pid {
			return true
		}
		p = parent
	}
	return false
}

// union has each process on either list, by pid, as the first list has it. A process with two names is there under both: it became
// another program in between, and which came first is not known.
func union(a, b []snapshot.PaneProc) []snapshot.PaneProc {
	out := slices.Concat(a, b)
	slices.SortStableFunc(out, func(x, y snapshot.PaneProc) int {
		return cmp.Or(cmp.Compare(x.PID, y.PID), cmp.Compare(x.Name, y.Name))
	})
	return slices.CompactFunc(out, func(x, y snapshot.PaneProc) bool { return x.PID == y.PID && x.Name == y.Name })
}

// table finds processes by what ties them to a pane. It is made of sorted lists, which take up a tenth of what maps would: there is a process for
// each pane, and a hundred for none.
type table struct {
	all                 sorted
	group, session, sub sorted                        // by process group, by session, by parent; empty where not whole
	named               map[place][]*snapshot.Process // by the pane that an environment names, in the order of pids
	// whole is true when every process shows where it belongs: then one that is on no list is not in it.
	whole bool
}

// sorted are processes in the order of a number that each has, and of pids where they have the same.
type sorted struct {
	number func(p *snapshot.Process) int
	list   []*snapshot.Process
}

func sort(list []*snapshot.Process, number func(p *snapshot.Process) int) sorted {
	slices.SortFunc(list, func(a, b *snapshot.Process) int {
		return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a.PID, b.PID))
	})
	return sorted{number, list}
}

// lookup gives those that have that number, by pid. The list is the table's own.
func (s sorted) lookup(number int) []*snapshot.Process {
	from, _ := slices.BinarySearchFunc(s.list, number, func(p *snapshot.Process, n int) int { return cmp.Compare(s.number(p), n) })
	to := from
	for to < len(s.list) && s.number(s.list[to]) == number {
		to++
	}
	return s.list[from:to:to]
}

// process gives the process with that pid, nil when it is missing. A pid that was reused while it was read stands for neither.
func (t *table) process(pid int) *snapshot.Process {
	if all := t.all.lookup(pid); len(all) == 1 {
		return all[0]
	}
	return nil
}

func index(processes map[string]*snapshot.Process) *table {
	t := &table{named: map[place][]*snapshot.Process{}, whole: true}
	all := make([]*snapshot.Process, 0, len(processes))
	for _, p := range processes {
		if !p.IsKernel() && !dead(p) {
			all = append(all, p)
		}
	}
	t.all = sort(all, func(p *snapshot.Process) int { return p.PID })
	for _, p := range all {
		for _, name := range places(p) {
			t.named[name] = append(t.named[name], p)
		}
		t.whole = t.whole && p.PGID != nil && p.Session != nil && p.PPID != nil
	}
	if t.whole {
		t.group = sort(slices.Clone(all), func(p *snapshot.Process) int { return *p.PGID })
		t.session = sort(slices.Clone(all), func(p *snapshot.Process) int { return *p.Session })
		t.sub = sort(slices.Clone(all), func(p *snapshot.Process) int { return *p.PPID })
	}
	return t
}

// dead reports whether p is known to have ended. A zombie may have threads that live on.
func dead(p *snapshot.Process) bool {
	return (p.State == "Z" || p.State == "X") && p.Threads != nil && *p.Threads <= 1
}

func (t *table) fill(panes []snapshot.Pane) {
	for i := range panes {
		p := &panes[i]
		if p.ShellPID == nil || p.Dead != nil && *p.Dead {
			continue
		}
		if shell := t.shell(p); shell != nil {
			t.pane(p, shell)
		}
	}
}

// shell is the process that p names, or nil where that is not sure.
func (t *table) shell(p *snapshot.Pane) *snapshot.Process {
	shell := t.process(*p.ShellPID)
	switch {
	case shell == nil || shell.Session == nil || *shell.Session != shell.PID:
		return nil
	case p.TTY != "" && shell.TTY != nil && *shell.TTY != p.TTY:
		return nil
	}
	return shell
}

func (t *table) pane(p *snapshot.Pane, shell *snapshot.Process) {
	p.ShellStartTicks = new(shell.StartTicks)
	if shell.Cwd != nil {
		p.Cwd, p.CwdDeleted = *shell.Cwd, shell.CwdDeleted
	}
	if p.TTY == "" && shell.TTY != nil {
		p.TTY = *shell.TTY
	}
	if shell.ForegroundPGID != nil {
		p.ForegroundPGID = new(*shell.ForegroundPGID)
	}
	if !t.whole {
		return
	}
	if p.ForegroundPGID != nil {
		p.Foreground = paneProcs(t.group.lookup(*p.ForegroundPGID))
	}
	members := t.session.lookup(shell.PID)
	p.Session, p.SessionPIDs = paneProcs(members), []int{}
	for _, m := range members {
		p.SessionPIDs = append(p.SessionPIDs, m.PID)
	}
	p.Descendants = paneProcs(t.escaped(shell, members))
}

// escaped lists what is below the session's members and has left the session, by pid. It begins at every member, not at the
// shell alone: a member whose parent ended is no longer below the shell, and what it started belongs to the pane all the same.
func (t *table) escaped(shell *snapshot.Process, members []*snapshot.Process) []*snapshot.Process {
	return walk(slices.Clone(members), map[int]bool{}, shell.PID, t.sub)
}

// walk lists, by pid, what the tables have under the numbers of these processes and of what it finds itself. It leaves out what was seen, and the members of
// a session, which are looked below in their own turn.
func walk(open []*snapshot.Process, seen map[int]bool, session int, tables ...sorted) (out []*snapshot.Process) {
	for len(open) > 0 {
		p := open[len(open)-1]
		open = open[:len(open)-1]
		for _, by := range tables {
			for _, x := range by.lookup(p.PID) {
				if !seen[x.PID] && *x.Session != session {
					seen[x.PID] = true
					out, open = append(out, x), append(open, x)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b *snapshot.Process) int { return cmp.Compare(a.PID, b.PID) })
	return out
}

func paneProcs(ps []*snapshot.Process) []snapshot.PaneProc {
	out := make([]snapshot.PaneProc, 0, len(ps))
	for _, p := range ps {
		out = append(out, snapshot.PaneProc{PID: p.PID, Name: p.Name, Interactive: p.Interactive, Rest: p.Rest})
	}
	return out
}

// terminal tells of t since when its shellper runs and what lives below that.
func (t *table) terminal(x *snapshot.Terminal) {
	if x.PID == nil || x.StartTicks == nil {
		return
	}
	p := t.process(*x.PID)
	if p == nil || p.StartTicks != *x.StartTicks {
		return
	}
	if p.StartedAt != nil {
		x.StartedAt = new(*p.StartedAt)
	}
	if t.whole {
		x.Below = new(paneProcs(t.descendants(p)))
	}
}

// descendants lists what p started, by pid: its children, the members of the sessions and groups that it or one of those leads, and so on.
// A member whose parent ended has no parent in the list, and is found all the same.
func (t *table) descendants(p *snapshot.Process) []*snapshot.Process {
	const none = -1
	return walk([]*snapshot.Process{p}, map[int]bool{p.PID: true}, none, t.sub, t.session, t.group)
}

// place is a pane as the environment of what was started in it names it: a tmux server's pid and a pane's id, or a herdr socket and the
// id that the pane had then.
type place struct {
	server int
	socket string
	pane   string
}

// places are where a process's environment says that it comes from. The path in TMUX counts for nothing, since one server may be reached
// by several; its pid does. Of several numbers that a path with a comma makes, the last but one is the pid.
func places(p *snapshot.Process) []place {
	if p.Markers == nil {
		return nil
	}
	var out []place
	m := *p.Markers
	if parts := strings.Split(m[snapshot.MarkerTmux], ","); len(parts) >= 3 && m[snapshot.MarkerTmuxPane] != "" {
		if pid, err := strconv.Atoi(parts[len(parts)-2]); err == nil && pid > 0 {
			out = append(out, place{server: pid, pane: m[snapshot.MarkerTmuxPane]})
		}
	}
	if m[snapshot.MarkerHerdr] != "" && m[snapshot.MarkerHerdrPane] != "" {
		out = append(out, place{socket: m[snapshot.MarkerHerdr], pane: m[snapshot.MarkerHerdrPane]})
	}
	return out
}

// carry tells a tmux session's panes who carries them elsewhere. A dead pane may have left processes too.
func (t *table) carry(s *snapshot.Session) {
	if s.Server == nil || s.Server.PID <= 0 {
		return
	}
	for i := range s.Panes {
		p := &s.Panes[i]
		t.carriers(p, []place{{server: s.Server.PID, pane: p.ID}}, func(c *snapshot.Process) bool {
			return s.Server.StartTicks == nil || c.StartTicks >= *s.Server.StartTicks // pane ids begin again with each server
		})
	}
}

// carryHerdr tells a herdr pane who carries it elsewhere. The id in an environment is the one that the pane had when it was started, so
// what its shell carries tells better than what the server calls it now. The server may be younger than its panes, after a handoff.
func (t *table) carryHerdr(p *snapshot.Pane, server *snapshot.Server, shell *snapshot.Process) {
	names := places(shell)
	if server != nil {
		names = append(names, place{socket: server.Socket, pane: p.ID})
	}
	t.carriers(p, names, func(c *snapshot.Process) bool {
		return c.StartTicks >= shell.StartTicks || server == nil || server.StartTicks == nil || c.StartTicks >= *server.StartTicks
	})
}

// carriers fills in who names the pane and is neither of its session nor below that.
func (t *table) carriers(p *snapshot.Pane, names []place, recent func(*snapshot.Process) bool) {
	if !t.whole {
		return
	}
	var found []*snapshot.Process
	for _, name := range names {
		for _, c := range t.named[name] {
			if recent(c) && !slices.Contains(p.SessionPIDs, c.PID) && !slices.ContainsFunc(p.Descendants, func(d snapshot.PaneProc) bool { return d.PID == c.PID }) {
				found = append(found, c)
			}
		}
	}
	slices.SortFunc(found, func(a, b *snapshot.Process) int { return cmp.Compare(a.PID, b.PID) })
	p.Carriers = paneProcs(slices.Compact(found))
}

// strangers are the children of a tmux server that are not the first process of a pane.
type strangers struct {
	server snapshot.Server
	all    []*snapshot.Process
}

// strangers finds them by source, for every tmux server whose panes were all listed and whose own process is positively here.
func (t *table) strangers(s *snapshot.Snapshot) map[string]*strangers {
	out := map[string]*strangers{}
	for name, src := range s.Sources {
		if src.Status != snapshot.OK || src.Server == nil || src.Server.Panes == nil || src.Server.StartTicks == nil || !t.whole {
			continue
		}
		if p := t.process(src.Server.PID); p == nil || p.StartTicks != *src.Server.StartTicks {
			continue
		}
		x := &strangers{server: *src.Server}
		for _, child := range t.sub.lookup(src.Server.PID) {
			if _, pane := slices.BinarySearch(*src.Server.Panes, child.PID); !pane {
				x.all = append(x.all, child)
			}
		}
		out[name] = x
	}
	return out
}

// popups are those of the strangers that a session is kept for, with all that lives below them; nil where that is not known.
//
// A popup (display-popup) ends with the client that it covers, and so with whichever session that client shows when it is killed; TMUX in
// its environment says for which session it was opened, which may be another session. So it keeps both: the session that it names and
// every one that a terminal shows. A popup has a terminal of its own. What has no terminal is a job (run-shell, if-shell, a hook) and names its
// session, what a status line runs (#()) and names none, or a pane's pipe (pipe-pane), whose TMUX is not this server's: none of them
// ends with a session, and a job is its session's work all the same. All this was seen of tmux 3.1c, 3.3a, 3.5a and 3.7c.
func (t *table) popups(s *snapshot.Session, x *strangers) *[]snapshot.PaneProc {
	if x == nil {
		return nil
	}
	found := []snapshot.PaneProc{}
	for _, child := range x.all {
		if x.keeps(child, s) {
			found = append(append(found, paneProcs([]*snapshot.Process{child})...), paneProcs(t.descendants(child))...)
		}
	}
	return &found
}

func (x *strangers) keeps(child *snapshot.Process, s *snapshot.Session) bool {
	session, known := "", false
	if child.Markers != nil {
		session, known = wire.StartedFor((*child.Markers)["TMUX"], x.server.PID)
	}
	switch {
	case known && session == s.ID:
		return true
	case child.TTY != nil && *child.TTY == "":
		return false
	}
	return !known || s.Attached == nil || s.ControlClients == nil || *s.Attached > *s.ControlClients
}
