package subject

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// Index is a snapshot with the indexes that its subjects are made from. It is read-only once built, so any number of
// goroutines may ask it. What it hands out shares memory with the snapshot: change neither.
type Index struct {
	snap    *snapshot.Snapshot
	config  *Config
	host    Host
	ids     map[string][]string
	records records
	holds   map[string]*Hold
	held    heldPaths
	// heldPIDs leads from a process to the hold on it or on what runs below it.
	heldPIDs map[int]*Hold
	procs    processes
	sources  sources
	// projects are those whose file was trusted.
	projects []project
	// workplaces lead to the open sessions of agents.
	workplaces workplaces
	// mains are the repositories of the checkouts that were found, by their paths.
	mains map[string]string
	// exceptions are those of the policies.
	exceptions []exception
}

// Join indexes a snapshot once, in time and memory linear in its size. It is a pure function of its arguments and keeps both;
// c's lists that are nil become empty ones in a copy.
func Join(s *snapshot.Snapshot, c *Config) *Index {
	j := &Index{snap: s, config: c.withLists()}
	j.host = host(s)
	j.ids = map[string][]string{}
	for _, kind := range snapshot.Kinds {
		j.ids[kind.Name] = slices.AppendSeq(make([]string, 0, kind.Count(s)), kind.IDs(s))
		slices.Sort(j.ids[kind.Name])
	}
	j.records = indexRecords(s)
	j.holds = indexHolds(s)
	j.held = indexHeld(j.holds)
	j.heldPIDs = indexHeldBelow(s, j.holds)
	j.sources = indexSources(s)
	j.procs = indexProcesses(s, j.config, j.records)
	j.procs.holds = j.holds
	j.workplaces = indexWorkplaces(s, &j.procs)
	j.projects, j.mains = indexProjects(s), mainsOf(s)
	j.exceptions = indexExceptions(s, c.Exceptions)
	return j
}

// IDs lists the candidates of a kind, sorted.
func (j *Index) IDs(kind string) []string { return j.ids[kind] }

// Common is a subject without a candidate: what all subjects of the snapshot have in common, in the fields schema, now, host,
// config and records_read.
func (j *Index) Common() *Subject { return new(j.common()) }

func (j *Index) common() Subject {
	return Subject{Schema: Schema, Now: j.snap.TakenAt, Host: j.host, Config: j.config, RecordsRead: j.sources.read, Exceptions: []Excepted{}}
}

// SetCommon gives a subject what all subjects of its snapshot have in common, in these fields.
func (s *Subject) SetCommon(c *Subject) {
	s.Schema, s.Now, s.Host, s.Config, s.RecordsRead = c.Schema, c.Now, c.Host, c.Config, c.RecordsRead
}

// Subject is the document that one candidate is judged on, and false when the snapshot has no such candidate.
func (j *Index) Subject(id string) (*Subject, bool) {
	sub := &Subject{}
	if !j.Fill(sub, id) {
		return nil, false
	}
	return sub, true
}

// Fill makes sub the document of a candidate, and says false when the snapshot has no such candidate. What sub was before must not be used any more, nor
// its lineage: their memory is used again, for who asks of very many candidates and keeps few.
func (j *Index) Fill(sub *Subject, id string) bool {
	kind, ok := j.kindOf(id)
	if !ok {
		return false
	}
	lineage := sub.Lineage
	*sub = j.common()
	sub.ID, sub.Kind, sub.Hold, sub.Asked = id, kind, j.holds[id], j.askedFor(id)
	if kind == snapshot.KindProcess {
		if sub.Lineage = lineage; lineage == nil {
			sub.Lineage = &Lineage{}
		}
	}
	facts := kinds[kind]
	source := facts.fill(j, sub)
	if sub.Hold == nil {
		sub.Hold = j.heldBelow(id)
	}
	sub.Source = SourceRef{Name: source, Status: j.sources.status(source)}
	if facts.served {
		sub.Source.Server = j.snap.Sources[source].Server
	}
	sub.EvidenceSources = j.sources.evidence[j.sources.rests(j.snap, id, kind, source)]
	j.keepers(sub, facts.places)
	sub.Identity = facts.identity(j, id).Key
	sub.Sighting = j.sighting(id)
	return true
}

func (j *Index) fillDir(sub *Subject) string {
	d := new(j.snap.Dirs[sub.ID])
	sub.Dir = d
	sub.Label, sub.Owner = d.Path, d.Root
	if d.Git != nil && d.Git.Main != "" {
		sub.Owner = d.Git.Main
	}
	sub.Age, sub.Idle, sub.Made = j.since(d.ModifiedAt), j.since(d.ActiveAt), j.secondsBefore(d.BornAt)
	sub.Holders, sub.Open = d.Holders, j.openIn(d)
	if sub.Hold == nil {
		sub.Hold = j.held.holdOn(d.Path)
	}
	if d.Content == nil {
		j.fillRecords(sub, j.records.inFolder(d.Path))
		sub.Signs = signs(d, sub.Entries)
		return d.Source
	}
	// Who owns or holds the worktree owns and holds what lies in it.
	sub.Owner = cmp.Or(d.Content.Main, sub.Owner)
	if sub.Hold == nil {
		sub.Hold = j.holds[d.Content.ID]
	}
	j.fillRecords(sub, j.records.inFolder(d.Content.Worktree))
	return d.Source
}

