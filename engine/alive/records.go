package alive

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// agent asks for an agent's session by its id, or for a worker by the id that a record gives it.
func (a *answer) agent() {
	id, known := a.q.ID, false
	for i := range a.s.OpenSessions {
		o := &a.s.OpenSessions[i]
		if o.ID != id {
			continue
		}
		known = true
		fact := Pointer("open_sessions", strconv.Itoa(i))
		p, _, ok := a.alive(o.PID, o.StartTicks)
		switch {
		case ok && a.joined.Has(o, p):
			a.proveOpen(i, p)
		case o.Ended != nil && *o.Ended:
			a.say(o.Source, fact, o.WrittenAt, "%s's record says that session %s is open, and the process that wrote it is gone", cmp.Or(o.Agent, "an agent"), id)
		case o.PID == 0:
			a.gap(o.Source, "session %s is recorded as open, and its process is not known", id)
		case !a.allListed():
			a.gap(o.Source, "session %s is recorded as open, and whether its process %d lives could not be read", id, o.PID)
		default:
			a.say(o.Source, fact, o.WrittenAt, "%s's record says that session %s is open, and its process %d is gone", cmp.Or(o.Agent, "an agent"), id, o.PID)
		}
	}
	var refs []ref
	for _, list := range []struct {
		name    string
		records []snapshot.Record
	}{{ByRegistry, a.s.Registry}, {BySpawn, a.s.Spawns}} {
		for i := range list.records {
			if r := &list.records[i]; r.ID == id || r.Marker == id || r.Session == id {
				refs, known = append(refs, ref{list.name, i, r}), true
			}
		}
	}
	a.ofRecords(refs)
	for _, pid := range sorted(a.s.Processes) {
		p := a.s.Processes[pid]
		if p.Markers == nil {
			continue
		}
		for _, name := range sorted(*p.Markers) {
			if (*p.Markers)[name] == id && !slices.Contains(snapshot.PaneMarkers, name) {
				known = a.proveProcess(p.PID, "marker", "has the session in its environment ("+name+")") || known
			}
		}
	}
	a.holds(func(held string) bool { return held == id })
	if !known {
		for i := range a.s.OpenSessions {
			if o := &a.s.OpenSessions[i]; id != "" && strings.HasPrefix(o.ID, id) {
				a.gap(o.Source, "nothing is called %s, and the id of %s's open session %s begins so: give the whole id", id, cmp.Or(o.Agent, "an agent"), o.ID)
			}
		}
		const nothing = "no session, tab, terminal, agent or record here is called %s"
		if !a.q.Guessed {
			a.say(snapshot.Proc, "", nil, nothing, id)
			return
		}
		a.unasked()
		a.gap(snapshot.Proc, nothing+"; of what has ended it is said when its kind is given, as in session:%[1]s or agent:%[1]s", id)
	}
}

// unasked are the servers of tmux, of this user, whose sessions were not read: they listen on a socket that nothing names.
func (a *answer) unasked() {
	for _, p := range a.servers() {
		a.gap("tmux", "the sessions of a tmux server (process %d) were not read, and one of them may be called so: collect.tmux.sockets has to name its socket", p.PID)
	}
}

// tmuxServer is what a server of tmux calls itself (its proc.c).
const tmuxServer = "tmux: server"

func (a *answer) servers() []*snapshot.Process {
	asked := map[int]bool{}
	for _, src := range a.s.Sources {
		if src.Server != nil {
			asked[src.Server.PID] = true
		}
	}
	var out []*snapshot.Process
	for _, id := range sorted(a.s.Processes) {
		p := a.s.Processes[id]
		own := p.UID == nil || a.s.Host.UID == nil || *p.UID == *a.s.Host.UID
		begins := p.PPID != nil && asked[*p.PPID] // a child that a server has just made, and that has not executed its own program
		if p.Name == tmuxServer && own && a.live[p.PID] == id && !asked[p.PID] && !begins {
			out = append(out, p)
		}
	}
	return out
}

// ref is a record by its place in the snapshot.
type ref struct {
	list string // ByRegistry or BySpawn
	at   int
	*snapshot.Record
}

// records finds the records that concern a subject by themselves in the snapshot, where they say by which process they can be checked. Who started it,
// which no spawn says, or owns the folder that it stands in, is not it.
func (a *answer) records(sub *subject.Subject) {
	var refs []ref
	add := func(list string, all []snapshot.Record, tied []subject.Record) {
		for _, t := range tied {
			if t.By == "spawn" || t.By == "path" && sub.Kind != snapshot.KindDir {
				continue
			}
			for i := range all {
				if r := &all[i]; r.Source == t.Source && r.ID == t.ID && r.Path == t.Path && r.Session == t.Session &&
					!slices.ContainsFunc(refs, func(have ref) bool { return have.list == list && have.at == i }) {
					refs = append(refs, ref{list, i, r})
				}
			}
		}
	}
	add(ByRegistry, a.s.Registry, sub.Entries)
	add(BySpawn, a.s.Spawns, sub.Spawns)
	a.ofRecords(refs)
}

