package eval_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"winnow/engine/decision"
	"winnow/engine/snapshot"
	"winnow/engine/subject"
)

// native is what the shipped policies say, written by hand in Go: what the engine's speed is compared with. It reads the same
// subjects and gives the same verdicts for the same rules; the benchmarks hold it to that. Protected names are exact here.
type native struct {
	config *subject.Config
	shapes []*regexp.Regexp
}

func newNative(c *subject.Config) *native {
	n := &native{config: c}
	for _, s := range c.DisposableDirs {
		n.shapes = append(n.shapes, regexp.MustCompile(s))
	}
	return n
}

// decide is the whole pass, the join included, over the kinds that the policies know.
func (n *native) decide(s *snapshot.Snapshot) []decision.Decision {
	j := subject.Join(s, n.config)
	var out []decision.Decision
	for _, kind := range snapshot.KindNames() {
		for _, id := range j.IDs(kind) {
			sub, ok := j.Subject(id)
			if !ok {
				continue
			}
			if d, ok := n.judge(sub); ok {
				d.Identity = j.Identity(id)
				out = append(out, d)
			}
		}
	}
	slices.SortFunc(out, func(a, b decision.Decision) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// verdict gathers the reasons of one candidate.
type verdict struct{ findings, objections []decision.Reason }

func (v *verdict) find(rule, message string, evidence map[string]any) {
	v.findings = append(v.findings, decision.Reason{Rule: rule, Message: message, Evidence: evidence})
}

func (v *verdict) keep(unless bool, rule, message string, evidence map[string]any) {
	if !unless {
		v.objections = append(v.objections, decision.Reason{Rule: rule, Message: message, Evidence: evidence})
	}
}

func (n *native) judge(sub *subject.Subject) (decision.Decision, bool) {
	v := &verdict{}
	d := decision.Decision{ID: sub.ID, Kind: sub.Kind, Verdict: decision.Spare, Label: sub.Label, Owner: sub.Owner}
	over := n.over(sub)
	switch {
	case sub.Dir != nil:
		d.InScope = n.dir(v, sub)
	case sub.Session != nil:
		d.InScope = n.session(v, sub, over)
	case sub.Process != nil:
		d.InScope = n.process(v, sub)
	}
	if !d.InScope {
		return d, false
	}
	n.anything(v, sub, over)
	d.Findings, d.Objections = v.findings, v.objections
	if len(v.findings) > 0 && len(v.objections) == 0 {
		d.Verdict = decision.Reap
	}
	return d, true
}

func is[T comparable](v *T, want T) bool { return v != nil && *v == want }

func atLeast(v *float64, limit float64) bool { return v != nil && *v >= limit }

func (n *native) over(sub *subject.Subject) []bool {
	over := make([]bool, len(sub.Entries))
	for i, e := range sub.Entries {
		over[i] = is(e.Terminal, true) || e.Terminal == nil && slices.Contains(n.config.TerminalStatuses, e.Status)
	}
	return over
}

func (n *native) anything(v *verdict, sub *subject.Subject, over []bool) {
	c := n.config
	v.keep(atLeast(sub.Host.Steady, c.SteadyFor), "protect.awake", "the machine was not steady for long", map[string]any{"steady_for": c.SteadyFor})
	if sub.Hold != nil {
		v.keep(false, "protect.held", "held by "+sub.Hold.Owner, map[string]any{"owner": sub.Hold.Owner, "reason": sub.Hold.Reason})
	}
	ended := map[string]bool{}
	for i, e := range sub.Entries {
		v.keep(!is(e.Retained, true), "protect.held", "a registry retains it", map[string]any{"entry": e.ID})
		v.keep(over[i], "protect.owned", "a registry says that it has an owner", map[string]any{"source": e.Source, "entry": e.ID})
		if over[i] {
			ended[e.ID] = true
		}
	}
	for i, s := range sub.Spawns {
		gone := atLeast(s.Completed, c.Grace.Spawn) || s.ID != "" && ended[s.ID]
		v.keep(gone, "protect.owned", "a spawn is open", map[string]any{"source": s.Source, "spawn": i})
	}
	for name, status := range sub.EvidenceSources {
		absent := status == snapshot.Absent && strings.HasPrefix(name, "tmux/")
		v.keep(status == snapshot.OK || absent, "protect.unknown", name+" could not be read", map[string]any{"source": name, "status": status})
	}
	known := sub.Source.Status == snapshot.OK && sub.EvidenceSources[snapshot.Proc] == snapshot.OK && sub.EvidenceSources[snapshot.Ledger] == snapshot.OK
	v.keep(known && sub.Identity != "", "protect.unknown", "not known", map[string]any{"source": sub.Source.Name})
	v.keep(!slices.Contains(c.Protected, sub.ID) && !slices.Contains(c.Protected, sub.Label) && sub.Label != "", "protect.protected", "protected", map[string]any{"protected": c.Protected})
}

func (n *native) dir(v *verdict, sub *subject.Subject) bool {
	c, d := n.config, sub.Dir
	g := d.Git
	if g == nil {
		g = &snapshot.Git{}
	}
	scope := is(g.Worktree, true)
	for _, s := range n.shapes {
		if s.MatchString(d.Name) {
			scope = true
			v.find("reap.dirs.disposable", "its name says that it is disposable", map[string]any{"name": d.Name, "shape": s.String()})
		}
	}
	clean := is(g.Dirty, 0) && is(g.Untracked, 0) && is(g.Ignored, 0) && is(g.Unreachable, 0)
	if is(g.Worktree, true) && is(g.Registered, true) && is(g.Landed, true) && g.Upstream != "" && g.Head != "" &&
		g.Commits != nil && *g.Commits >= 1 && clean && atLeast(sub.Idle, c.LandedAfter) {
		v.find("reap.dirs.landed", fmt.Sprintf("all its work is on %s", g.Upstream), map[string]any{"upstream": g.Upstream, "head": g.Head, "commits": *g.Commits, "idle": *sub.Idle})
	}
	empty := is(d.Checkout, false) && is(d.Empty, true)
	v.keep(is(d.HoldersKnown, true) && len(sub.Holders) == 0, "protect.live", "a process uses it", map[string]any{"holders": sub.Holders})
	alone := g.Nested != nil && len(*g.Nested) == 0 || empty || is(d.Checkout, false) && d.Nested != nil && len(*d.Nested) == 0
	v.keep(is(d.Symlink, false) && is(d.Mounts, 0) && alone, "protect.nested", "something lies in it", map[string]any{"mounts": d.Mounts})
	mine := d.UID != nil && sub.Host.UID != nil && *d.UID == *sub.Host.UID
	v.keep(mine && (is(g.Worktree, true) && is(g.Locked, false) || is(d.Checkout, false) && d.Git == nil), "protect.protected", "no worktree of this user's", nil)
	v.keep(sub.Host.PID != nil && sub.Host.Cwd != "" && sub.Host.Cwd != d.Path && !strings.HasPrefix(sub.Host.Cwd, d.Path+"/"), "protect.self", "Winnow runs in it", nil)
	v.keep(is(g.Worktree, true) && clean && is(g.Operation, "") || empty, "protect.unsaved", "it may hold work", map[string]any{"ignored_paths": g.IgnoredPaths})
	v.keep(atLeast(sub.Age, c.Grace.Dir), "protect.young", "it is young", map[string]any{"age": sub.Age, "grace": c.Grace.Dir})
	return scope
}

func (n *native) session(v *verdict, sub *subject.Subject, over []bool) bool {
	c, s := n.config, sub.Session
	recorded := false // by the wall clock, which records go by too
	for i, e := range sub.Entries {
		if e.By != "session" || !is(e.Shared, false) {
			continue
		}
		then := e.Ended != nil && sub.Made != nil && *sub.Made >= *e.Ended
		recorded = recorded || is(e.Endless, true) || then
		if over[i] && then && atLeast(e.Ended, 0) {
			v.find("reap.sessions.finished", "its owner has ended", map[string]any{"source": e.Source, "entry": e.ID, "ended": *e.Ended})
		}
	}
	scope := recorded || s.Name != "" && (slices.Contains(c.SessionNames.Exact, s.Name) ||
		slices.ContainsFunc(c.SessionNames.Prefix, func(p string) bool { return p != "" && strings.HasPrefix(s.Name, p) }))
	idle, quiet, read, linked := 0, 0, 0, 0
	members := map[int]bool{}
	for i := range s.Panes {
		p := &s.Panes[i]
		if n.idle(p) {
			idle++
		}
		if is(p.Dead, true) && p.SessionPIDs != nil && p.Session != nil && len(p.SessionPIDs)+len(p.Session)+len(p.Descendants) == 0 {
			quiet++
		}
		if len(p.SessionPIDs) > 0 || is(p.Dead, true) {
			read++
		}
		linked += len(p.Linked)
		for _, pid := range p.SessionPIDs {
			members[pid] = true
		}
		for _, m := range slices.Concat(p.Session, p.Descendants) {
			members[m.PID] = true
		}
	}
	if scope && idle > 0 && idle == len(s.Panes) {
		v.find("reap.sessions.husk", "every pane is idle", map[string]any{"panes": idle})
	}
	v.keep(is(s.Attached, 0) || s.Attached != nil && atLeast(sub.ClientIdle, c.AttachedIdle), "protect.attached", "somebody looks at it", map[string]any{"attached": s.Attached})
	v.keep((s.Group == "" && is(s.GroupSize, 0) || is(s.GroupSize, 1)) && len(s.Panes) > 0 && linked == 0, "protect.attached", "another session shows it", nil)
	v.keep(len(s.Panes) > 0 && idle+quiet == len(s.Panes), "protect.live", "something runs in it", map[string]any{"idle": idle})
	v.keep(s.Popups != nil && len(*s.Popups) == 0, "protect.live", "a popup runs", nil)
	v.keep(is(s.Error, ""), "protect.unknown", "not all of it was read", nil)
	elsewhere := len(s.Panes) > 0 && read == len(s.Panes) && sub.Host.PID != nil && !members[*sub.Host.PID] && sub.Host.Ancestors != nil
	for _, pid := range sub.Host.Ancestors {
		elsewhere = elsewhere && !members[pid]
	}
	v.keep(elsewhere, "protect.self", "Winnow runs in it", nil)
	confirmed := sub.Sighting != nil && sub.Identity != "" && sub.Sighting.Identity == sub.Identity && sub.Sighting.First >= c.ConfirmAfter &&
		slices.ContainsFunc(v.findings, func(r decision.Reason) bool { return r.Rule == sub.Sighting.Rule })
	v.keep(confirmed || len(v.findings) == 0, "protect.seen_once", "it needs a second look", map[string]any{"confirm_after": c.ConfirmAfter})
	v.keep(atLeast(sub.Age, c.Grace.Session), "protect.young", "it is young", map[string]any{"age": sub.Age, "grace": c.Grace.Session})
	return scope
}

func (n *native) idle(p *snapshot.Pane) bool {
	if !is(p.Dead, false) || p.ShellPID == nil || !is(p.ForegroundPGID, *p.ShellPID) || len(p.Foreground) != 1 || len(p.Descendants) > 0 {
		return false
	}
	if p.Foreground[0].PID != *p.ShellPID || !slices.Contains(n.config.Shells, p.Foreground[0].Name) || len(p.Session) != len(p.SessionPIDs) {
		return false
	}
	shells, helpers := 0, 0
	for _, m := range p.Session {
		if m.PID == *p.ShellPID && is(m.Interactive, true) {
			shells++
		} else if slices.Contains(n.config.PromptDaemons, m.Name) {
			helpers++
		}
	}
	return shells == 1 && helpers == len(p.Session)-1
}

func (n *native) process(v *verdict, sub *subject.Subject) bool {
	c, p, l := n.config, sub.Process, sub.Lineage
	scope := l.Markers != nil && len(*l.Markers) > 0 && !is(l.IsAgent, true)
	var agrees []string
	for _, a := range []struct {
		holds bool
		says  string
	}{
		{is(l.Multiplexer, false), "no multiplexer in between"}, {is(l.MultiplexerMarked, false), "the multiplexer does not carry the marker"},
		{l.AgentDir != "", "it works where agents work"}, {is(p.CwdDeleted, true), "its working directory was deleted"},
	} {
		if a.holds {
			agrees = append(agrees, a.says)
		}
	}
	if scope && is(l.IsAgent, false) && is(sub.Host.Container, false) && p.PPID != nil && slices.Contains(sub.Host.OrphanParents, *p.PPID) && is(l.Agents, 0) &&
		is(l.AgentAncestor, false) && is(l.MultiplexerAncestor, false) && len(agrees) > 0 {
		v.find("reap.processes.orphan", "an agent started it and is gone", map[string]any{"markers": *l.Markers, "parent": *p.PPID, "agrees": agrees})
	}
	silent := !c.SpareListeners || p.Listening != nil && len(*p.Listening) == 0 && l.Sockets != nil && len(*l.Sockets) == 0 && is(l.ListenerBelow, false)
	left := is(p.TTY, "") && p.State != "" && p.Session != nil && is(l.IsAgent, false) && is(l.AgentBelow, false) && is(l.TTYBelow, false) && is(l.Pane, "") && silent
	v.keep(left, "protect.live", "it is in use", map[string]any{"tty": p.TTY, "ports": p.Listening})
	mine := p.UID != nil && sub.Host.UID != nil && *p.UID == *sub.Host.UID
	never := slices.ContainsFunc(c.NeverProcesses, func(name string) bool {
		prefix, any := strings.CutSuffix(name, "*")
		return any && strings.HasPrefix(p.Name, prefix) || name == p.Name
	})
	v.keep(mine && !p.IsKernel() && !slices.Contains(c.Multiplexers, p.Name) && !never, "protect.protected", "never reaped", map[string]any{"name": p.Name})
	v.keep(is(l.Personal, ""), "protect.protected", "people use it too", map[string]any{"name": p.Name})
	v.keep(l.Strangers != nil && len(*l.Strangers) == 0 || is(l.StarterGone, true), "protect.owned", "a stranger's", nil)
	v.keep(p.PID > 0 && sub.Host.PID != nil && p.PID != *sub.Host.PID && sub.Host.Ancestors != nil && !slices.Contains(sub.Host.Ancestors, p.PID), "protect.self", "Winnow runs in it", nil)
	twice := sub.Sighting != nil && sub.Identity != "" && sub.Sighting.Identity == sub.Identity && sub.Sighting.First >= c.ConfirmProcessAfter &&
		slices.ContainsFunc(v.findings, func(r decision.Reason) bool { return r.Rule == sub.Sighting.Rule })
	confirmed := twice && (sub.Sighting.First >= c.ConfirmBusyAfter || atLeast(sub.Sighting.Idle, c.ConfirmProcessAfter))
	v.keep(confirmed || len(v.findings) == 0, "protect.seen_once", "it needs a second look", map[string]any{"confirm_after": c.ConfirmProcessAfter})
	v.keep(atLeast(sub.Age, c.Grace.Process), "protect.young", "it is young", map[string]any{"age": sub.Age, "grace": c.Grace.Process})
	return scope
}