// signs are those of a linked worktree, of which entries are the registries' entries.
func signs(d *snapshot.Dir, entries []Entry) []string {
	if d.Git == nil || d.Git.Worktree == nil || !*d.Git.Worktree {
		return nil
	}
	var records []snapshot.PullRequest
	for _, e := range entries {
		if e.PullRequest != nil && e.Path == d.Path && e.Own != nil && *e.Own {
			records = append(records, *e.PullRequest)
		}
	}
	return d.Git.Signs(records)
}

func (j *Index) fillSession(sub *Subject) string {
	s := new(j.snap.Sessions[sub.ID])
	sub.Session = s
	sub.Label, sub.Owner = s.Name, s.Source
	sub.Age, sub.Idle, sub.Made, sub.Used = j.since(s.CreatedAt), j.since(s.LastActivityAt), j.secondsBefore(s.CreatedAt), j.secondsBefore(s.UsedAt)
	if s.Attached == nil || *s.Attached != 0 {
		sub.ClientIdle = j.since(s.ClientActivityAt)
	}
	sub.Members, sub.Shells = j.members(s.Panes), j.shells(s)
	j.fillRecords(sub, j.records.ofSession(s))
	var folders []string // those in which panes work, "" for one that is not known
	for i := range s.Panes {
		if p := &s.Panes[i]; p.Dead == nil || !*p.Dead { // in a dead pane nothing works
			folders = append(folders, p.Cwd)
		}
	}
	sub.SpawnsKnown, sub.EntriesKnown = j.records.byFolder(folders...)
	return s.Source
}

// fillTab counts a tab of herdr under its workspace, which is a project's.
func (j *Index) fillTab(sub *Subject) string {
	t := new(j.snap.Tabs[sub.ID])
	sub.Tab, sub.Label = t, t.Label
	sub.SpawnsKnown, sub.EntriesKnown = j.records.byName(t)
	if t.Editor != nil {
		j.fillRecords(sub, j.records.hits(nil, byLabel, t.Label))
		j.fillEditorTab(sub)
		return t.Source
	}
	sub.Owner = t.Source + "/" + t.Workspace
	sub.Members = j.members(t.Panes)
	j.fillRecords(sub, j.records.ofTab(t))
	return t.Source
}

func (j *Index) fillRecords(sub *Subject, hits []hit) {
	sub.Spawns, sub.Entries = j.write(j.records.withOwners(hits))
}

// fillTerminal leaves the records of orchestrators out: whose a terminal is, its owner says.
func (j *Index) fillTerminal(sub *Subject) string {
	t := new(j.snap.Terminals[sub.ID])
	sub.Terminal = t
	sub.Label, sub.Owner = cmp.Or(t.Role, t.Label, t.ID), cmp.Or(t.Workspace, t.Source)
	sub.Age, sub.Idle = j.since(t.StartedAt), j.since(t.LastDataAt)
	if sub.Age == nil {
		sub.Age = j.since(t.CreatedAt)
	}
	sub.Lineage = j.procs.ofTerminal(t)
	if t.Owner != nil {
		sub.OwnerSeen = j.since(t.Owner.SeenAt)
	}
	return t.Source
}

func (j *Index) fillProcess(sub *Subject) string {
	p := j.snap.Processes[sub.ID]
	sub.Process, sub.Label = p, p.Name
	sub.Age = j.since(p.StartedAt)
	sub.Busy = busy(p.CPU, j.atMost(p.StartedAt))
	at, _ := j.procs.byID(sub.ID)
	j.procs.fillLineage(sub.Lineage, at)
	sub.Owner = j.procs.owner(p, sub.Lineage)
	j.fillRecords(sub, j.records.ofProcess(p))
	sub.SpawnsKnown, sub.EntriesKnown = j.records.byFolder(cwdOf(p))
	return snapshot.Proc
}

func busy(cpu, age *float64) *Processors {
	if cpu == nil || age == nil || *age <= 0 {
		return nil
	}
	return new(Processors(*cpu / *age))
}

// askedFor is what a person asked for a candidate by its whole id.
func (j *Index) askedFor(id string) *Asked {
	a := j.snap.Asked
	if a == nil || a.ID == "" || a.ID != id {
		return nil
	}
	return &Asked{By: a.By, UID: a.UID, Mine: a.Mine}
}

