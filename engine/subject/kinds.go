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
