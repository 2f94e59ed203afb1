// Package top shows what agents run on this machine, by owner: one look as a document, and a live view of one look after the other.
package top

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Look is what runs at one time, by owners with their processes.
type (
	Look    = report.Running
	Owner   = report.Owner
	Process = report.Process
	Place   = report.Place
)

// Inputs are what a look is made of.
type Inputs struct {
	Snapshot *snapshot.Snapshot
	Config   *subject.Config
	// Before is the snapshot of the look before, nil for the first.
	Before *snapshot.Snapshot
	// Verdicts are the latest decisions on processes, by id, with their main reasons.
	Verdicts map[string]decision.Decision
	// Places is the look with the sessions and worktrees, nil for none.
	Places *snapshot.Snapshot
	// PSS gives a process's share of memory.
	PSS func(pid int) (int64, error)
	// UID is the user whose processes are shown.
	UID int
}

// NewLook makes a look.
func NewLook(in Inputs) Look {
	s := in.Snapshot
	look := Look{Schema: report.RunningSchema, TakenAt: s.TakenAt, Owners: []Owner{}}
	if in.Before != nil {
		look.Over = s.TakenAt.Sub(in.Before.TakenAt).Seconds()
	}
	x := family{byPID: map[int]string{}, agents: map[string]bool{}, subjects: map[string]*subject.Subject{}, s: s}
	joined := subject.Join(s, in.Config)
	for id, p := range s.Processes {
		if p.UID == nil || *p.UID != in.UID || p.IsKernel() || p.State == "Z" || p.State == "X" {
			continue
		}
		sub, ok := joined.Subject(id)
		if !ok {
			continue
		}
		x.byPID[p.PID], x.subjects[id] = id, sub
		x.agents[id] = sub.Lineage != nil && sub.Lineage.IsAgent != nil && *sub.Lineage.IsAgent
	}
	byID := func(a, b decision.Decision) int { return cmp.Compare(a.ID, b.ID) }
	look.Notes = report.UnheardNotes(slices.SortedFunc(maps.Values(in.Verdicts), byID))
	groups := map[string]*Owner{}
	panes, worktrees := placesOf(in.Places)
	for id, sub := range x.subjects {
		d, decided := in.Verdicts[id]
		marked := sub.Lineage != nil && sub.Lineage.Markers != nil && len(*sub.Lineage.Markers) > 0
		key, name, alive := x.owner(id, cmp.Or(d.Owner, sub.Owner), decided || marked)
		if key == "" {
			continue
		}
		g := groups[key]
		if g == nil {
			g = &Owner{Name: name, Alive: alive}
			if x.agents[key] {
				g.ID = key
			}
			groups[key] = g
		}
		if alive != nil && *alive || alive == nil && g.Alive != nil && !*g.Alive {
			g.Alive = alive
		}
		g.Processes = append(g.Processes, in.process(id, sub, x.agents[id], look.Over))
		for _, place := range []Place{panes[s.Processes[id].PID], worktree(s.Processes[id], worktrees)} {
			if place.ID != "" && !slices.Contains(g.Places, place) {
				g.Places = append(g.Places, place)
			}
		}
	}
	for _, g := range groups {
		sum(g)
		look.Owners = append(look.Owners, *g)
	}
	slices.SortFunc(look.Owners, func(x, y Owner) int {
		return cmp.Or(cmp.Compare(y.Memory, x.Memory), cmp.Compare(x.Name, y.Name))
	})
	return look
}

// placesOf are the sessions and tabs by the pids in them, and the worktrees by their paths.
func placesOf(s *snapshot.Snapshot) (panes map[int]Place, worktrees map[string]Place) {
	panes, worktrees = map[int]Place{}, map[string]Place{}
	if s == nil {
		return panes, worktrees
	}
	add := func(place Place, list []snapshot.Pane) {
		for _, pane := range list {
			for _, p := range slices.Concat(pane.Session, pane.Descendants, pane.Carriers) {
				panes[p.PID] = place
			}
		}
	}
	for id, x := range s.Sessions {
		add(Place{ID: id, Name: "session " + x.Name}, x.Panes)
	}
	for id, x := range s.Tabs {
		add(Place{ID: id, Name: "tab " + x.Label}, x.Panes)
	}
	for id, x := range s.Dirs {
		if x.Git != nil && x.Git.Worktree != nil && *x.Git.Worktree {
			worktrees[x.Path] = Place{ID: id, Name: "worktree " + text.Home(x.Path)}
		}
	}
	return panes, worktrees
}

