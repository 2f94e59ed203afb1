package subject

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// OpenAgent is an agent's open session that works in a folder, or may.
type OpenAgent struct {
	Agent string `json:"agent"`
	// ID is the session's, absent where it is not known. PID and Name are the process's that has it open, absent where that is not known.
	ID   string `json:"id,omitempty"`
	PID  int    `json:"pid,omitempty"`
	Name string `json:"name,omitempty"`
	// AnyProcess is true where the agent's records name no process: PID is then one that lives and began before the session last worked.
	AnyProcess bool `json:"any_process,omitempty"`
	// Folder is where the session works; absent where that is not known, so that it may work in any worktree of the repository.
	Folder string `json:"folder,omitempty"`
}

// workplaces lead from folders to the open sessions that work there, or may.
type workplaces struct {
	// in has the sessions by the folder in which each works, and by every folder around that.
	in map[string][]OpenAgent
	// may are those of no known folder, near the folder by which their repository is known, "" where that is not known either.
	may []place
}

type place struct {
	near string
	OpenAgent
}

func indexWorkplaces(s *snapshot.Snapshot, x *processes) workplaces {
	w, at := workplaces{in: map[string][]OpenAgent{}}, x.atWork()
	for i := range s.OpenSessions {
		o := &s.OpenSessions[i]
		for _, n := range x.openers(o, at) {
			a, near := OpenAgent{Agent: o.Agent, ID: o.ID, Folder: clean(o.Folder), AnyProcess: o.AnyProcess}, ""
			if n != nil {
				a.PID, a.Name, near = n.p.PID, n.p.Name, nearOf(n)
			}
			w.add(a, near)
		}
	}
	for agent, nodes := range at {
		there, read := recordsOf(s, agent)
		for _, n := range nodes {
			if (there && !read || !there && x.config.runs(agent, n.p)) && (n.agent || !n.daemon) {
				w.add(OpenAgent{Agent: agent, PID: n.p.PID, Name: n.p.Name}, nearOf(n))
			}
		}
	}
	return w
}

// atWork are the living processes of this user, by the agent of rules.session_agents whose program each is.
func (x *processes) atWork() map[string][]*node {
	all, out := keepersOf(x.config.SessionAgents), map[string][]*node{}
	for i := range x.nodes {
		n := &x.nodes[i]
		if Dead(n.p) || n.p.UID != nil && x.uid != nil && *n.p.UID != *x.uid {
			continue
		}
		for _, agent := range namesOf(all, n.p) {
			out[agent] = append(out[agent], n)
		}
	}
	return out
}

func (w *workplaces) add(a OpenAgent, near string) {
	if a.Folder == "" {
		w.may = append(w.may, place{near, a})
		return
	}
	for up := range upwards(a.Folder) {
		w.in[up] = append(w.in[up], a)
	}
}

// openers are the processes that have, or may have, a recorded session open: nil stands for one that is not known. There are none where the session is
// positively no longer open.
func (x *processes) openers(o *snapshot.OpenSession, at map[string][]*node) []*node {
	if o.Ended != nil && *o.Ended {
		return nil
	}
	i, there := x.byPID(o.PID)
	switch {
	case o.AnyProcess && o.Agent != "" && x.whole:
		return x.began(o, at[o.Agent])
	case o.PID <= 0, !there && !x.whole:
		return []*node{nil}
	case !there, Dead(x.nodes[i].p), !opened(o, x.nodes[i].p, x.uid):
		return nil
	}
	return []*node{&x.nodes[i]}
}

// began are those of an agent's processes, and of those that may be any agent's, that began before a record was last written: the first one where the
// session's folder is known, and otherwise all.
func (x *processes) began(o *snapshot.OpenSession, all []*node) []*node {
	out := slices.DeleteFunc(slices.Clone(all), func(n *node) bool { return !opened(o, n.p, x.uid) })
	for _, i := range x.hiddens {
		if opened(o, x.nodes[i].p, x.uid) {
			out = append(out, &x.nodes[i])
		}
	}
	if len(out) > 1 && o.Folder != "" {
		return out[:1]
	}
	return out
}

// recordsOf reports whether there are records of an agent's sessions here, and whether all of them could be read.
func recordsOf(s *snapshot.Snapshot, agent string) (there, read bool) {
	source := "agents/" + agent
	read = true
	for name, src := range s.Sources {
		if (name == source || strings.HasPrefix(name, source+"-")) && src.Status != snapshot.Absent {
			there, read = true, read && src.Status == snapshot.OK
		}
	}
	return there, read
}

// runs reports whether a process runs an agent's program or script, and does not only have the name of its script:
// another program may have that.
func (c *Config) runs(agent string, p *snapshot.Process) bool {
	return slices.ContainsFunc(c.SessionAgents, func(a SessionAgent) bool {
		scripts := set(slices.Concat(a.Programs, a.Scripts))
		return a.Name == agent && recognised{names: programs(a.Programs), scripts: scripts, packages: set(a.Packages)}.agent(p)
	})
}

