package eval_test

import (
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// The predicates of policies/lib/tabs.

var (
	noEditor snapshot.EditorTab
	noCodev  snapshot.CodevTab
	noShown  subject.Shown
)

func (j *judged) editor() *snapshot.EditorTab {
	if j.Tab == nil || j.Tab.Editor == nil {
		return &noEditor
	}
	return j.Tab.Editor
}

func (j *judged) codev() *snapshot.CodevTab {
	if c := j.editor().Codev; c != nil {
		return c
	}
	return &noCodev
}

func (j *judged) behind() *subject.Shown {
	if j.Shown == nil {
		return &noShown
	}
	return j.Shown
}

func (j *judged) inEditor() bool { return j.drawnShape() || j.processShape() }

func (j *judged) drawnShape() bool { return j.editor().Shape == "pty" }

func (j *judged) processShape() bool { s := j.editor().Shape; return s == "shell" || s == "task" }

func (j *judged) drawn() bool { return j.drawnShape() && j.editor().PID == nil }

func (j *judged) ofProcess() bool {
	pid := j.editor().PID
	return j.processShape() && pid != nil && *pid > 0
}

func (j *judged) tabEnded() bool { return j.ofProcess() && is(j.behind().Ended, true) }

func (j *judged) tabOwnerless() bool {
	c, s := j.codev(), j.behind()
	return j.drawn() && c.Key != "" && c.ID != "" && len(s.Workspaces) > 0 && is(s.Recorded, false) && is(s.Worktree, false)
}

// tab is policies/reap/tabs.
func (j *judged) tab() (in bool) {
	t, e := j.Tab, j.editor()
	if j.ofProcess() && (len(e.Markers) > 0 || e.Program != nil && slices.Contains(j.c.Agents, *e.Program) || e.CreationName != nil && matches(j.c.EditorNames, *e.CreationName)) {
		in = true
		if j.tabEnded() {
			names := set(each(e.Session, func(m *snapshot.EditorProc) string { return m.Name }))
			facts := evidence{"live_on": names}
			fact(facts, "creation_name", e.CreationName)
			fact(facts, "program", e.Program)
			if e.Markers != nil {
				facts["markers"] = e.Markers
			}
			fact(facts, "typed", e.Typed)
			j.find("reap.tabs.ended", "its process ("+shownNumber(e.PID)+") has ended", facts)
		}
	}
	if matches(j.c.HelperLabels, t.Label) {
		in = true
		if j.allListed() && j.facts().allIdle() {
			j.find("reap.tabs.husk", idleShells, j.along(evidence{"label": t.Label, "panes": j.facts().idle}))
		}
	}
	if kind := j.codev().Kind; j.drawn() && (kind == "builder" || kind == "dev") {
		in = true
		if j.tabOwnerless() {
			j.find("reap.tabs.ownerless", "its builder "+j.codev().ID+" is no longer on record, and its worktree is gone",
				evidence{"builder": j.codev().ID, "workspaces": j.behind().Workspaces})
		}
	}
	return in
}

func (j *judged) allListed() bool {
	t := j.Tab
	return t.PaneCount != nil && *t.PaneCount > 0 && *t.PaneCount == len(t.Panes)
}

// read are the ids of the panes of which all is known.
func (j *judged) read() []string {
	first := func(l []snapshot.PaneProc) bool { return len(l) > 0 && l[0].PID > 0 }
	out := make([]string, 0, len(j.Tab.Panes))
	for i := range j.Tab.Panes {
		p := &j.Tab.Panes[i]
		if p.ShellPID != nil && *p.ShellPID > 0 && p.ForegroundPGID != nil && *p.ForegroundPGID != 0 && first(p.Foreground) && len(p.SessionPIDs) > 0 &&
			p.SessionPIDs[0] > 0 && first(p.Session) && p.AgentStatus != "" && is(p.Error, "") {
			out = append(out, p.ID)
		}
	}
	return out
}

// agentsAtWork says what herdr says of agents in the panes, and whether it says of all that there is none.
func (j *judged) agentsAtWork() (reasons []string, nobody bool) {
	nobody = len(j.Tab.Panes) > 0
	for i := range j.Tab.Panes {
		if s := j.Tab.Panes[i].AgentStatus; s == "" || !slices.Contains(j.c.AgentIdle, s) {
			nobody = false
			if s != "" {
				reasons = append(reasons, "herdr says of the agent in one of its panes: "+s)
			}
		}
	}
	return reasons, nobody
}

// tabObjects is what of policies/protect is about tabs alone.
func (j *judged) tabObjects() {
	t := j.Tab
	if !is(t.Focused, false) && !j.drawn() {
		j.object("protect.attached", reasoned("whether it is the focused tab is not known", when(is(t.Focused, true), "it is the focused tab")), nil)
	}
	if j.inEditor() {
		j.editorObjects()
		return
	}
	if reasons, nobody := j.agentsAtWork(); !nobody || !j.allListed() || !j.facts().allIdle() {
		j.object("protect.live", reasoned("what runs in one of its panes, or whether an agent does, is not known", append(reasons, j.inPanes()...)...), j.facts().evidence())
	}
	if read := j.read(); !j.allListed() || len(read) < len(t.Panes) {
		var errors []string
		for i := range t.Panes {
			if p := &t.Panes[i]; known(p.Error) {
				errors = append(errors, "what runs in the pane "+p.ID+" could not be read: "+*p.Error)
			}
		}
		e := evidence{"panes": each(t.Panes, func(p *snapshot.Pane) string { return p.ID }), "read": read}
		fact(e, "pane_count", t.PaneCount)
		j.object("protect.unknown", reasoned("what runs in one of its panes could not be read", errors...), e)
	}
	var protocol *int
	if j.Source.Server != nil {
		protocol = j.Source.Server.Protocol
	}
	if protocol == nil || !slices.Contains(j.c.HerdrProtocols, *protocol) {
		reason := ""
		if protocol != nil && *protocol >= 0 {
			reason = "closing was not tried with a server of protocol " + shownNumber(protocol) + "; to allow it, add that number to rules.herdr_protocols"
		}
		e := evidence{"tried": j.c.HerdrProtocols}
		fact(e, "protocol", protocol)
		if j.Source.Server != nil {
			word(e, "version", j.Source.Server.Version)
		}
		j.object("protect.untried", reasoned("the protocol of its server is not known, so closing was not tried with it", reason), e)
	}
	e := evidence{}
	word(e, "workspace", t.Workspace)
	if !is(t.LastInWorkspace, false) {
		j.object("protect.workspace", reasoned("whether it is the last tab of its workspace is not known",
			when(is(t.LastInWorkspace, true), "it is the last tab of its workspace, which would be closed with it")), e)
	}
	if !is(t.GroupParent, false) {
		j.object("protect.workspace", reasoned("whether its workspace leads a group of workspaces is not known",
			when(is(t.GroupParent, true), "its workspace leads a group of workspaces, which would all be closed with it")), e)
	}
}

// editorObjects is what is about tabs of editors alone.
func (j *judged) editorObjects() {
	e, s, c := j.editor(), j.behind(), j.codev()
	id := blank
	if e.Codev != nil {
		id = c.ID
	}
	facts := evidence{}
	fact(facts, "pid", e.PID)
	several(facts, "workspaces", s.Workspaces)
	if !j.tabEnded() && !j.tabOwnerless() {
		j.object("protect.live", reasoned("whether what it was opened for has ended is not known",
			when(is(s.Ended, false), "its process ("+shownNumber(e.PID)+") lives"), when(is(s.Recorded, true), "its builder "+id+" is on record"),
			when(is(s.Worktree, true), "the worktree of its builder "+id+" is there")), facts)
	}
	if !j.tabEnded() && !empty(s.Sessions) && !j.ofProcess() {
		j.object("protect.shown", reasoned("whether a terminal that it shows lives is not known",
			when(len(s.Sessions) > 0, "a terminal that it shows has not ended: "+strings.Join(s.Sessions, ", "))), evidence{"sessions": whole(s.Sessions)})
	}
	if is(e.Error, "") && (j.ofProcess() && s.Ended != nil && e.Session != nil || j.drawn() && s.Recorded != nil && s.Worktree != nil && s.Sessions != nil) {
		return
	}
	var reasons []string
	if known(e.Error) {
		reasons = append(reasons, "not all of the tab could be read: "+*e.Error)
	}
	if j.drawn() && is(e.Error, "") && c.Key != "" && len(s.Workspaces) == 0 {
		reasons = append(reasons, "the window has no workspace of Codev's open, so where its builder would be is not known")
	}
	j.object("protect.unknown", reasoned("whether its process, or what it shows, has ended could not be read", reasons...), facts)
}

// The predicates of policies/lib/terminals.

func (j *judged) ofBuilder() bool { k := j.Terminal.RoleKind; return k == "builder" || k == "dev" }

func (j *judged) worktreeLeft() string {
	switch o := j.Terminal.Owner; {
	case o == nil:
	case is(o.Gone, true):
		return "gone"
	case is(o.Unregistered, true):
		return "no longer registered"
	}
	return ""
}

func (j *judged) ownerless() bool {
	o := j.Terminal.Owner
	return j.ofBuilder() && o != nil && o.ID != "" && (o.How == "row" || o.How == "label" || o.How == "memory") && is(o.Recorded, false) && j.worktreeLeft() != ""
}

func (j *judged) childless() bool {
	t := j.Terminal
	return t.PID != nil && *t.PID > 0 && none(t.Below)
}

func (j *judged) terminalEnded() bool {
	t := j.Terminal
	return t.Status == "exited" && t.PID == nil && t.StartTicks == nil && t.StartedAt == nil && t.Below == nil && is(t.Error, "")
}

func (j *judged) exited() bool {
	return j.Terminal.Status == "exited" && j.childless() || j.terminalEnded()
}

func (j *judged) deserted() bool {
	t := j.Terminal
	if t.Below == nil || !j.ownerless() {
		return false
	}
	if least(j.Idle, j.c.TerminalIdle) {
		return true
	}
	programs, shells := 0, map[int]bool{}
	for _, m := range *t.Below {
		if m.Name != "" && !j.agentName(m.Name) {
			programs++
		}
		if slices.Contains(j.c.Shells, m.Name) && is(m.Interactive, true) || slices.Contains(j.c.PromptDaemons, m.Name) {
			shells[m.PID] = true
		}
	}
	return t.RoleKind == "dev" && is(j.lineage().AgentBelow, false) && programs == len(*t.Below) || len(shells) == len(*t.Below)
}

// agentName reports whether a name, which the kernel may have cut, is an agent's.
func (j *judged) agentName(name string) bool {
	if slices.Contains(j.c.Agents, strings.TrimSuffix(name, ".exe")) {
		return true
	}
	cut := len([]rune(name)) == 15 && !strings.Contains(name, "\n")
	return cut && slices.ContainsFunc(j.c.Agents, func(a string) bool { return strings.HasPrefix(a+".exe", name) })
}

// terminal is policies/reap/terminals.
func (j *judged) terminal() bool {
	t := j.Terminal
	switch {
	case t.RoleKind == "shellper":
		if is(t.Listed, false) && is(t.Recorded, false) && is(t.Scoped, true) && j.childless() && least(j.Age, j.c.Grace.Shellper) {
			j.find("reap.terminals.husk", "neither its Tower nor its store knows it, and nothing lives below it", evidence{"pid": *t.PID, "age": *j.Age})
		}
		return true
	case !j.ofBuilder():
		return false
	}
	if is(t.Listed, true) && j.exited() && least(j.Idle, j.c.TerminalIdle) {
		e := evidence{"idle": *j.Idle}
		fact(e, "exit_code", t.ExitCode)
		j.find("reap.terminals.exited", "it has exited, nothing lives in it, and it has printed nothing for "+spanOf(j.Idle), e)
	}
	if j.ownerless() {
		e := evidence{"builder": t.Owner.ID, "how": t.Owner.How}
		word(e, "worktree", t.Owner.Worktree)
		fact(e, "owner_seen", j.OwnerSeen)
		j.find("reap.terminals.ownerless", "its builder "+t.Owner.ID+" is no longer on record, and its worktree is "+j.worktreeLeft(), e)
	}
	return true
}

// terminalObjects is what of policies/protect is about terminals alone.
func (j *judged) terminalObjects() {
	t := j.Terminal
	if !j.exited() && !j.deserted() && (t.RoleKind != "shellper" || !j.childless()) {
		reasons, below := []string{}, []string{}
		if some(t.Below) {
			below = set(each(*t.Below, named))
			reasons = append(reasons, "something runs in it: "+strings.Join(below, ", "))
			if j.Idle != nil && *j.Idle < j.c.TerminalIdle && j.ownerless() {
				reasons = append(reasons, "it printed something "+span(*j.Idle)+" ago; at least "+span(j.c.TerminalIdle)+" is required")
			}
		}
		reasons = append(reasons, when(t.Status == "running" && j.childless(), "its Tower says that it runs"))
		e := evidence{"running": below}
		fact(e, "idle", j.Idle)
		j.object("protect.live", reasoned("whether anything runs in it is not known", reasons...), e)
	}
	if t.RoleKind == "" || t.RoleKind == "architect" {
		e := evidence{}
		word(e, "role", t.Role)
		j.object("protect.protected", reasoned("whether it is an architect's terminal is not known", when(t.RoleKind != "", "it is an architect's terminal")), e)
	}
	ours := is(t.Listed, true) || is(t.Scoped, true)
	if t.Listed != nil && is(t.Error, "") && (j.terminalEnded() || t.PID != nil && *t.PID > 0 && t.StartTicks != nil && t.Below != nil && ours) {
		return
	}
	reason := ""
	if known(t.Error) {
		reason = "not all of the terminal could be read: " + *t.Error
	}
	e := evidence{}
	fact(e, "listed", t.Listed)
	fact(e, "pid", t.PID)
	j.object("protect.unknown", reasoned("whether its Tower lists it, which process is its own or what lives below that could not be read", reason), e)
}