// worktree is the innermost one that a process works in, empty where it works in none.
func worktree(p *snapshot.Process, all map[string]Place) Place {
	if p.Cwd == nil {
		return Place{}
	}
	at := *p.Cwd
	for all[at].ID == "" && at != path.Dir(at) {
		at = path.Dir(at)
	}
	return all[at]
}

func sum(o *Owner) {
	slices.SortFunc(o.Places, func(x, y Place) int { return cmp.Compare(y.ID, x.ID) }) // sessions before folders
	slices.SortFunc(o.Processes, func(x, y Process) int {
		return cmp.Or(-cmp.Compare(number(x.Agent), number(y.Agent)), cmp.Compare(value(y.Memory), value(x.Memory)), cmp.Compare(x.PID, y.PID))
	})
	for _, p := range o.Processes {
		o.Memory += value(p.Memory)
		if p.CPU != nil {
			o.CPU = new(value(o.CPU) + *p.CPU)
		}
	}
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// value is what a pointer leads to, 0 where that is not known.
func value[T int64 | float64](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// family finds the agent above a process.
type family struct {
	s        *snapshot.Snapshot
	byPID    map[int]string
	agents   map[string]bool
	subjects map[string]*subject.Subject
}

// owner says whose a process is: the uppermost agent's at or above it, else the agent session's that its markers name. A flag's value names no
// session. key is "" for what no agent has to do with.
func (x family) owner(id, session string, known bool) (key, name string, alive *bool) {
	top := ""
	at, seen := id, map[string]bool{}
	for at != "" && !seen[at] {
		seen[at] = true
		if x.agents[at] {
			top = at
		}
		p := x.s.Processes[at]
		if p == nil || p.PPID == nil {
			break
		}
		at = x.byPID[*p.PPID]
	}
	switch {
	case top != "":
		p := x.s.Processes[top]
		return top, fmt.Sprintf("%s (%d)", p.Name, p.PID), new(true)
	case !known:
		return "", "", nil
	case len(session) > 2:
		return "session " + session, "agent session " + report.Short(session), lives(x.subjects[id])
	}
	return "unnamed", "marked by an agent, without a session id", nil
}

// lives says whether the agent runs that started a process; nil where it is not known.
func lives(s *subject.Subject) *bool {
	l := s.Lineage
	switch {
	case s.OwnerAlive() != "" || l != nil && l.SessionGone != nil && !*l.SessionGone:
		return new(true)
	case l != nil && l.Agents != nil && *l.Agents == 0:
		return new(false)
	}
	return nil
}

func (in Inputs) process(id string, sub *subject.Subject, agent bool, over float64) Process {
	p := in.Snapshot.Processes[id]
	about := sub.About()
	out := Process{ID: id, PID: p.PID, Agent: agent, Command: p.Name, Age: sub.Age, Memory: p.RSS, Shared: p.RSS != nil}
	if p.PPID != nil {
		out.Parent = *p.PPID
	}
	if about != nil {
		out.Command, out.Folder = about.Command, about.Folder
	}
	if n, err := in.PSS(p.PID); err == nil {
		out.Memory, out.Shared = &n, false
	}
	if in.Before != nil && over > 0 {
		if b, ok := in.Before.Processes[id]; ok && b.CPU != nil && p.CPU != nil {
			out.CPU = new(max(*p.CPU-*b.CPU, 0) / over)
		}
	}
	if d, ok := in.Verdicts[id]; ok {
		out.Verdict = "keep"
		switch {
		case d.Verdict == decision.Reap:
			out.Verdict = "reap"
		case d.Level != "":
			out.Verdict = d.Level
		case d.Waits():
			out.Verdict = "wait"
		}
		if d.Main != nil {
			out.Why = d.Main.Message
		}
	}
	return out
}

// Share writes processor time as a part of one processor.
func Share(cpu *float64) string {
	if cpu == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", *cpu*100)
}

// Bytes writes memory, "-" where it is not known.
func Bytes(n *int64) string {
	if n == nil {
		return "-"
	}
	return text.Size(*n)
}
