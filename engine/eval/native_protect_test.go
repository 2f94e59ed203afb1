package eval_test

import (
	"slices"
	"strconv"
	"strings"

	"github.com/winnow-reaper/winnow/engine/subject"
)

// protect is policies/protect.
func (j *judged) protect() {
	switch j.Kind {
	case "dir":
		j.dirObjects()
	case "session":
		j.sessionObjects()
	case "tab":
		j.tabObjects()
	case "terminal":
		j.terminalObjects()
	case "process":
		j.processObjects()
	}
	j.awake()
	j.excepted()
	j.held()
	j.owned()
	j.projects()
	j.listed()
	j.seenOnce()
	j.self()
	j.unread()
	j.young()
}

// set is a list as a set: sorted, each text once.
func set(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

func (j *judged) awake() {
	steady := j.Host.Steady
	if least(steady, j.c.SteadyFor) {
		return
	}
	reason := ""
	if steady != nil {
		reason = "the machine booted, resumed or had its clock set " + span(*steady) + " ago; at least " + span(j.c.SteadyFor) + " is required"
	}
	e := evidence{"steady_for": j.c.SteadyFor}
	fact(e, "steady", steady)
	j.object("protect.awake", reasoned("when the machine booted, resumed or had its clock set is not known", reason), e)
}

func (j *judged) excepted() {
	for i := range j.Exceptions {
		e := &j.Exceptions[i]
		if e.Left != nil && *e.Left <= 0 || some(e.Rules) && (len(j.counting) == 0 ||
			slices.ContainsFunc(j.counting, func(rule string) bool { return !slices.Contains(*e.Rules, rule) })) {
			continue
		}
		j.object("protect.excepted", excepted(e), exception(e))
	}
}

// exception is all of an exception.
func exception(x *subject.Excepted) evidence {
	e := make(evidence, 10)
	e["line"], e["what"], e["unknown"] = x.Line, x.What, x.Unknown
	word(e, "why", x.Why)
	word(e, "who", x.Who)
	word(e, "until", x.Until)
	fact(e, "left", x.Left)
	fact(e, "rules", x.Rules)
	word(e, "file", x.File)
	word(e, "tree", x.Tree)
	return e
}

func excepted(e *subject.Excepted) string {
	or := func(text, unknown string) string {
		if text == "" {
			return unknown
		}
		return text
	}
	until := ", without an end"
	if e.Until != "never" {
		until = " until " + or(e.Until, "a time that is not known")
	}
	place := ""
	if e.File != "" {
		place = " (" + e.File + when(e.Line > 0, ":"+strconv.Itoa(e.Line)) + ")"
	}
	who, why := or(e.Who, "somebody who is not known"), or(e.Why, "no reason given")
	if len(e.Unknown) == 0 {
		return "excepted by " + who + until + place + ": " + why
	}
	return "it may be what " + who + " excepts" + until + place + ", since its " + strings.Join(e.Unknown, ", ") + " is not known: " + why
}

func (j *judged) held() {
	if h := j.Hold; h != nil {
		e := evidence{}
		word(e, "owner", h.Owner)
		word(e, "reason", h.Reason)
		fact(e, "left", h.Left)
		j.object("protect.held", "held by "+reasoned("an owner who gave no name", h.Owner)+": "+reasoned("no reason given", h.Reason), e)
	}
	var retained []string
	for i := range j.Entries {
		if is(j.Entries[i].Retained, true) {
			retained = append(retained, j.Entries[i].ID)
		}
	}
	if len(retained) > 0 {
		j.object("protect.held", "a registry entry that concerns it is marked as retained", evidence{"entries": retained})
	}
}

// owned is what protect.owned says of every kind.
func (j *judged) owned() {
	for i := range j.Spawns {
		s := &j.Spawns[i]
		if least(s.Completed, j.c.Grace.Spawn) || s.ID != "" && j.ownerOver(s.ID) ||
			s.Owner != "" && least(s.Age, j.c.Grace.Spawn) && j.ownerOver(s.Owner) {
			continue
		}
		reason := ""
		if s.Completed != nil {
			reason = "a spawn of it was completed " + span(*s.Completed) + " ago; at least " + span(j.c.Grace.Spawn) + " is required"
		}
		e := evidence{"source": s.Source, "id": s.ID}
		word(e, "path", s.Path)
		j.object("protect.owned", reasoned("a spawn ledger says that it is in use", reason), e)
	}
	for i, over := range j.ended() {
		r := &j.Entries[i]
		if over || r.By == "spawn" || r.By == "path" && j.Process != nil && j.ownMarkers() && j.markedOver() {
			continue
		}
		e := evidence{"source": r.Source, "id": r.ID}
		word(e, "status", r.Status)
		j.object("protect.owned", "a registry records an owner of it that has not ended", e)
	}
}

func (j *judged) projects() {
	for i := range j.Projects {
		p := &j.Projects[i]
		path, file := shownText(p.Path), shownText(p.File)
		switch {
		case !some(p.Places):
			j.object("protect.project", "whether it lies in a project that keeps things is not known: "+path, evidence{"file": file})
		case j.kept(p):
			globs, reasons := []string{}, []string{}
			if p.Keeps != nil {
				globs = each(*p.Keeps, func(k *subject.Keep) string { return k.Glob })
				reasons = texts(each(*p.Keeps, func(k *subject.Keep) string { return k.Reason })...)
			}
			j.object("protect.project", "its project keeps it: "+path, evidence{"file": file, "globs": globs, "reasons": reasons})
		}
		standing := p.Off != nil && slices.ContainsFunc(j.counting, func(rule string) bool { return !slices.Contains(*p.Off, rule) })
		if len(j.counting) > 0 && !standing {
			j.object("protect.project", "its project turns off every rule that would reap it: "+path, evidence{"file": file, "rules": j.counting})
		}
	}
}

// kept reports whether a project keeps something at one of the places, or something in it where it is a folder.
func (j *judged) kept(p *subject.Project) bool {
	if p.Keeps == nil || j.Kind == "dir" && p.Above == nil {
		return true
	}
	for _, place := range *p.Places {
		for _, k := range *p.Keeps {
			if place == k.Glob || j.n.keep(k.Glob).Match(place) || j.n.keep(k.Glob+"/**").Match(place) {
				return true
			}
		}
		if j.Kind != "dir" {
			continue
		}
		for _, folder := range *p.Above {
			if j.n.keep(folder).Match(place) {
				return true
			}
		}
	}
	return false
}

// listed objects to what rules.protected names, or what cannot be compared with it.
func (j *judged) listed() {
	if len(j.c.Protected) == 0 {
		return
	}
	names, identified := j.called()
	clear := identified && j.n.unprotected(j.ID)
	for _, name := range names {
		clear = clear && j.n.unprotected(name)
	}
	if !clear || j.Kind == "dir" && !j.apart() {
		j.object("protect.protected", "rules.protected matches it, or cannot be compared with it", evidence{"protected": j.c.Protected})
	}
}

// called is what the candidate is called, and whether that is known.
func (j *judged) called() (names []string, identified bool) {
	switch {
	case j.Dir != nil:
		names, identified = []string{j.Dir.Name}, j.Dir.Name != ""
		if c := j.Dir.Content; c != nil {
			names = append(names, c.Name, c.ID)
		}
	case j.Session != nil && j.Session.Name != "":
		return []string{j.Session.Name}, true
	case j.Process != nil:
		return []string{j.Process.Name}, j.Process.Name != ""
	case j.Tab != nil:
		names, identified = texts(j.Tab.Label), j.Tab.Label != ""
		if n := j.editor().CreationName; n != nil {
			names = append(names, *n)
		}
		if c := j.editor().Codev; c != nil {
			names = append(names, c.ID)
		}
	case j.Terminal != nil:
		names, identified = texts(j.Terminal.Label, j.Terminal.Role), j.Terminal.ID != ""
		if o := j.Terminal.Owner; o != nil {
			names = append(names, o.ID)
		}
	}
	return names, identified
}

// texts are those that are not empty.
func texts(from ...string) []string {
	return slices.DeleteFunc(from, func(s string) bool { return s == "" })
}

// apart reports whether a folder neither lies in what rules.protected names, nor has it in itself.
func (j *judged) apart() bool {
	path := j.Dir.Path
	if path == "" || !j.n.unprotected(path) {
		return false
	}
	for i := range j.n.protected {
		p := &j.n.protected[i]
		if p.in.Match(path) || strings.HasPrefix(path, p.text+"/") || strings.HasPrefix(p.text, path+"/") ||
			p.anywhere != nil && (p.anywhere.Match(path) || p.inside.Match(path)) {
			return false
		}
	}
	return true
}

func (j *judged) seenOnce() {
	if j.Kind == "dir" || len(j.counting) == 0 {
		return
	}
	s, process := j.Sighting, j.Kind == "process"
	asked := j.c.ConfirmAfter
	if process {
		asked = j.c.ConfirmProcessAfter
	}
	same, left := s != nil && s.Identity != "" && s.Identity == j.Identity && slices.Contains(j.counting, s.Rule), asked
	if same {
		left = max(0, j.unconfirmed(s, asked))
	}
	if process && asked == 0 || same && left == 0 {
		return
	}
	e := evidence{"asked": asked, "left": left}
	if s != nil {
		e["first"] = s.First
		fact(e, "idle", s.Idle)
		fact(e, "cpu", s.CPU)
		fact(e, "written", s.Written)
	}
	if !same {
		j.object("protect.seen_once", "it needs a second look, "+span(asked)+" after the first", e)
		return
	}
	var reasons []string
	if s.First < asked {
		reasons = append(reasons, "it was first found "+span(s.First)+" ago; at least "+span(asked)+" is required")
	}
	switch {
	case s.Idle == nil && process:
		reasons = append(reasons, "whether it has worked since the look before is not known")
	case is(s.Idle, 0):
		reasons = append(reasons, "it has worked since the look before")
	case s.Idle != nil && *s.Idle > 0 && *s.Idle < asked:
		reasons = append(reasons, "it has done nothing for "+span(*s.Idle)+"; at least "+span(asked)+" is required")
	}
	j.object("protect.seen_once", reasoned("when it was first found is not known", reasons...), e)
}

// unconfirmed is for how many seconds more the finding must stand.
func (j *judged) unconfirmed(s *subject.Sighting, asked float64) float64 {
	if j.Kind != "process" || slices.Contains(j.counting, "reap.processes.runaway") {
		return asked - s.First
	}
	idle := 0.0
	if s.Idle != nil {
		idle = *s.Idle
	}
	return min(asked-min(s.First, idle), max(asked, j.c.ConfirmBusyAfter)-s.First)
}

// own reports whether a process is Winnow's own, or above it.
func (j *judged) own(pid int) bool {
	return is(j.Host.PID, pid) || slices.Contains(j.Host.Ancestors, pid)
}

// self objects to what Winnow runs or stands in.
func (j *judged) self() {
	running, elsewhere := false, false
	whoAmI := j.Host.PID != nil && *j.Host.PID > 0
	known := whoAmI && j.Host.Ancestors != nil
	standing := false
	switch j.Kind {
	case "process":
		running = j.own(j.Process.PID)
		elsewhere = j.Process.PID > 0 && known && !running
	case "session":
		running, elsewhere = j.inside()
		elsewhere = elsewhere && known
	case "tab":
		running, elsewhere = j.tabElsewhere()
		elsewhere = elsewhere && known
	case "terminal":
		running, elsewhere = j.terminalElsewhere()
		elsewhere = elsewhere && known
	case "dir":
		cwd, path := j.Host.Cwd, j.Dir.Path
		standing = cwd != "" && (cwd == path || strings.HasPrefix(cwd, path+"/"))
		elsewhere = whoAmI && cwd != "" && path != "" && !standing
	}
	if !elsewhere {
		j.object("protect.self", reasoned("whether Winnow itself runs in it is not known", when(running, "Winnow itself runs in it"), when(standing, "Winnow itself stands in it")), nil)
	}
}

// inside reports whether Winnow runs in one of the panes, and whether it is known of all that it does not.
func (j *judged) inside() (running, elsewhere bool) {
	f := j.facts()
	elsewhere = f.known
	for i := range f.present {
		p := &f.present[i]
		elsewhere = elsewhere && (len(p.SessionPIDs) > 0 || is(p.Dead, true))
		for _, pid := range p.SessionPIDs {
			running = running || j.own(pid)
		}
		for _, m := range p.Descendants {
			running = running || j.own(m.PID)
		}
	}
	return running, elsewhere && !running
}

func (j *judged) tabElsewhere() (running, elsewhere bool) {
	e := j.editor()
	running, outside := j.inside()
	if e.PID != nil {
		running = running || j.own(*e.PID)
	}
	pids := map[int]bool{}
	for _, m := range e.Session {
		running = running || j.own(m.PID)
		pids[m.PID] = true
	}
	all := e.Session != nil && len(pids) == len(e.Session)
	return running || is(j.Tab.Own, true), is(j.Tab.Own, false) && outside && !running || j.ofProcess() && all && !running || j.drawn()
}

func (j *judged) terminalElsewhere() (running, elsewhere bool) {
	t := j.Terminal
	traced := t.PID != nil && *t.PID > 0 && t.Below != nil
	if t.PID != nil {
		running = j.own(*t.PID)
	}
	if t.Below != nil {
		for _, m := range *t.Below {
			running = running || j.own(m.PID)
			traced = traced && m.PID > 0
		}
	}
	return running, (traced || j.terminalEnded()) && !running
}

// unread is what protect.unknown says of every kind.
func (j *judged) unread() {
	var unread []string
	for name, status := range j.EvidenceSources {
		if status != "ok" && (status != "absent" || !strings.HasPrefix(name, "tmux/") && !strings.HasPrefix(name, "herdr/")) {
			unread = append(unread, name)
		}
	}
	slices.Sort(unread)
	for _, name := range unread {
		status := j.EvidenceSources[name]
		j.object("protect.unknown", name+" could not be read: "+status, evidence{"source": name, "status": status})
	}
	if j.Source.Status != "ok" || j.EvidenceSources["proc"] != "ok" || j.EvidenceSources["ledger"] != "ok" || j.Identity == "" && (j.Process == nil || !j.Process.Brief) {
		j.object("protect.unknown", "its source, the processes, the ledger or its identity could not be read whole",
			evidence{"source": j.Source.Name, "status": j.Source.Status})
	}
}

func (j *judged) young() {
	var grace float64
	began := ""
	switch j.Kind {
	case "dir":
		grace, began = j.c.Grace.Dir, "it changed"
	case "process":
		grace, began = j.c.Grace.Process, "it was started"
	case "session":
		grace, began = j.c.Grace.Session, "it was made"
	case "terminal":
		grace, began = j.c.Grace.Terminal, "it was opened"
	default:
		return
	}
	if least(j.Age, grace) && (j.Terminal == nil || j.Terminal.StartedAt != nil || j.terminalEnded()) {
		return
	}
	e := evidence{"grace": grace}
	fact(e, "age", j.Age)
	switch {
	case j.Age != nil && *j.Age < 0:
		j.object("protect.young", began+" in the future, by the clock", e)
	case j.Age != nil && *j.Age < grace:
		j.object("protect.young", began+" "+span(*j.Age)+" ago; at least "+span(grace)+" is required", e)
	default:
		j.object("protect.young", "when "+began+" is not known", e)
	}
}