// ofRecords holds each record against what it names. A record alone is no proof: what it names has to live.
func (a *answer) ofRecords(refs []ref) {
	for _, r := range refs {
		what, at := "entry", "registry"
		if r.list == BySpawn {
			what, at = "spawn", "spawns"
		}
		fact := Pointer(at, strconv.Itoa(r.at))
		if r.list == BySpawn && r.CompletedAt != nil || r.list == ByRegistry && a.cfg.Ended(r.Record) {
			a.say(r.Source, fact, r.EndedAt, "%s %s of %s says that it has ended", what, r.ID, r.Source)
			continue
		}
		p, how, checked, blind := a.findNamed(r.Record)
		switch {
		case p != nil:
			a.prove(Proof{What: r.list, How: how, Detail: fmt.Sprintf("%s %s of %s has not ended, and %s (%d) lives, by its %s", what, r.ID, r.Source, p.Name, p.PID, how), Source: r.Source,
				PID: p.PID, StartTicks: &p.StartTicks, Name: p.Name, Fact: fact})
		case blind:
			a.gap(r.Source, "%s %s has not ended, and whether what it names lives could not be read", what, r.ID)
			if r.Session != "" {
				a.unasked()
			}
		case checked:
			a.say(r.Source, fact, nil, "%s %s of %s says live, and its process is gone", what, r.ID, r.Source)
		default:
			a.gap(r.Source, "%s %s has not ended, and nothing tells whether that is still so: it names no process, session or pane", what, r.ID)
		}
	}
}

// findNamed finds a living process that a record names, and how. checked is true where it names anything that can be looked for, blind where that could
// not be read.
func (a *answer) findNamed(r *snapshot.Record) (found *snapshot.Process, how string, checked, blind bool) {
	if r.PID != nil {
		checked, blind = true, !a.allListed()
		p, _, ok := a.alive(*r.PID, nil)
		// The number was given to another process after the owner had ended, or long before the owner was there.
		if ok && !(r.EndedAt != nil && p.StartedAt != nil && p.StartedAt.After(*r.EndedAt)) {
			return p, "pid", true, false
		}
	}
	if r.Marker != "" {
		checked, blind = true, blind || !a.allListed()
		for _, id := range sorted(a.s.Processes) {
			p := a.s.Processes[id]
			if p.Markers == nil {
				continue
			}
			for name, value := range *p.Markers {
				if value == r.Marker && !slices.Contains(snapshot.PaneMarkers, name) {
					if _, _, ok := a.alive(p.PID, nil); ok {
						return p, "marker", true, false
					}
				}
			}
		}
	}
	if r.Session != "" {
		checked, blind = true, blind || a.unread("tmux") || len(a.servers()) > 0
		for _, id := range sorted(a.s.Sessions) {
			if t := a.s.Sessions[id]; t.Name == r.Session || t.ID == r.Session || id == r.Session {
				p, known := a.living(t.Panes)
				if p != nil {
					return p, "session", true, false
				}
				blind = blind || !known
			}
		}
	}
	if r.Pane != "" || r.Tab != "" || r.Label != "" {
		checked, blind = true, blind || a.unread("herdr")
		for _, id := range sorted(a.s.Tabs) {
			t := a.s.Tabs[id]
			if t.Editor != nil || r.Server != "" && t.Source != "herdr/"+r.Server {
				continue
			}
			of := slices.ContainsFunc(t.Panes, func(p snapshot.Pane) bool { return r.Pane != "" && p.Terminal == r.Pane })
			if of || r.Tab != "" && t.ID == r.Tab || r.Label != "" && t.Label == r.Label {
				p, known := a.living(t.Panes)
				if p != nil {
					return p, "tab", true, false
				}
				blind = blind || !known
			}
		}
	}
	return nil, "", checked, blind
}

// living is the first living process of some panes; known is false where there may be one that is not known.
func (a *answer) living(panes []snapshot.Pane) (found *snapshot.Process, known bool) {
	known = len(panes) > 0
	for _, p := range panes {
		for _, list := range [][]snapshot.PaneProc{p.Session, p.Descendants, p.Carriers} {
			for _, member := range list {
				if process, _, ok := a.alive(member.PID, nil); ok {
					return process, true
				}
			}
		}
		if p.Dead != nil && *p.Dead {
			continue
		}
		if p.ShellPID != nil {
			if process, _, ok := a.alive(*p.ShellPID, p.ShellStartTicks); ok {
				return process, true
			}
		}
		known = false // the server lists a living pane, and its process was not found
	}
	return nil, known
}

// unread reports whether a source of that kind could not be read.
func (a *answer) unread(kind string) bool {
	for _, src := range a.s.Sources {
		if src.Kind == kind && src.Status != snapshot.OK && src.Status != snapshot.Absent {
			return true
		}
	}
	return false
}
