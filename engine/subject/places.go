package subject

import (
	"fmt"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// recordKeepers are the agents whose records of open sessions are read (collectors/opensessions). Their processes may stand in another folder than the one
// in which a session works.
var recordKeepers = []string{"claude", "codex", "copilot"}

// OpenAgent is an agent's open session that works in a folder, or may.
type OpenAgent struct {
	Agent string `json:"agent"`
	// ID is the session's, absent where it is not known. PID and Name are the process's that has it open, absent where that is not known.
	ID   string `json:"id,omitempty"`
	PID  int    `json:"pid,omitempty"`
	Name string `json:"name,omitempty"`
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
	w := workplaces{in: map[string][]OpenAgent{}}
	for i := range s.OpenSessions {
		o := &s.OpenSessions[i]
		n, open := x.opens(o)
		if !open {
			continue
		}
		a, near := OpenAgent{Agent: o.Agent, ID: o.ID, Folder: clean(o.Folder)}, ""
		if n != nil {
			a.PID, a.Name, near = n.p.PID, n.p.Name, nearOf(n)
		}
		w.add(a, near)
	}
	for i := range x.nodes {
		n := &x.nodes[i]
		if agent := unrecorded(s, n); agent != "" && !dead(n.p) && (n.p.UID == nil || x.uid == nil || *n.p.UID == *x.uid) {
			w.add(OpenAgent{Agent: agent, PID: n.p.PID, Name: n.p.Name}, nearOf(n))
		}
	}
	return w
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

// opens gives the process that has a recorded session open, nil where it is not known, and false where the session is positively no longer open.
func (x *processes) opens(o *snapshot.OpenSession) (*node, bool) {
	if o.Ended != nil && *o.Ended {
		return nil, false
	}
	i, there := x.byPID(o.PID)
	switch {
	case o.PID <= 0, !there && !x.whole:
		return nil, true
	case !there, dead(x.nodes[i].p), !opened(o, x.nodes[i].p, x.uid):
		return nil, false
	}
	return &x.nodes[i], true
}

// unrecorded is the agent that a process is whose records say which folder a session works in, where none of its records could be read; "" for any other.
func unrecorded(s *snapshot.Snapshot, n *node) string {
	if !n.agent && !n.daemon {
		return ""
	}
	agent := recordKeeper(n.p)
	source := "agents/" + agent
	for name, src := range s.Sources {
		if src.Status == snapshot.OK && (name == source || strings.HasPrefix(name, source+"-")) {
			return ""
		}
	}
	return agent
}

// recordKeeper is the one of recordKeepers whose program a process is, "" for any other program.
func recordKeeper(p *snapshot.Process) string {
	for _, agent := range recordKeepers {
		if named(p, programs[agent]) || p.Script != nil && strings.TrimSuffix(*p.Script, ".js") == agent {
			return agent
		}
	}
	return ""
}

// programs are what the processes of recordKeepers are called.
var programs = func() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, agent := range recordKeepers {
		out[agent] = map[string]bool{agent: true, agent + ".exe": true}
	}
	return out
}()

// withSessions are the processes that may have an open session: those that records name, and those of recordKeepers.
func withSessions(s *snapshot.Snapshot) map[string]*snapshot.Process {
	recorded, out := map[int]bool{}, map[string]*snapshot.Process{}
	for i := range s.OpenSessions {
		recorded[s.OpenSessions[i].PID] = true
	}
	for id, p := range s.Processes {
		if recorded[p.PID] || recordKeeper(p) != "" {
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
func (j *Joined) openIn(d *snapshot.Dir) []OpenAgent {
	at := clean(d.Path)
	if d.Content != nil {
		at = clean(d.Content.Worktree)
	}
	out := slices.Clone(j.workplaces.in[at])
	for _, p := range j.workplaces.may {
		if j.mayWork(d, p.near) {
			out = append(out, p.OpenAgent)
		}
	}
	slices.SortFunc(out, func(a, b OpenAgent) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	out = slices.Compact(out)
	if out == nil {
		return []OpenAgent{}
	}
	return out
}

// mayWork reports whether a session of no known folder may work in a folder: its process stands in no known folder, or the folder is a checkout of the
// repository in which, or around which, it stands.
func (j *Joined) mayWork(d *snapshot.Dir, near string) bool {
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
