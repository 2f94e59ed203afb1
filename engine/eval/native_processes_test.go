package eval_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

type entry = subject.Entry

var noLineage subject.Lineage

// lineage is where the process comes from, without any fact where that is not known.
func (j *judged) lineage() *subject.Lineage {
	if j.Lineage == nil {
		return &noLineage
	}
	return j.Lineage
}

// process is policies/reap/processes.
func (j *judged) process() (in bool) {
	p, l := j.Process, j.lineage()
	agent := is(l.IsAgent, false)
	deleted := is(p.CwdDeleted, true) && j.inWorktrees()
	if deleted {
		in = true
		if agent && is(j.Host.Container, false) && j.orphan(p.PPID) && j.Age != nil {
			j.find("reap.processes.deleted", "the worktree that it works in was deleted, and the process that started it is gone",
				evidence{"cwd": *p.Cwd, "folders": j.worktrees(), "parent": *p.PPID, "age": *j.Age})
		}
	}
	if is(l.IsAgent, true) {
		return in
	}
	if slices.ContainsFunc(j.c.IDMarkers, func(name string) bool { return j.marker(name) != "" }) {
		in = true
		if (agent || j.program()) && j.runaway() && p.CPU != nil {
			j.find("reap.processes.runaway", "its owner has ended, and it has kept a processor busy ever since it was started",
				evidence{"owners": j.owners(), "age": *j.Age, "cpu": *p.CPU, "busy": *j.Busy})
		}
	}
	if !some(l.Markers) && !is(l.SeenGone, true) && !j.deaf() {
		return in
	}
	if l.Family == "mcp-server" && j.duplicate() {
		j.find("reap.processes.duplicate_helper", "its agent is gone, and each agent that may have started it has a copy of its own",
			evidence{"parent": *p.PPID, "agents": *l.Agents, "family": l.Family})
	}
	if agent && some(l.Ports) && j.leaked() && p.Cwd != nil {
		j.find("reap.processes.leaked_server", "it listens, its agent has ended, its folder was deleted, and no client is connected",
			evidence{"ports": *l.Ports, "cwd": *p.Cwd, "clients": *l.Clients, "agrees": j.agrees()})
	}
	if agent && l.Markers != nil && j.leftBehind() {
		j.find("reap.processes.orphan", "an agent started it and is gone", evidence{
			"markers": *l.Markers, "parent": *p.PPID, "agrees": j.agrees(),
			"seen": each(l.Seen, func(s *subject.Seen) string { return s.Name + " (" + strconv.Itoa(s.PID) + ")" }),
		})
	}
	return true
}

func (j *judged) inWorktrees() bool { return slices.ContainsFunc(j.c.WorktreeFolders, j.worksIn) }

func (j *judged) worksIn(folder string) bool {
	return j.Process.Cwd != nil && folder != "" && strings.Contains(*j.Process.Cwd, "/"+folder+"/")
}

// worktrees are the names of worktrees' folders that the process works in.
func (j *judged) worktrees() []string {
	var out []string
	for _, f := range j.c.WorktreeFolders {
		if j.worksIn(f) {
			out = append(out, f)
		}
	}
	return set(out)
}

// owners are the ids of the entries that a marker of the process names.
func (j *judged) owners() []string {
	var out []string
	for i := range j.Entries {
		if e := &j.Entries[i]; e.By == "marker" && j.marked(e) {
			out = append(out, e.ID)
		}
	}
	return set(out)
}

func (j *judged) orphan(ppid *int) bool {
	return ppid != nil && slices.Contains(j.Host.OrphanParents, *ppid)
}

// The predicates of policies/lib/processes.

func (j *judged) program() bool { return is(j.lineage().Unidentified, true) && known(j.Process.Exe) }

func (j *judged) busy() bool {
	return least(j.Age, j.c.Runaway.MinAge) && least(j.Busy, float64(j.c.Runaway.MinCPU))
}

func (j *judged) silent() bool { return none(j.Process.Listening) && none(j.lineage().Sockets) }

func (j *judged) ownMarkers() bool {
	return is(j.lineage().Multiplexer, false) || is(j.lineage().MultiplexerMarked, false)
}

// runaway reports whether it kept a processor busy all its life, for an owner that has ended.
func (j *judged) runaway() bool {
	return j.busy() && j.silent() && j.ownMarkers() && j.markedOver()
}

// The predicates of policies/lib/provenance.

func (j *judged) handedOver() bool {
	l := j.lineage()
	return is(j.Host.Container, false) && j.orphan(j.Process.PPID) && is(l.AgentAncestor, false) && is(l.MultiplexerAncestor, false)
}

func (j *judged) deaf() bool {
	return is(j.Process.InputEnded, true) && j.lineage().Family == "mcp-server" && j.silent()
}