// keeper knows the programs of an agent.
type keeper struct {
	recognised
	name string
}

func keepersOf(agents []SessionAgent) (all []keeper) {
	for _, a := range agents {
		names := slices.Concat(a.Programs, a.Scripts)
		all = append(all, keeper{recognised{names: programs(names), scripts: set(names), packages: set(a.Packages)}, a.Name})
	}
	return all
}

// namesOf are the agents whose program a process may be.
func namesOf(all []keeper, p *snapshot.Process) (names []string) {
	for _, k := range all {
		if k.agent(p) && !slices.Contains(names, k.name) {
			names = append(names, k.name)
		}
	}
	return names
}

// withSessions are the processes that may have an open session: those that records name, those of rules.session_agents, and, where a record names none, those
// that may be any agent's.
func withSessions(s *snapshot.Snapshot, c *Config) map[string]*snapshot.Process {
	all, recorded, out := keepersOf(c.SessionAgents), map[int]bool{}, map[string]*snapshot.Process{}
	known, unnamed := newRecognised(c), false
	for i := range s.OpenSessions {
		recorded[s.OpenSessions[i].PID], unnamed = true, unnamed || s.OpenSessions[i].AnyProcess
	}
	for id, p := range s.Processes {
		if recorded[p.PID] || len(namesOf(all, p)) > 0 || unnamed && known.maybe(p) {
			out[id] = p
		}
	}
	return out
}

// nearOf is the folder by which the repository of a process's sessions is known. A vendor's daemon has sessions of any repository.
func nearOf(n *node) string {
	if n.daemon {
		return ""
	}
	return clean(cwdOf(n.p))
}

// openIn are the open sessions that work in a folder or below it, and those that may because where they work is not known.
func (j *Index) openIn(d *snapshot.Dir) []OpenAgent {
	at := clean(d.Path)
	if d.Content != nil {
		at = clean(d.Content.Worktree)
	}
	out := append([]OpenAgent{}, j.workplaces.in[at]...)
	for _, p := range j.workplaces.may {
		if j.mayWork(d, p.near) {
			out = append(out, p.OpenAgent)
		}
	}
	slices.SortFunc(out, func(a, b OpenAgent) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return slices.Compact(out)
}

// mayWork reports whether a session of no known folder may work in a folder: its process stands in no known folder, or the folder is a checkout of the
// repository in which, or around which, it stands.
func (j *Index) mayWork(d *snapshot.Dir, near string) bool {
	main := ""
	switch {
	case near == "":
		return true
	case d.Content != nil:
		main = clean(d.Content.Main)
	case d.Git != nil:
		main = clean(d.Git.Main)
	case d.Checkout != nil && !*d.Checkout:
		return false
	}
	if main == "" || clean(j.repository(near)) == main {
		return true
	}
	_, around := relative(main, near)
	return around
}

// openByPID are the records that agents keep of the sessions that they have open, by the pid that they name.
type openByPID map[int][]snapshot.OpenSession

// written is how much later than its record a process may seem to have begun: clocks are read one after the other.
const written = 2 * time.Second

// sessionsOf are the sessions that a living process of this user has open, "" for one without a known id. A record that was left behind names a
// number that may be another process's by now: the other process began at another tick, or after the record was written.
// agent is whose records they are, "" where that is not known of all or differs.
// last is when the latest of these records was written, nil where that is not known of all, and where it may have had other sessions beside these.
func (o openByPID) sessionsOf(p *snapshot.Process, uid *int) (ids []string, agent string, last *time.Time) {
	known := true
	for _, s := range o[p.PID] {
		if !opened(&s, p, uid) {
			continue
		}
		if len(ids) == 0 {
			agent = s.Agent
		} else if agent != s.Agent {
			agent = ""
		}
		ids = append(ids, s.ID)
		known = known && s.WrittenAt != nil && s.ID != "" && s.Sole != nil && *s.Sole
		if s.WrittenAt != nil && (last == nil || last.Before(*s.WrittenAt)) {
			last = s.WrittenAt
		}
	}
	if !known {
		return ids, agent, nil
	}
	return ids, agent, last
}

// opened reports whether a record that names a process's number is of that process.
func opened(s *snapshot.OpenSession, p *snapshot.Process, uid *int) bool {
	switch {
	case p.UID != nil && uid != nil && *p.UID != *uid:
		return false
	case s.StartTicks != nil:
		return *s.StartTicks == p.StartTicks
	}
	return s.WrittenAt == nil || p.StartedAt == nil || !p.StartedAt.After(s.WrittenAt.Add(written))
}
