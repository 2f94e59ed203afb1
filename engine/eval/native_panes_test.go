package eval_test

import (
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// paneFacts is what policies/lib/panes says of the panes of a session or tab.
type paneFacts struct {
	present []snapshot.Pane
	// known is false where the panes are not known.
	known bool
	// idle are the ids of the idle panes, dead is the number of the dead ones. A pane from which something was started that runs elsewhere is neither.
	idle []string
	dead int
	// elsewhere, background, running and inFront are sets of names, scripts the ids of panes.
	elsewhere, background, running, inFront, scripts []string
}

// facts are those of the panes, found out once.
func (j *judged) facts() *paneFacts {
	if j.panes != nil {
		return j.panes
	}
	f := &paneFacts{idle: []string{}, elsewhere: []string{}, background: []string{}, running: []string{}, scripts: []string{}}
	j.panes = f
	switch {
	case j.Session != nil:
		f.present = j.Session.Panes
	case j.Tab != nil:
		f.present = j.Tab.Panes
	}
	f.known = len(f.present) > 0
	var busy []string
	for i := range f.present {
		p := &f.present[i]
		for _, m := range p.Carriers {
			if !j.resident(m.PID) {
				busy = append(busy, p.ID)
				f.elsewhere = append(f.elsewhere, m.Name)
			}
		}
	}
	for i := range f.present {
		p := &f.present[i]
		elsewhere := slices.Contains(busy, p.ID)
		if !elsewhere {
			for range j.idlePane(p) {
				f.idle = append(f.idle, p.ID)
			}
			if is(p.Dead, true) && empty(p.SessionPIDs) && empty(p.Session) && empty(p.Descendants) && p.Carriers != nil {
				f.dead++
			}
		}
		for _, m := range p.Session {
			switch {
			case p.ShellPID == nil:
			case m.PID != *p.ShellPID:
				if !f.infront(m.PID) && !j.bystander(m) {
					f.background = append(f.background, m.Name)
				}
			case is(m.Interactive, false):
				f.scripts = append(f.scripts, p.ID)
			}
		}
		for _, m := range p.Foreground {
			f.running = append(f.running, m.Name)
			if !slices.Contains(j.c.Shells, m.Name) {
				f.inFront = append(f.inFront, m.Name)
			}
		}
	}
	f.elsewhere, f.background, f.running, f.inFront = set(f.elsewhere), set(f.background), set(f.running), set(f.inFront)
	return f
}

// infront reports whether a process is in front in one of the panes.
func (f *paneFacts) infront(pid int) bool {
	for i := range f.present {
		if slices.ContainsFunc(f.present[i].Foreground, func(m snapshot.PaneProc) bool { return m.PID == pid }) {
			return true
		}
	}
	return false
}

// idlePane counts the shells of a pane that wait at their prompt: 1 for one that is idle.
func (j *judged) idlePane(p *snapshot.Pane) (shells int) {
	if !is(p.Dead, false) || p.ShellPID == nil || !is(p.ForegroundPGID, *p.ShellPID) || len(p.Foreground) != 1 || p.Foreground[0].PID != *p.ShellPID ||
		!slices.Contains(j.c.Shells, p.Foreground[0].Name) || p.SessionPIDs == nil || len(p.Session) != len(p.SessionPIDs) || !empty(p.Descendants) || p.Carriers == nil {
		return 0
	}
	others := 0
	for _, m := range p.Session {
		switch {
		case m.PID != *p.ShellPID:
			if j.bystander(m) {
				others++
			}
		case is(m.Interactive, true):
			shells++
		}
	}
	if others != len(p.Session)-1 {
		return 0
	}
	return shells
}

func (j *judged) bystander(m snapshot.PaneProc) bool {
	return slices.Contains(j.c.PromptDaemons, m.Name) || j.leftovers()[m.PID]
}

// resident reports whether a process elsewhere is nothing that was left in a pane: a server, what is below another one, a daemon, what people use.
func (j *judged) resident(pid int) bool {
	var server *int
	switch {
	case j.Session != nil && j.Session.Server != nil:
		server = &j.Session.Server.PID
	case j.Tab != nil && j.Source.Server != nil:
		server = &j.Source.Server.PID
	}
	return slices.ContainsFunc(j.Members, func(m subject.Member) bool {
		return m.PID == pid && m.How == "elsewhere" && (m.Process != nil && (slices.Contains(j.c.Multiplexers, m.Process.Name) || known(m.Process.Daemon)) ||
			m.Server != nil && *m.Server > 0 && server != nil && *m.Server != *server ||
			m.Lineage != nil && is(m.Lineage.IsAgent, false) && known(m.Lineage.Personal))
	})
}

// leftovers are the servers that agents left in the panes, with what runs them.
func (j *judged) leftovers() map[int]bool {
	if j.left != nil {
		return j.left
	}
	j.left = map[int]bool{}
	servers, runners := map[int]bool{}, map[int]bool{}
	for i := range j.Members {
		m := &j.Members[i]
		if !j.still(m) {
			continue
		}
		if f := m.Lineage.Family; f == "mcp-server" || f == "language-server" {
			servers[m.PID] = true
		} else if f == "package-runner" {
			runners[m.PID] = true
		}
		if slices.Contains(j.c.Shells, m.Process.Name) {
			runners[m.PID] = true
		}
	}
	if len(servers) == 0 {
		return j.left
	}
	above := func(below map[int]bool) map[int]bool {
		out := map[int]bool{}
		for i := range j.Members {
			if m := &j.Members[i]; m.Process != nil && m.Process.PPID != nil && below[m.PID] && runners[*m.Process.PPID] {
				out[*m.Process.PPID] = true
			}
		}
		return out
	}
	inner := above(servers)
	outer := above(inner)
	handed := func(m *subject.Member) bool { return m.Process != nil && j.orphan(m.Process.PPID) }
	over := map[int]bool{}
	for i := range j.Members {
		m := &j.Members[i]
		if handed(m) && (inner[m.PID] || outer[m.PID]) {
			over[m.PID] = true
		}
		if handed(m) && outer[m.PID] {
			for k := range j.Members {
				if below := &j.Members[k]; inner[below.PID] && below.Process != nil && is(below.Process.PPID, m.PID) {
					over[below.PID] = true
				}
			}
		}
	}
	for i := range j.Members {
		m := &j.Members[i]
		if (servers[m.PID] || inner[m.PID] || outer[m.PID]) && m.Process != nil && m.Process.PPID != nil && (handed(m) || over[*m.Process.PPID]) {
			j.left[m.PID] = true
		}
	}
	return j.left
}

// still reports whether an agent left a process of a pane's session, and it does nothing.
func (j *judged) still(m *subject.Member) bool {
	p, l := m.Process, m.Lineage
	return p != nil && l != nil && m.How == "session" && some(l.Added) && is(l.IsAgent, false) && is(l.Agents, 0) && is(l.AgentAncestor, false) &&
		is(l.AgentBelow, false) && is(l.ListenerBelow, false) && asleepBehind(p, j.Host.UID) && none(p.Listening) && none(l.Sockets)
}

func (f *paneFacts) allIdle() bool { return len(f.idle) > 0 && len(f.idle) == len(f.present) }

func (f *paneFacts) allQuiet() bool { return f.known && len(f.present)-len(f.idle) == f.dead }

// evidence is what runs in the panes.
func (f *paneFacts) evidence() evidence {
	return evidence{"running": f.running, "background": f.background, "elsewhere": f.elsewhere, "scripts": f.scripts}
}

// along adds which processes would end with the panes, and which live on.
func (j *judged) along(e evidence) evidence {
	taken, living := []string{}, []string{}
	for i := range j.Members {
		switch m := &j.Members[i]; {
		case m.How == "session" && j.leftovers()[m.PID]:
			taken = append(taken, m.Name)
		case m.How == "elsewhere" && j.resident(m.PID):
			living = append(living, m.Name)
		}
	}
	e["taken_along"], e["live_on"] = set(taken), set(living)
	return e
}

const idleShells = "every pane of it is back at its own idle shell"

// session is policies/reap/sessions.
func (j *judged) session() (in bool) {
	s := j.Session
	in = j.recorded() || matches(j.c.SessionNames, s.Name)
	if in && j.facts().allIdle() {
		j.find("reap.sessions.husk", idleShells, j.along(evidence{"panes": j.facts().idle}))
	}
	if j.ofAgents() {
		in = true
		if least(j.Idle, j.c.SessionIdle) && j.facts().allIdle() {
			signs, folders := j.begun()
			j.find("reap.sessions.left", "an agent began it or worked in it and is gone, and nothing has happened in it for "+spanOf(j.Idle),
				j.along(evidence{"signs": signs, "folders": folders, "panes": j.facts().idle}))
		}
	}
	return in
}

// recorded reports whether an entry is about this very session, and finds by each of which the owner has ended.
func (j *judged) recorded() (recorded bool) {
	for i, ended := range j.ended() {
		e := &j.Entries[i]
		if e.By != "session" || !is(e.Shared, false) {
			continue
		}
		after := e.Ended != nil && least(j.Made, *e.Ended)
		recorded = recorded || after || is(e.Endless, true)
		if ended && after && *e.Ended >= 0 {
			j.find("reap.sessions.finished", "the registry says that its owner has ended", j.along(evidence{"source": e.Source, "entry": e.ID, "ended": *e.Ended}))
		}
	}
	return recorded
}

// begun are the signs that agents began a session or worked in it, and the folders that its panes work in.
func (j *judged) begun() (signs, folders []string) {
	signs, folders = []string{}, []string{}
	for i := range j.Shells {
		s := &j.Shells[i]
		if s.Markers != nil {
			for _, marker := range *s.Markers {
				signs = append(signs, "its environment has "+marker)
			}
		}
		if known(s.StartedAs) {
			signs = append(signs, "it was started with "+*s.StartedAs)
		}
		if s.SeenAgent != "" {
			signs = append(signs, "an earlier look saw "+s.SeenAgent+" in it")
		}
		if s.AgentDir != nil {
			folders = append(folders, *s.AgentDir)
		}
	}
	return set(signs), set(folders)
}

// ofAgents reports whether all panes of a session work where agents do, and agents began them or worked in them.
func (j *judged) ofAgents() bool {
	panes := len(j.Session.Panes)
	if panes == 0 {
		return false
	}
	working := 0
	var spoken []string
	for i := range j.Shells {
		s := &j.Shells[i]
		if known(s.AgentDir) {
			working++
		}
		if some(s.Markers) && is(s.Agents, 0) || known(s.StartedAs) || s.SeenAgent != "" {
			spoken = append(spoken, s.Pane)
		}
	}
	return working == panes && len(distinct(spoken)) == panes
}

// inPanes says what runs in the panes.
func (j *judged) inPanes() []string {
	f := j.facts()
	names := func(text string, list []string) string {
		return when(len(list) > 0, text+strings.Join(list, ", "))
	}
	return []string{
		names("what was started in one of its panes runs on elsewhere: ", f.elsewhere),
		names("something runs behind the shell of one of its panes: ", f.background),
		names("a shell in one of its panes runs a script or a command: ", f.scripts),
		names("something runs in one of its panes: ", f.inFront),
	}
}

// sessionObjects is what of policies/protect is about sessions alone.
func (j *judged) sessionObjects() {
	s := j.Session
	if !j.facts().allQuiet() {
		j.object("protect.live", reasoned("what runs in one of its panes is not known", j.inPanes()...), j.facts().evidence())
	}
	if !none(s.Popups) {
		running := []string{}
		if s.Popups != nil {
			running = set(each(*s.Popups, named))
		}
		j.object("protect.live", reasoned("whether a popup or a job of it runs is not known", when(some(s.Popups), "a popup or a job of it runs")),
			evidence{"running": running})
	}
	if !is(s.Attached, 0) && (s.Attached == nil || *s.Attached < 0 || !least(j.ClientIdle, j.c.AttachedIdle)) {
		reason := ""
		if j.ClientIdle != nil && *j.ClientIdle < j.c.AttachedIdle {
			reason = "a client is attached and was used " + span(*j.ClientIdle) + " ago; at least " + span(j.c.AttachedIdle) + " is required"
		}
		e := evidence{}
		fact(e, "attached", s.Attached)
		fact(e, "client_idle", j.ClientIdle)
		j.object("protect.attached", reasoned("whether a client is attached and in use is not known", reason), e)
	}
	alone, linked := len(s.Panes) > 0 && (is(s.GroupSize, 1) || s.Group == "" && is(s.GroupSize, 0)), []string{}
	for i := range s.Panes {
		alone = alone && empty(s.Panes[i].Linked)
		linked = append(linked, s.Panes[i].Linked...)
	}
	if !alone {
		grouped := ""
		if s.GroupSize != nil && *s.GroupSize > 1 {
			grouped = "it is one of a group of " + shownNumber(s.GroupSize) + " sessions, which show the same windows"
		}
		j.object("protect.attached", reasoned("whether it is one of a group of sessions is not known", when(len(linked) > 0, "another session shows one of its windows"), grouped),
			evidence{"sessions": set(linked)})
	}
	if !is(s.Error, "") {
		reason := ""
		if s.Error != nil {
			reason = "not all of the session could be read: " + *s.Error
		}
		j.object("protect.unknown", reasoned("not all of the session could be read", reason), nil)
	}
}