func (j *judged) leftBehind() bool {
	l := j.lineage()
	if !j.handedOver() {
		return false
	}
	handed, hint, program := some(l.Identifying), some(l.Markers), l.Family == "mcp-server"
	folder := l.AgentDir != "" || is(j.Process.CwdDeleted, true)
	return handed && (folder || j.ownMarkers()) || some(l.Added) || is(l.SeenGone, true) && (hint || folder || program) || hint && program || j.deaf()
}

// agrees says what speaks for an agent that has left the process behind.
func (j *judged) agrees() []string {
	l := j.lineage()
	handed := some(l.Identifying)
	return distinct([]string{
		when(handed && j.ownMarkers(), "a marker in its environment names an agent, and no multiplexer handed it down"),
		when(handed, "a marker in its environment names an agent"),
		when(some(l.Added), "the leader of its session does not carry the marker"),
		when(is(l.SeenGone, true), "an earlier look saw it below an agent, which has ended"),
		when(l.AgentDir != "" || is(j.Process.CwdDeleted, true), "it works where agents work, or its working directory was deleted"),
		when(l.Family == "mcp-server", "it is a server that only agents start"),
		when(is(j.Process.InputEnded, true), "nothing can write to its standard input any more"),
	})
}

func (j *judged) leaked() bool {
	l := j.lineage()
	gone := is(l.SeenGone, true) || j.ownMarkers() && (is(l.StarterGone, true) || is(l.SessionGone, true))
	return gone && is(l.Agents, 0) && is(j.Process.CwdDeleted, true) && some(l.Ports) && none(l.TreeSockets) && is(l.Clients, 0) && j.leftBehind()
}

func (j *judged) duplicate() bool {
	l := j.lineage()
	return l.Family == "mcp-server" && some(l.Markers) && is(l.IsAgent, false) && l.Agents != nil && *l.Agents > 0 && is(l.Copyless, 0) && j.silent() && j.handedOver()
}

// alone is policies/lib/leftovers: what an agent left in a terminal and nobody uses.
func (j *judged) alone() bool {
	p, l := j.Process, j.lineage()
	return (l.Family == "mcp-server" || l.Family == "language-server") && is(l.Descendants, 0) && (some(l.Added) || is(l.SeenGone, true)) &&
		is(l.IsAgent, false) && is(l.Agents, 0) && is(l.AgentAncestor, false) && j.orphan(p.PPID) && asleepBehind(p, j.Host.UID) && j.silent()
}

// asleepBehind reports whether this user's process sleeps in the background of its terminal.
func asleepBehind(p *snapshot.Process, uid *int) bool {
	return uid != nil && is(p.UID, *uid) && p.State == "S" && p.ForegroundPGID != nil && *p.ForegroundPGID > 0 && p.PGID != nil && *p.PGID != *p.ForegroundPGID
}

// ordinary reports whether all below it may end with it.
func (j *judged) ordinary() bool {
	l := j.lineage()
	if l.Below == nil {
		return false
	}
	for i := range *l.Below {
		b := &(*l.Below)[i]
		if b.UID == nil || !is(j.Host.UID, *b.UID) || !is(b.Personal, "") || !is(b.Own, true) || slices.Contains(j.c.Multiplexers, b.Name) ||
			!j.n.endable(b.Name) || b.Held || b.ID == "" || !j.n.unprotected(b.ID) || !j.n.unprotected(b.Name) {
			return false
		}
	}
	return true
}

// processObjects is what of policies/protect is about processes alone.
func (j *judged) processObjects() {
	j.processLive()
	j.strangers()
	j.starters()
	p, l := j.Process, j.lineage()
	multiplexer := p.Name != "" && slices.Contains(j.c.Multiplexers, p.Name)
	never := j.n.never(p.Name)
	mine := p.UID != nil && is(j.Host.UID, *p.UID)
	if !mine || p.IsKernel() || p.Name == "" || multiplexer || never {
		j.object("protect.protected", reasoned("its name, or the user that it belongs to, is not known",
			when(p.UID != nil && j.Host.UID != nil && !mine, "it belongs to another user"), when(p.IsKernel(), "it is a kernel thread"),
			when(multiplexer, "it is a multiplexer's server"), when(never, "rules.never_processes has its name")), evidence{"name": p.Name})
	}
	if !is(l.Personal, "") {
		reason := ""
		if l.Personal != nil {
			reason = "people use such a program too, also when an agent started it (" + *l.Personal + ")"
		}
		j.object("protect.protected", reasoned("whether people use it too is not known", reason), evidence{"name": p.Name})
	}
	if p.Brief {
		j.object("protect.unknown", "it was read in brief only, because no rule names such a process in its METADATA (candidates): take candidates out of the rule that found it",
			evidence{"brief": true})
	}
}