func (j *Index) sighting(id string) *Sighting {
	s, ok := j.snap.Sightings[id]
	if !ok || s.FirstAt.IsZero() { // one of no time would be ages ago
		return nil
	}
	first, last := j.since(&s.FirstAt), j.since(&s.LastAt)
	if first == nil || last == nil {
		return nil
	}
	out := &Sighting{Rule: s.Rule, Identity: s.Identity, Count: s.Count, First: *first, Last: *last}
	j.fillWork(out, id, &s)
	return out
}

func host(s *snapshot.Snapshot) Host {
	h := Host{
		BootID: s.Host.BootID, UID: s.Host.UID, Home: s.Host.Home, PID: s.Host.PID, Ancestors: s.Host.Ancestors,
		Cwd: s.Host.Cwd, OrphanParents: s.Host.OrphanParents, Container: s.Host.Container, Pressure: s.Host.Pressure,
	}
	if s.Host.SteadySince != nil {
		h.Steady = new(s.TakenAt.Sub(*s.Host.SteadySince).Seconds())
	}
	return h
}

// facts is what the join makes of the candidates of one kind.
type facts struct {
	// fill adds the document's facts, but for those that all kinds have, and gives the name of the candidate's source.
	fill     func(*Index, *Subject) (source string)
	identity func(*Index, string) decision.Identity
	// places are the folders in which a candidate is, "" for one that is not known.
	places func(*Index, *Subject) []string
	// rests are the kinds of sources that evidence about a candidate rests on, beside its own source and those that all kinds have in common.
	rests []string
	// served is true where the document has the server of the candidate's source.
	served bool
}

// kinds has the facts of each of snapshot.Kinds.
var kinds = map[string]facts{
	snapshot.KindTab:      {fill: (*Index).fillTab, identity: (*Index).tabIdentity, places: (*Index).tabPlaces, served: true},
	snapshot.KindSession:  {fill: (*Index).fillSession, identity: (*Index).sessionIdentity, places: (*Index).sessionPlaces},
	snapshot.KindTerminal: {fill: (*Index).fillTerminal, identity: (*Index).terminalIdentity, places: (*Index).terminalPlaces, served: true},
	// A process may belong to a pane of any multiplexer, and be any agent's.
	snapshot.KindProcess: {
		fill: (*Index).fillProcess, identity: (*Index).processIdentity, places: (*Index).processPlaces, rests: []string{"tmux", "herdr", "agents"},
	},
	// An agent may work in a folder while its process stands elsewhere.
	snapshot.KindDir: {fill: (*Index).fillDir, identity: (*Index).dirIdentity, places: (*Index).dirPlaces, rests: []string{"agents"}},
}

// kindOf is the kind of a candidate, and false where the snapshot has no such candidate.
func (j *Index) kindOf(id string) (string, bool) {
	for _, kind := range snapshot.Kinds {
		if kind.Has(j.snap, id) {
			return kind.Name, true
		}
	}
	return "", false
}

// withLists is a copy in which every list is a list: a nil one would be null in the document, which its schema refuses. The markers
// whose value is a pid are all in PIDMarkers.
func (c *Config) withLists() *Config {
	w := *c
	for _, m := range w.Markers {
		if m.Value == MarkerPID && !slices.Contains(w.PIDMarkers, m.Name) {
			w.PIDMarkers = append(slices.Clip(w.PIDMarkers), m.Name)
		}
	}
	fillLists(reflect.ValueOf(&w).Elem())
	return &w
}

// fillLists makes a copy of every list in v, an empty one of a nil one; what is left out of the document when it is empty stays as it is.
func fillLists(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if !strings.HasSuffix(v.Type().Field(i).Tag.Get("json"), ",omitempty") {
				fillLists(v.Field(i))
			}
		}
	case reflect.Map:
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
	case reflect.Slice:
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(list, v)
		for i := range list.Len() {
			fillLists(list.Index(i))
		}
		v.Set(list)
	}
}

// About are the facts by which a person recognises the candidate.
func (s *Subject) About() *decision.About {
	a := &decision.About{Age: s.Age, Idle: s.Idle}
	if d := s.Dir; d != nil && d.Git != nil {
		a.Repository, a.Branch = cmp.Or(d.Git.Main, d.Git.CommonDir), strings.TrimPrefix(d.Git.Branch, "refs/heads/")
		a.Gone = known(d.Gone)
	}
	if p := s.Process; p != nil {
		a.Command, a.Memory = p.Name, p.RSS
		if said := cmp.Or(known(p.Package), known(p.Script)); said != "" && said != p.Name {
			a.Command += " " + said
		}
		if p.Cwd != nil {
			a.Folder = strings.TrimSuffix(*p.Cwd, deleted)
			a.Gone = p.CwdDeleted != nil && *p.CwdDeleted
		}
		if l := s.Lineage; l != nil {
			a.Below = l.Descendants
			if l.Agent != nil {
				a.Agent = fmt.Sprintf("%s (%d)", l.Agent.Name, l.Agent.PID)
			}
		}
	}
	if *a == (decision.About{}) {
		return nil
	}
	return a
}