func (j *judged) processLive() {
	p, l := j.Process, j.lineage()
	silent := j.silent() && is(l.ListenerBelow, false) || !j.c.SpareListeners || j.leaked()
	ordinary := j.ordinary()
	if silent && (j.alone() || is(p.TTY, "") && p.State != "" && p.Session != nil && *p.Session >= 0 &&
		(is(l.IsAgent, false) || j.program() && j.busy() && j.ownMarkers() && j.markedOver()) &&
		is(l.AgentBelow, false) && is(l.TTYBelow, false) && is(l.Pane, "") && ordinary) {
		return
	}
	const unknownProgram = "runs an unknown program, which may be an agent (rules.families lists programs that are not)"
	var reasons []string
	if known(p.Daemon) {
		reasons = append(reasons, "it is a daemon that its vendor runs for all of its agents ("+*p.Daemon+"), which no rule ends")
	}
	if known(l.Pane) {
		reasons = append(reasons, "it belongs to the pane "+*l.Pane)
	}
	if is(l.Unidentified, true) {
		reasons = append(reasons, shownText(l.Interpreter)+" "+unknownProgram)
	}
	if l.Descendants != nil && *l.Descendants > 0 && l.Below == nil {
		reasons = append(reasons, strconv.Itoa(*l.Descendants)+" processes are below it, more than end with one")
	}
	reasons = append(reasons,
		when(is(l.IsAgent, true), "it is an agent"), when(known(p.TTY), "it has a terminal"),
		when(is(l.AgentBelow, true), "an agent runs below it"), when(is(l.TTYBelow, true), "a process below it has a terminal"),
		when(is(l.UnidentifiedBelow, true), "an interpreter below it "+unknownProgram),
		when(some(p.Listening) && !silent, "it listens on a port"), when(some(l.Sockets) && !silent, "it listens on a unix socket"),
		when(is(l.ListenerBelow, true) && !silent, "a process below it listens on a port or on a unix socket"),
		when(some(l.Below) && !ordinary, "a process below it, which would end with it, must stay: it is never reaped, protected, held, another owner's, or people use it too"))
	e := evidence{}
	fact(e, "tty", p.TTY)
	fact(e, "ports", p.Listening)
	fact(e, "sockets", l.Sockets)
	j.object("protect.live", reasoned("whether it is an agent, has a terminal or listens, or one below it, is not known", reasons...), e)
}

func (j *judged) strangers() {
	l := j.lineage()
	if none(l.Strangers) || is(l.StarterGone, true) {
		return
	}
	reason, markers, registries, read := "", []string{}, []string{}, []string{}
	if some(l.Strangers) {
		reason = strings.Join(*l.Strangers, ", ") + " names a session that no registry here knows: another instance may own it"
		markers = set(slices.Clone(*l.Strangers))
		for _, r := range j.c.MarkerRecords {
			if !slices.Contains(markers, r.Marker) {
				continue
			}
			registries = append(registries, r.Format)
			if slices.Contains(j.RecordsRead, "registry:"+r.Format) {
				read = append(read, r.Format)
			}
		}
	}
	j.object("protect.owned", reasoned("whether it belongs to a session that another instance has on record is not known", reason),
		evidence{"markers": markers, "registries": set(registries), "read": set(read)})
}

func (j *judged) starters() {
	p, l := j.Process, j.lineage()
	if none(l.Markers) && len(l.Seen) == 0 || is(l.Agents, 0) || j.duplicate() || j.deaf() && j.handedOver() || j.runaway() ||
		is(p.CwdDeleted, true) && is(j.Host.Container, false) && j.orphan(p.PPID) && j.inWorktrees() {
		return
	}
	var reasons []string
	if l.Agents != nil && *l.Agents > 0 {
		agent := blank + " (" + blank + ")"
		if l.Agent != nil {
			agent = fmt.Sprintf("%s (%d)", l.Agent.Name, l.Agent.PID)
		}
		if is(l.AgentAncestor, true) {
			reasons = append(reasons, agent+" lives, is above it, and may have started it")
		} else {
			reasons = append(reasons, agent+" lives, and may have started it")
		}
	}
	if v := l.VeiledBy; v != nil && v.PID > 0 {
		reasons = append(reasons, fmt.Sprintf("%s (%d) may be an agent, does not show it, and may have started it", v.Name, v.PID))
	}
	e := evidence{}
	if l.Agent != nil {
		e["agent"] = l.Agent
	}
	fact(e, "agents", l.Agents)
	if l.VeiledBy != nil {
		e["veiled_by"] = l.VeiledBy
	}
	if len(l.Seen) > 0 {
		e["seen"] = l.Seen
	}
	j.object("protect.owned", reasoned("whether an agent lives that may have started it is not known", reasons...), e)
}
